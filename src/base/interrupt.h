/* interrupt.h -- a signal's wish to stop, seen by whatever waits for another process, and
 * by what computes for long before there is anything to save.
 *
 * A program whose handler calls interrupt_ask gets its library calls back: they end the
 * process they wait for, remove their files, and return VT_INTERRUPTED.  The library
 * installs no handler.  One flag for the process: so is a signal.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "base/status.h"

#if defined(__wasm__)                   /* no signals there, and no byte for them */
static inline bool interrupt_asked(void) { return false; }
static inline vt_status interrupt_fail(vt_error *err) { (void)err; return VT_INTERRUPTED; }
static inline vt_status interrupt_check(vt_error *err) { (void)err; return VT_OK; }
#else
/* Async-signal-safe.  `number`: the signal's; 0 takes the wish back. */
void interrupt_ask(int number);
bool interrupt_asked(void);
/* VT_INTERRUPTED, and its line. */
vt_status interrupt_fail(vt_error *err);
/* That where it was asked for, else VT_OK. */
VT_MUST_CHECK vt_status interrupt_check(vt_error *err);
#endif

#endif
