/* grade_words.c -- see grade_words.h. */
#include "lab/grade_words.h"
#include <stdio.h>
#include <string.h>

void grade_sizes(char *out, size_t size, const exercise *e, const graph_sizes *z)
{
    size_t n = 0;
    out[0] = '\0';
    for (const char *at = e->sizes; *at; ) {
        const size_t word = strcspn(at, " ");           /* "vocab V, ..." */
        n += (size_t)snprintf(out + n, size - n, "%s%.*s %d", n ? ", " : "", (int)word, at,
                              exercise_size(z, at[word + 1]));
        if (n >= size) return;
        at += word + 2;
        at += strspn(at, ", ");
    }
    if (e->op == VT_OP_CROSSENTROPY && n < size)
        snprintf(out + n, size - n, ", temperature %g", z->temperature);
}

void grade_index(char *out, size_t size, const char *axes, const graph_sizes *z, size_t element)
{
    size_t index[8] = { 0 }, rank = strlen(axes), n = 0;
    out[0] = '\0';
    for (size_t i = rank; i-- > 0; ) {
        const size_t length = (size_t)exercise_size(z, axes[i]);
        index[i] = element % length;
        element /= length;
    }
    for (size_t i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "[%zu]", index[i]);
}

/* ---- names ----------------------------------------------------------------- */

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(text, word, n) == 0;
}

static const char *of_tensors(const exercise_tensor *list, const char *text, size_t n)
{
    for (size_t i = 0; i < EXERCISE_TENSORS && list[i].name; i++) {
        const exercise_tensor *t = &list[i];
        const char *last = strrchr(t->graph, '.');
        if (is_word(text, n, last ? last + 1 : t->graph)) return t->name;
        if (n > 1 && text[0] == 'd' && t->gradient && is_word(text + 1, n - 1, t->graph))
            return t->gradient;
    }
    return NULL;
}

/* The exercise's word for the graph's; NULL: it has none. */
static const char *learners(const exercise *e, const exercise_function *f, const char *text,
                            size_t n, bool after_equals)
{
    static const struct { const char *graph, *ours; } others[] = {
        { "dq", "dQ" }, { "dk", "dK" }, { "dv", "dV" }, { "da", "dP" }, { "dp", "dP" },
        { "q", "Q" }, { "k", "K" }, { "v", "V" }, { "o", "O" }, { "att", "P" },
    };
    const bool attention = f && (e->op == VT_OP_LAB || e->op == VT_OP_ATTENTION);
    const char *word = f ? of_tensors(f->in, text, n) : NULL;
    if (!word && f) word = of_tensors(f->out, text, n);
    /* "ds = a da": the article is none. */
    if (!word && f && attention && is_word(text, n, "a") && after_equals) word = "P";
    const bool heads = strstr(e->sizes, "width") != NULL;
    if (!word && is_word(text, n, "HS")) word = heads ? "width" : "D";
    if (!word && is_word(text, n, "NH")) word = "heads";
    for (size_t i = 0; attention && !word && i < sizeof others / sizeof *others; i++)
        if (is_word(text, n, others[i].graph)) word = others[i].ours;
    return word;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* f NULL: sizes alone. */
static void replace(char *out, size_t size, const char *text, const exercise *e,
                    const exercise_function *f)
{
    size_t n = 0;
    while (*text && n + 1 < size) {
        size_t word = 0;
        while (letter(text[word])) word++;
        const char *other = word ? learners(e, f, text, word, n > 1 && out[n - 2] == '=') : NULL;
        if (word == 0) word = 1;
        const size_t length = other ? strlen(other) : word;
        if (length >= size - n) break;
        memcpy(out + n, other ? other : text, length);
        n += length;
        text += word;
    }
    out[n] = '\0';
}

void grade_say(char *out, size_t size, const char *text, const exercise *e,
               const exercise_function *f)
{
    replace(out, size, text, e, f);
}

void grade_size_words(char *out, size_t size, const char *text, const exercise *e)
{
    replace(out, size, text, e, NULL);
}

/* ---- hints ----------------------------------------------------------------- */

enum { ANY = -1, BOTH = 0, FORWARD = VT_KERNEL_FORWARD, BACKWARD = VT_KERNEL_BACKWARD };

/* The first that fits.  HS becomes the exercise's word; other names are the learner's. */
static const grade_hint hints[] = {
    { FAULT_SCALE_MISSING, ANY, FORWARD, "the scores are not divided by sqrt(HS)",
      "a score grows with the number of columns that it sums over: divide it by the root of "
      "that number, sqrt(HS)" },
    { FAULT_SCALE_MISSING, ANY, BACKWARD, NULL,
      "the scores were Q K^T / sqrt(HS): what comes back through them is divided by sqrt(HS) too, "
      "on its way to Q and on its way to K" },
    { FAULT_SCALE_WRONG, ANY, BOTH, NULL,
      "the scores are divided by sqrt(HS), once: by the root, and of the columns of one head" },
    { FAULT_SOFTMAX_ROW_SUM_MISSING, VT_OP_SOFTMAX, BOTH, NULL,
      "every x moves every p of its row, since they sum to 1: subtract the row's sum of dp p "
      "before you multiply by p" },
    { FAULT_SOFTMAX_ROW_SUM_MISSING, ANY, BOTH, NULL,
      "every score moves every P of its row, since they sum to 1: subtract the row's sum of dP P "
      "before you multiply by P (exercise 2)" },
    { FAULT_SOFTMAX_ROW_SUM_WRONG, VT_OP_SOFTMAX, BOTH, NULL,
      "what is subtracted is the same for all of a row: the sum over w of dp[w] p[w], each dp "
      "with its own p" },
    { FAULT_SOFTMAX_ROW_SUM_WRONG, ANY, BOTH, NULL,
      "what is subtracted is the same for all keys of a query: the sum of dP P over the keys that "
      "it sees (exercise 2)" },
    { FAULT_PATH_MISSING, VT_OP_LAB, BACKWARD, NULL,
      "X is read by three lines, so dX is the sum of three paths: through Q, through K, through V" },
    { FAULT_OVERWRITTEN, ANY, BACKWARD, NULL,
      "what is in the gradient came from elsewhere and counts: += where you have =" },
    { FAULT_MASK_LEAK, ANY, BOTH, NULL,
      "who sees whom: count the keys that the first query sees, and the last, and compare with the "
      "ends of your loops" },
    { FAULT_MASK_NARROW, ANY, BOTH, NULL,
      "who sees whom: count the keys that the first query sees, and the last, and compare with the "
      "ends of your loops" },
    { FAULT_MASK_AFTER_SOFTMAX, ANY, BOTH, NULL,
      "the mask comes before the softmax: a row whose future is cut off afterwards no longer "
      "sums to 1. Leave masked keys out of the sum of exp" },
    { FAULT_MASK_VALUE, ANY, BOTH, NULL,
      "a masked key is in no sum at all; another number in its place still has an exp" },
    { FAULT_HEADS_SWAPPED, ANY, BOTH, NULL,
      "which columns are which head's: the head is the second index of Q, K, V and O, [t][h][i]" },
    { FAULT_ROWS_MISSING, ANY, BOTH, NULL,
      "some of what is to be added up is left out: look at where the loops over rows, keys and "
      "heads begin and end" },
    { FAULT_MEAN_FOR_SUM, VT_OP_LAYERNORM, BACKWARD, NULL,
      "w and b are used by every row: their gradients are sums over the rows" },
    { FAULT_SUM_FOR_MEAN, VT_OP_LAB, FORWARD, NULL,
      "the loss is the mean over the tokens: divide by T" },
    { FAULT_SUM_FOR_MEAN, VT_OP_LAB, BACKWARD, "all gradients are T times too large",
      "the loss is the mean over the tokens: each has a share of dloss / T" },
    { FAULT_ONEHOT_MISSING, VT_OP_LAB, BACKWARD, "dlogits lacks the 1 at the target",
      "the loss subtracts the target's logit: softmax(logits), less 1 at the target" },
    { FAULT_ONEHOT_MISSING, ANY, BACKWARD, "dlogits lacks the 1 at the target",
      "the loss subtracts the target's logit: p, less 1 at the target" },
    { FAULT_TEMPERATURE, ANY, FORWARD, NULL,
      "every logit is divided by the temperature, in the sum of exp and at the target" },
    { FAULT_TEMPERATURE, ANY, BACKWARD, NULL,
      "the softmax is of logits / temperature, and by the chain rule its gradient is divided by "
      "the temperature once more" },
    { FAULT_IGNORED_TARGET, ANY, BOTH, "a row whose target is -1 counts",
      "a target of -1 is not counted: loss 0, gradient 0" },
    { FAULT_GAIN_MISSING, ANY, BACKWARD, NULL,
      "y = w xhat + b: what reaches xhat is w dy, not dy" },
    { FAULT_MEAN_TERM_MISSING, ANY, BACKWARD, NULL,
      "each x of a row moves the row's mean, and with it every xhat: subtract the average of "
      "dxhat" },
    { FAULT_VARIANCE_TERM_MISSING, ANY, BACKWARD, NULL,
      "each x of a row moves the row's rstd: subtract xhat times the average of dxhat xhat" },
    { FAULT_SOFTMAX_UNSTABLE, ANY, BOTH, "exp overflows: the largest is not subtracted first",
      "exp of a large number is infinite: subtract the row's largest before exp" },
    { FAULT_NOT_FINITE, ANY, FORWARD, NULL,
      "exp of a large number is infinite: subtract the row's largest before exp" },
};

const grade_hint *grade_hint_of(const exercise *e, const exercise_function *f, fault_kind kind)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        const grade_hint *h = &hints[i];
        if (h->kind == kind && (h->op == ANY || h->op == e->op) &&
            (h->pass == BOTH || h->pass == f->pass))
            return h;
    }
    return NULL;
}
