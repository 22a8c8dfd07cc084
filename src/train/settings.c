/* settings.c -- see settings.h. */
#include "train/settings.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/status.h"
#include "kernels/ops.h"
#include "model/config.h"
#include "train/schedule.h"

/* The only texts that options take; a stored text is matched with them, so that
 * no option points into a file's memory. */
static const char *const names[] = { "tiny", "default", "xavier", "gpt2", "gelu_new" };

/* The teaching configuration: small enough that every number can be looked at. */
static const vt_train_options tiny = {
    .preset = "tiny", .layers = 2, .d_model = 32, .heads = 2, .ff = 128, .context = 32,
    .tied = false, .init = "xavier", .activation = "gelu_new", .merges = 500,
    .seq = 16, .stride = 0, .batch = 16, .accumulate = 1,
    .epochs = 20, .lr = 1e-3, .lr_min = 1e-4, .warmup = -50,
    .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0.01, .clip = 1, .seed = 42,
    .eval_every = 500, .save_every = 1000,
};

/* About a million parameters and 2.7 million tokens: minutes on two cores.  At
 * equal tokens, batches of 8 end 0.08 nats below batches of 16; 3e-3 is the best
 * of the rates 3e-3, 5e-3, 6e-3. */
static const vt_train_options standard = {
    .preset = "default", .layers = 4, .d_model = 128, .heads = 4, .ff = 512, .context = 128,
    .tied = true, .init = "gpt2", .activation = "gelu_new", .merges = 1024,
    .seq = 128, .stride = 0, .batch = 8, .accumulate = 1,
    .steps = 2600, .epochs = 1, .lr = 3e-3, .lr_min = 3e-4, .warmup = -100,
    .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1, .clip = 1, .seed = 42,
    .eval_every = 650, .save_every = 650,
};

/* GPT-2's smallest model (Radford et al. 2019, table 2): 124,439,808 parameters with
 * a vocabulary of 50,257.  That paper gives the sizes, not the rates; those are of a
 * model of this size in Brown et al. 2020 (table 2.1, appendix B), which nanoGPT
 * reproduces it with: beta2 0.95, eps 1e-8, clip 1, decay 0.1, a cosine down to a tenth,
 * and 6e-4 for batches of 524,288 tokens.  One of those is 4e14 operations (6 a
 * parameter and token), too many for one step of two cores.  Here a step is 4 windows
 * of 1024, and the rate is scaled by the root of the batch's size (Malladi et al. 2022):
 * 6e-4 / sqrt(128) = 5e-5, doubled because a run on one machine is short.  With
 * --accumulate 128 --lr 6e-4 --warmup 700 it is theirs. */
static const vt_train_options gpt2 = {
    .preset = "gpt2", .layers = 12, .d_model = 768, .heads = 12, .ff = 3072, .context = 1024,
    .tied = true, .init = "gpt2", .activation = "gelu_new", .merges = 50000,
    .seq = 1024, .stride = 0, .batch = 4, .accumulate = 1,
    .epochs = 1, .lr = 1e-4, .lr_min = 1e-5, .warmup = -100,
    .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1, .clip = 1, .seed = 42,
    .eval_every = 250, .save_every = 50,
};

vt_status vt_train_preset(vt_train_options *o, const char *name, vt_error *err)
{
    const vt_train_options *all[] = { &tiny, &standard, &gpt2 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->preset, name) == 0) {
            *o = *all[i];
            return VT_OK;
        }
    return fail(err, VT_USAGE, "--preset %s: expected tiny, default or gpt2", name);
}

/* lo <= value <= hi, NaN refused */
static vt_status real_in(const char *option, double value, double lo, double hi,
                         const char *expected, vt_error *err)
{
    if (value >= lo && value <= hi) return VT_OK;
    return fail(err, VT_USAGE, "%s %g: expected %s", option, value, expected);
}

static vt_status whole_in(const char *option, long long value, long long lo, long long hi,
                          vt_error *err)
{
    if (value >= lo && value <= hi) return VT_OK;
    return fail(err, VT_USAGE, "%s %lld: expected a number from %lld to %lld", option, value,
                lo, hi);
}

static vt_status check_rates(const vt_train_options *o, vt_error *err)
{
    vt_status s;
    if ((s = real_in("--lr", o->lr, 0, 1e3, "a rate from 0 to 1000", err)) ||
        (s = real_in("--lr-min", o->lr_min, 0, o->lr, "a rate from 0 to --lr", err)) ||
        (s = real_in("--beta1", o->beta1, 0, 0.999999, "0 or more, below 1", err)) ||
        (s = real_in("--beta2", o->beta2, 0, 0.999999, "0 or more, below 1", err)) ||
        (s = real_in("--eps", o->eps, 1e-30, 1, "above 0, at most 1", err)) ||
        (s = real_in("--decay", o->decay, 0, 1e3, "0 to 1000", err)) ||
        (s = real_in("--clip", o->clip, 0, 1e30, "0 (off) or a norm", err)))
        return s;
    return VT_OK;
}

enum { MOST_THREADS = 256 };

static vt_status check_counts(const vt_train_options *o, vt_error *err)
{
    const long long most = 1LL << 40;
    const struct { const char *option; long long value, lo, hi; } counts[] = {
        { "--merges", o->merges, 0, INT_MAX - 257 },
        { "--seq", o->seq, 1, INT_MAX },
        { "--stride", o->stride, 0, INT_MAX },
        { "--batch", o->batch, 1, INT_MAX },
        { "--accumulate", o->accumulate, 1, INT_MAX },
        { "--steps", o->steps, 0, most },
        { "--epochs", o->epochs, o->steps ? 0 : 1, 1000000000 },
        { "--warmup", o->warmup, -most, most },
        { "--eval-every", o->eval_every, 0, most },
        { "--save-every", o->save_every, 0, most },
        { "--stop-at", o->stop_at, 0, most },
        { "--threads", o->threads, 0, MOST_THREADS },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const vt_status s = whole_in(counts[i].option, counts[i].value, counts[i].lo,
                                     counts[i].hi, err);
        if (s) return s;
    }
    return VT_OK;
}

vt_status settings_check(const vt_train_options *o, vt_error *err)
{
    enum gpt_init init;
    const ops *kernels;
    vt_status s;
    if (strcmp(o->activation, "gelu_new") != 0)
        return fail(err, VT_USAGE, "--activation %s: expected gelu_new (the tanh form of GELU "
                    "that GPT-2 was trained with); no other is computed here", o->activation);
    if ((s = gpt_init_named(&init, o->init, err)) || (s = check_counts(o, err)) ||
        (s = check_rates(o, err)))
        return s;
    if (o->seq > o->context)
        return fail(err, VT_USAGE, "--seq %d: expected at most --context %d, the positions "
                    "that the model has", o->seq, o->context);
    if ((s = ops_choose(&kernels, o->isa, err))) return s;
    /* The smallest vocabulary there is: what fails with it fails with any. */
    const gpt_config z = { .L = o->layers, .C = o->d_model, .NH = o->heads, .FF = o->ff,
                           .T = o->context, .V = 257, .tied = o->tied };
    return gpt_config_check(&z, err);
}

#define WRITE_TEXT(field) js_field_string(w, #field, o->field);
#define WRITE_INT(field)  js_field_int(w, #field, o->field);
#define WRITE_LONG(field) js_field_int(w, #field, o->field);
#define WRITE_BOOL(field) js_field_bool(w, #field, o->field);
#define WRITE_REAL(field) js_field_number(w, #field, o->field);
/* all 64 bits: many readers of JSON keep 53 of a number, so it is a text */
#define WRITE_SEED(field) { char t[24]; snprintf(t, sizeof t, "%llu", \
        (unsigned long long)o->field); js_field_string(w, #field, t); }

void settings_write(js_writer *w, const vt_train_options *o)
{
#define SETTING(kind, field, option) WRITE_##kind(field)
#include "train/settings.def"
}

static vt_status read_text(const char **out, const json_t *object, const char *key,
                           const char *where, vt_error *err)
{
    const char *text;
    vt_status s = js_get_string(object, key, where, &text, err);
    if (s) return s;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            *out = names[i];
            return VT_OK;
        }
    return fail(err, VT_BAD_INPUT, "%s: field \"%s\": \"%s\" is not known to this version",
                where, key, text);
}

static vt_status read_seed(uint64_t *out, const json_t *object, const char *key,
                           const char *where, vt_error *err)
{
    const char *text;
    vt_status s = js_get_string(object, key, where, &text, err);
    if (s) return s;
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10) break;
        value = value * 10 + digit;
    }
    if (*p || p == text)
        return fail(err, VT_BAD_INPUT, "%s: field \"%s\": expected a number below 2^64 as text, "
                    "found \"%s\"", where, key, text);
    *out = value;
    return VT_OK;
}

#define READ_TEXT(field) if ((s = read_text(&o->field, object, #field, where, err))) return s;
#define READ_INT(field)  if ((s = js_get_int(object, #field, where, 0, INT_MAX, &whole, err))) \
        return s; \
    o->field = (int)whole;
#define READ_LONG(field) if ((s = js_get_int(object, #field, where, 0, 1LL << 40, &whole, err))) \
        return s; \
    o->field = whole;
#define READ_BOOL(field) if ((s = js_get_bool(object, #field, where, &o->field, err))) return s;
#define READ_REAL(field) if ((s = js_get_number(object, #field, where, 0, 1e30, &o->field, err))) \
        return s;
#define READ_SEED(field) if ((s = read_seed(&o->field, object, #field, where, err))) return s;

vt_status settings_read(vt_train_options *o, const json_t *object, const char *where,
                        vt_error *err)
{
    vt_status s;
    int64_t whole;
#define SETTING(kind, field, option) READ_##kind(field)
#include "train/settings.def"
    return VT_OK;
}

static vt_status differs(const char *option, const char *asked, const char *stored,
                         vt_error *err)
{
    return fail(err, VT_USAGE, "%s %s: the run to resume has %s; leave the option out, or train "
                "into another folder", option, asked, stored);
}

/* An option "--tied" has the counterpart "--untied". */
static vt_status differs_bool(const char *option, bool asked, vt_error *err)
{
    return fail(err, VT_USAGE, "--%s%s: the run to resume is %s%s; leave the option out, or train "
                "into another folder", asked ? "" : "un", option + 2, asked ? "un" : "", option + 2);
}

#define COMPARE_TEXT(field, option) if (strcmp(a->field, b->field) != 0) \
        return differs(option, a->field, b->field, err);
#define COMPARE_AS(field, option, format, type) if (a->field != b->field) { \
        char x[48], y[48]; \
        snprintf(x, sizeof x, format, (type)a->field); \
        snprintf(y, sizeof y, format, (type)b->field); \
        return differs(option, x, y, err); }
#define COMPARE_INT(field, option)  COMPARE_AS(field, option, "%d", int)
#define COMPARE_LONG(field, option) COMPARE_AS(field, option, "%lld", long long)
#define COMPARE_BOOL(field, option) if (a->field != b->field) return differs_bool(option, a->field, err);
#define COMPARE_REAL(field, option) COMPARE_AS(field, option, "%g", double)
#define COMPARE_SEED(field, option) COMPARE_AS(field, option, "%llu", unsigned long long)

vt_status settings_compare(const vt_train_options *asked, const vt_train_options *stored,
                           vt_error *err)
{
    vt_train_options copy = *asked;
    const vt_train_options *a = &copy, *b = stored;
    if (asked->steps > 0 && asked->steps != stored->steps && !asked->reschedule)
        return fail(err, VT_USAGE, "--steps %lld: the run to resume has %lld, and its learning "
                    "rates follow from that; add --reschedule to change them",
                    asked->steps, stored->steps);
    copy.steps = stored->steps;
    copy.warmup = schedule_warmup(asked->warmup, stored->steps);
    if (asked->reschedule) {
        copy.lr = stored->lr;
        copy.lr_min = stored->lr_min;
        copy.warmup = stored->warmup;
    }
#define SETTING(kind, field, option) COMPARE_##kind(field, option)
#include "train/settings.def"
    return VT_OK;
}
