/* settings.h -- the options of a run: presets, what is allowed, how they are
 * stored and compared.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "formats/json.h"
#include "vitrine.h"

/* Every option within its range (VT_USAGE names the option, the value, and what
 * was expected), kernels that this processor has, sizes that fit together
 * (gpt_config_check's words, with the smallest vocabulary). */
VT_MUST_CHECK vt_status settings_check(const vt_train_options *o, vt_error *err);

/* The fields of settings.def into an open JSON object. */
void settings_write(js_writer *w, const vt_train_options *o);

/* The same back into *o; texts are matched with the names this version knows
 * (VT_BAD_INPUT for another activation, for instance). */
VT_MUST_CHECK vt_status settings_read(vt_train_options *o, const json_t *object,
                                      const char *where, vt_error *err);

/* VT_USAGE names the first option that differs between what was asked and what
 * is stored; with asked->reschedule the schedule may differ: steps, lr, lr_min,
 * warmup. */
VT_MUST_CHECK vt_status settings_compare(const vt_train_options *asked,
                                         const vt_train_options *stored, vt_error *err);

#endif
