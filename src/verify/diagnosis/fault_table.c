/* fault_table.c -- what the faults of one kind of node are called, which passes may
 * have them, and what helps.  The order of faults.h is the order of preference where
 * two explain equally.
 */
#include "verify/diagnosis/faults.h"

enum {
    B = FAULT_IN_BACKWARD,
    /* a wrong value in the forward pass: alone, seen by a right backward, or in both */
    F = FAULT_IN_FORWARD | FAULT_IN_SAVED,
    ALL = FAULT_IN_BACKWARD | FAULT_IN_FORWARD | FAULT_IN_SAVED | FAULT_IN_BOTH,
    OUT = ALL | FAULT_IN_OUT,
    /* also where lse alone is kept from the forward pass; of that, forward or both */
    LSE = FAULT_IN_BACKWARD_LSE | FAULT_IN_OUT_LSE | FAULT_IN_BOTH_LSE,
    LSE_FORWARD = FAULT_IN_OUT_LSE | FAULT_IN_BOTH_LSE
};

#define ATT GRAPH_ATTENTION
#define LN GRAPH_LAYERNORM
#define CE GRAPH_CROSSENTROPY
#define SOFT GRAPH_SOFTMAX
#define GELU GRAPH_GELU
#define LINEAR GRAPH_LINEAR

static const char scale_hint[] = "scores are divided by sqrt(HS), so ds reaches q and k through "
    "1/sqrt(HS): once in the forward pass, once each in dq and dk";
static const char row_hint[] = "softmax's gradient is a (da - sum_w a da): the sum runs over the "
    "keys of one query, each weighted by its a";
static const char mask_hint[] = "query t of T sees the keys u <= S - T + t, or those whose byte in "
    "the mask is 1; no other may enter the maximum, the sum or a gradient";
static const char empty_hint[] = "a query that sees no key sums over nothing: its output and its "
    "gradients are 0";
static const char nan_hint[] = "a query that sees no key sums over nothing: its output is 0, which is to be written (outputs "
    "begin as NaN), not 0/0; and its gradients are 0";
static const char max_hint[] = "subtract the row's maximum before exp; when a running maximum "
    "grows, rescale the sum and the output that were kept by exp(old - new)";
static const char eps_hint[] = "rstd = 1 / sqrt(var + 1e-5), the same in forward and backward";
static const char norm_hint[] = "dx = rstd (dxhat - mean(dxhat) - xhat mean(dxhat xhat)), "
    "dxhat = w dy, means over the channels";
static const char gelu_hint[] = "y = x (1 + tanh z) / 2, z = sqrt(2/pi) (x + 0.044715 x^3); "
    "dy/dx = (1 + tanh z) / 2 + x (1 - tanh^2 z) z' / 2";
static const char ce_hint[] = "dlogits = dloss (softmax(logits / temperature) - onehot(target)) / "
    "temperature, and 0 where the target is -1";
static const char linear_hint[] = "y = x W + b with W (C, OC): dx = dy W^T, dW = x^T dy, db = sum of "
    "dy over the rows";

static const char lse_hint[] = "lse[t] = max + log sum_u exp(s[t,u] - max), one for each query of each head of each batch row";

static const char add_hint[] = "dq, dk and dv are sums over keys or queries: dq += ..., not dq = ...";

static const fault_info table[RULE_COUNT] = {
    [RULE_ATT_SCALE_DQ] = { FAULT_SCALE_MISSING, ATT, B, "1/sqrt(HS) is missing on dq", scale_hint },
    [RULE_ATT_SCALE_DK] = { FAULT_SCALE_MISSING, ATT, B, "1/sqrt(HS) is missing on dk", scale_hint },
    [RULE_ATT_SCALE_BOTH] = { FAULT_SCALE_MISSING, ATT, B, "1/sqrt(HS) is missing on dq and dk", scale_hint },
    [RULE_ATT_SCALE] = { FAULT_SCALE_MISSING, ATT, OUT | LSE_FORWARD, "scores are not divided by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_TWICE] = { FAULT_SCALE_WRONG, ATT, ALL | LSE, "scores are divided by HS, not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_HS] = { FAULT_SCALE_WRONG, ATT, ALL | LSE, "scores are multiplied by sqrt(HS), not divided", scale_hint },
    [RULE_ATT_SCALE_C] = { FAULT_SCALE_WRONG, ATT, ALL | LSE, "scores are divided by sqrt(NH HS), not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_TWICE_DQ] = { FAULT_SCALE_WRONG, ATT, B, "dq is divided by HS, not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_TWICE_DK] = { FAULT_SCALE_WRONG, ATT, B, "dk is divided by HS, not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_TWICE_BOTH] = { FAULT_SCALE_WRONG, ATT, B, "dq and dk are divided by HS, not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_C_BOTH] = { FAULT_SCALE_WRONG, ATT, B, "dq and dk are divided by sqrt(NH HS), not by sqrt(HS)", scale_hint },
    [RULE_ATT_SCALE_VALUE] = { FAULT_SCALE_WRONG, ATT, OUT | LSE_FORWARD, "scores are multiplied by %s, not by 1/sqrt(HS)", scale_hint },
    [RULE_ATT_NO_ROW_SUM] = { FAULT_SOFTMAX_ROW_SUM_MISSING, ATT, B, "ds = a da: the row sum is not subtracted", row_hint },
    [RULE_ATT_ROW_SUM_QUERIES] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the sum in ds runs over queries, not over keys", row_hint },
    [RULE_ATT_ROW_SUM_PLAIN] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the sum in ds is of da, not weighted by a", row_hint },
    [RULE_ATT_ROW_SUM_MEAN] = { FAULT_MEAN_FOR_SUM, ATT, B, "the sum in ds is a mean", row_hint },
    [RULE_ATT_ROW_SUM_CHANNELS] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the sum in ds runs over HS keys, not over all", row_hint },
    [RULE_ATT_ROW_SUM_DOUT] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the row sum is that of do over the channels, not of a da over the keys", row_hint },
    [RULE_ATT_ROW_SUM_SQUARES] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the row sum is that of do do over the channels, not of do o", row_hint },
    [RULE_ATT_NO_SOFTMAX_BACKWARD] = { FAULT_SOFTMAX_ROW_SUM_MISSING, ATT, B, "ds = da: softmax has no derivative", row_hint },
    [RULE_ATT_DIAGONAL] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "ds = a (1 - a) da: the other keys' part of the row sum is missing", row_hint },
    [RULE_ATT_RESCORED] = { FAULT_SCALE_MISSING, ATT, B, "scores that are computed again are not divided by sqrt(HS)", scale_hint },
    [RULE_ATT_RESCORED_LSE] = { FAULT_SCALE_MISSING, ATT, B, "scores that are computed again are not divided by sqrt(HS), but lse is", scale_hint },
    [RULE_ATT_ONE_MORE] = { FAULT_MASK_LEAK, ATT, OUT | LSE, "each query sees one key of the future", mask_hint },
    [RULE_ATT_ONE_FEWER] = { FAULT_MASK_NARROW, ATT, ALL | LSE, "no query sees its own key: the diagonal is masked", mask_hint },
    [RULE_ATT_NO_MASK] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "there is no mask: queries see all keys", mask_hint },
    [RULE_ATT_NO_CAUSAL] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "queries see the keys of the future", mask_hint },
    [RULE_ATT_CAUSAL_ONLY] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "the mask is not used: queries see all keys up to their own", mask_hint },
    [RULE_ATT_TOP_LEFT] = { FAULT_MASK_NARROW, ATT, ALL | LSE, "query t sees the keys u <= t, not u <= S - T + t", mask_hint },
    [RULE_ATT_MASK_TRANSPOSED] = { FAULT_TRANSPOSED, ATT, ALL | LSE, "the mask is read as (S, T), not as (T, S)", "mask[t][u] lies at t S + u" },
    [RULE_ATT_UNDERFLOW] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "queries with S - T + t < 0, which see no key, see all: does the difference underflow?", "write u + T <= S + t: S may be less than T, and sizes are unsigned" },
    [RULE_ATT_MASK_INVERTED] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "the mask is inverted: queries see what is masked", mask_hint },
    [RULE_ATT_FIRST_KEY_LEAKS] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "key 0 is seen by all queries, masked or not", mask_hint },
    [RULE_ATT_TILE_LEAK] = { FAULT_MASK_LEAK, ATT, ALL | LSE, "queries see the rest of their tile of %d keys", mask_hint },
    [RULE_ATT_WINDOW] = { FAULT_MASK_NARROW, ATT, ALL | LSE, "queries see the last %d keys only", mask_hint },
    [RULE_ATT_NOT_FIRST_KEY] = { FAULT_MASK_NARROW, ATT, ALL | LSE, "no query sees key 0", mask_hint },
    [RULE_ATT_MASK_AFTER] = { FAULT_MASK_AFTER_SOFTMAX, ATT, OUT, "the mask comes after the softmax, whose sums ran over all keys", mask_hint },
    [RULE_ATT_MASK_AFTER_RENORMED] = { FAULT_MASK_AFTER_SOFTMAX, ATT, F, "the mask comes after the softmax, with 1e-6 in the new sum", mask_hint },
    [RULE_ATT_MASK_MINUS] = { FAULT_MASK_VALUE, ATT, ALL | LSE, "masked scores are a large negative number, not -inf", mask_hint },
    [RULE_ATT_MASK_ADD] = { FAULT_MASK_VALUE, ATT, ALL | LSE, "a large negative number is added to masked scores, not -inf", mask_hint },
    [RULE_ATT_MASK_ZERO] = { FAULT_MASK_VALUE, ATT, ALL | LSE, "masked scores are 0, not -inf", mask_hint },
    [RULE_ATT_EMPTY_NAN] = { FAULT_MASKED_ROW, ATT, ALL, "a query that sees no key gives NaN", nan_hint },
    [RULE_ATT_EMPTY_MEAN] = { FAULT_MASKED_ROW, ATT, ALL, "a query that sees no key takes the mean of all values", empty_hint },
    [RULE_ATT_EMPTY_ALL] = { FAULT_MASKED_ROW, ATT, ALL, "a query that sees no key sees all of them", empty_hint },
    [RULE_ATT_DV_SCORES] = { FAULT_WRONG_FACTOR, ATT, B, "dv is weighted by the scores, not by softmax's probabilities", "dv[u] = sum_t a[t,u] do[t], with a after the softmax" },
    [RULE_ATT_DV_SCALED] = { FAULT_WRONG_FACTOR, ATT, B, "dv is weighted by the scaled scores, not by softmax's probabilities", "dv[u] = sum_t a[t,u] do[t], with a after the softmax" },
    [RULE_ATT_DV_DS] = { FAULT_WRONG_FACTOR, ATT, B, "dv is weighted by ds, not by softmax's probabilities", "dv[u] = sum_t a[t,u] do[t], with a after the softmax" },
    [RULE_ATT_DV_DA] = { FAULT_WRONG_FACTOR, ATT, B, "dv is weighted by da, not by softmax's probabilities", "dv[u] = sum_t a[t,u] do[t], with a after the softmax" },
    [RULE_ATT_NO_SUM] = { FAULT_SCALE_MISSING, ATT, OUT, "probabilities are not divided by their sum", "a = exp(s - max) / sum exp(s - max)" },
    [RULE_ATT_EXP2] = { FAULT_SCALE_MISSING, ATT, OUT | LSE_FORWARD, "exp2(s) in place of exp(s): the factor log2(e) is missing", "exp(x) = exp2(x log2(e)): put log2(e) = 1.442695 into the scale of the scores" },
    [RULE_ATT_KEYS_TWICE] = { FAULT_SCALE_WRONG, ATT, OUT | LSE_FORWARD, "the last tile of %d keys begins in the one before: keys in both count twice", "a last tile that is moved back to fit must mask the keys that were done" },
    [RULE_ATT_ROW_SUM_PLUS] = { FAULT_SIGN, ATT, B, "the row sum is added in ds, not subtracted", row_hint },
    [RULE_ATT_ROW_SUM_OTHER_ROW] = { FAULT_SOFTMAX_ROW_SUM_WRONG, ATT, B, "the row sum is made of another query's o: that of the first in its tile", "the row sum of query t is do[t] . o[t]" },
    [RULE_ATT_DS_NO_A] = { FAULT_WRONG_FACTOR, ATT, B, "ds = da - row sum: the factor a is missing", row_hint },
    [RULE_ATT_DQ_EACH_TILE] = { FAULT_SCALE_WRONG, ATT, B, "dq is added after each tile of %d keys with all that was summed before, so first tiles count more than once", "add a buffer once, at the end, or set it to 0 after it was added" },
    [RULE_ATT_DQ_READS_K_OF_QUERY] = { FAULT_WRONG_FACTOR, ATT, B, "dq sums over k of the query's index, not of the key's", "dq[t] = sum_u ds[t,u] k[u] / sqrt(HS)" },
    [RULE_ATT_LSE_NO_SUM] = { FAULT_SCALE_MISSING, ATT, B, "probabilities are exp(s - lse) with an lse that is the maximum alone: log(sum) is missing", lse_hint },
    [RULE_ATT_LSE_OTHER_ROW] = { FAULT_POSITION_SHIFT, ATT, B, "probabilities are exp(s - lse) with the lse of the query beside it", lse_hint },
    [RULE_ATT_LSE_TRANSPOSED] = { FAULT_TRANSPOSED, ATT, B, "probabilities are exp(s - lse) with an lse from elsewhere: written in one order, read in another", lse_hint },
    [RULE_ATT_LAYOUT] = { FAULT_TRANSPOSED, ATT, OUT, "tensors are taken to lie as (batch, head, position, channel), not (batch, position, head, channel)", "q, k, v and o are (B, T, NH, HS): row t of head h begins at ((b T + t) NH + h) HS" },
    [RULE_ATT_KEY_STRIDE] = { FAULT_BATCH_MIXED, ATT, OUT, "keys and values of batch row b are looked for at row b T, not b S", "k and v are (B, S, NH, HS): T and S may differ" },
    [RULE_ATT_DV_TRANSPOSED] = { FAULT_TRANSPOSED, ATT, B, "dv reads a[u,t], not a[t,u]", "dv[u] = sum_t a[t,u] do[t]" },
    [RULE_ATT_DS_TRANSPOSED] = { FAULT_TRANSPOSED, ATT, B, "dq and dk read ds[u,t], not ds[t,u]", "dq[t] = sum_u ds[t,u] k[u] / sqrt(HS), dk[u] = sum_t ds[t,u] q[t] / sqrt(HS)" },
    [RULE_ATT_DQ_READS_Q] = { FAULT_WRONG_FACTOR, ATT, B, "dq sums over q, not over k", "dq[t] = sum_u ds[t,u] k[u] / sqrt(HS)" },
    [RULE_ATT_DK_READS_K] = { FAULT_WRONG_FACTOR, ATT, B, "dk sums over k, not over q", "dk[u] = sum_t ds[t,u] q[t] / sqrt(HS)" },
    [RULE_ATT_DQ_READS_OWN_Q] = { FAULT_WRONG_FACTOR, ATT, B, "dq is made of q itself, not of k", "dq[t] = sum_u ds[t,u] k[u] / sqrt(HS)" },
    [RULE_ATT_DK_READS_OWN_K] = { FAULT_WRONG_FACTOR, ATT, B, "dk is made of k itself, not of q", "dk[u] = sum_t ds[t,u] q[t] / sqrt(HS)" },
    [RULE_ATT_DQ_READS_V] = { FAULT_WRONG_FACTOR, ATT, B, "dq sums over v, not over k", "dq[t] = sum_u ds[t,u] k[u] / sqrt(HS)" },
    [RULE_ATT_DK_READS_V] = { FAULT_WRONG_FACTOR, ATT, B, "dk is made of v, not of q", "dk[u] = sum_t ds[t,u] q[t] / sqrt(HS)" },
    [RULE_ATT_DA_READS_K] = { FAULT_WRONG_FACTOR, ATT, B, "da is made with k, not with v", "da[t,u] = sum_i do[t,i] v[u,i]" },
    [RULE_ATT_KEY_TAIL] = { FAULT_ROWS_MISSING, ATT, OUT | LSE, "the keys behind the last whole tile of %d are left out", "the last tile is shorter where S is no multiple of the tile" },
    [RULE_ATT_NOT_LAST_KEY] = { FAULT_ROWS_MISSING, ATT, ALL | LSE, "the last key is left out", "look at the end of the loop over keys" },
    [RULE_ATT_NO_MAX] = { FAULT_SOFTMAX_UNSTABLE, ATT, ALL | LSE_FORWARD, "exp overflows: the maximum is not subtracted", max_hint },
    [RULE_ATT_NO_RESCALE] = { FAULT_SOFTMAX_UNSTABLE, ATT, OUT, "the output is not rescaled when the running maximum grows (tiles of %d keys)", max_hint },
    [RULE_ATT_NO_RESCALE_SUM] = { FAULT_SOFTMAX_UNSTABLE, ATT, OUT, "the sum is not rescaled when the running maximum grows (tiles of %d keys)", max_hint },
    [RULE_ATT_LSE_NO_MAX] = { FAULT_SOFTMAX_UNSTABLE, ATT, B, "probabilities are exp(s - lse) with an lse that lacks the maximum", max_hint },
    [RULE_ATT_MAX_FROM_ZERO] = { FAULT_SOFTMAX_UNSTABLE, ATT, ALL | LSE_FORWARD, "the running maximum begins at %s, not at -inf", max_hint },
    [RULE_ATT_ASSIGN_DQ] = { FAULT_OVERWRITTEN, ATT, B, "dq is assigned for each key: each overwrites the one before", add_hint },
    [RULE_ATT_ASSIGN_DK] = { FAULT_OVERWRITTEN, ATT, B, "dk is assigned for each query: each overwrites the one before", add_hint },
    [RULE_ATT_ASSIGN_DV] = { FAULT_OVERWRITTEN, ATT, B, "dv is assigned for each query: each overwrites the one before", add_hint },
    [RULE_ATT_ROW_SUM_OF_OUT] = { FAULT_UNKNOWN, ATT, 0, "", "" },     /* FAULT_IN_OUT */

    [RULE_SOFT_NO_ROW_SUM] = { FAULT_SOFTMAX_ROW_SUM_MISSING, SOFT, B, "dx = p dp: the row sum is not subtracted", row_hint },
    [RULE_SOFT_ROW_SUM_COLUMNS] = { FAULT_SOFTMAX_ROW_SUM_WRONG, SOFT, B, "the sum in dx runs over rows, not over a row's classes", row_hint },
    [RULE_SOFT_ROW_SUM_PLAIN] = { FAULT_SOFTMAX_ROW_SUM_WRONG, SOFT, B, "the sum in dx is of dp, not weighted by p", row_hint },
    [RULE_SOFT_ROW_SUM_MEAN] = { FAULT_MEAN_FOR_SUM, SOFT, B, "the sum in dx is a mean", row_hint },
    [RULE_SOFT_ROW_SUM_UNSCALED] = { FAULT_SUM_FOR_MEAN, SOFT, B, "the sum of exp(x) dp is not divided by that of exp(x)", row_hint },
    [RULE_SOFT_DIAGONAL] = { FAULT_SOFTMAX_ROW_SUM_WRONG, SOFT, B, "dx = p (1 - p) dp: the other classes' part of the row sum is missing", row_hint },
    [RULE_SOFT_NO_MAX] = { FAULT_SOFTMAX_UNSTABLE, SOFT, ALL, "exp overflows: the maximum is not subtracted", max_hint },
    [RULE_SOFT_NO_RESCALE] = { FAULT_SOFTMAX_UNSTABLE, SOFT, ALL, "the sum is not rescaled when the running maximum grows (tiles of %d)", max_hint },
    [RULE_SOFT_NO_SUM] = { FAULT_SCALE_MISSING, SOFT, ALL, "p is not divided by the sum", "p = exp(x - max) / sum exp(x - max)" },
    [RULE_SOFT_COLUMNS] = { FAULT_TRANSPOSED, SOFT, ALL, "softmax runs over the rows, not over a row's classes", row_hint },

    [RULE_LN_NO_GAIN] = { FAULT_GAIN_MISSING, LN, B, "dxhat = dy: the gain is forgotten", norm_hint },
    [RULE_LN_NO_GAIN_DY] = { FAULT_GAIN_MISSING, LN, B, "the gain is missing in dx, but for the means: rstd (dy - mean(w dy) - ...)", norm_hint },
    [RULE_LN_NO_GAIN_MEANS] = { FAULT_GAIN_MISSING, LN, B, "the gain is missing in the means: rstd (w dy - mean(dy) - xhat mean(dy xhat))", norm_hint },
    [RULE_LN_GAIN_SHIFTED] = { FAULT_POSITION_SHIFT, LN, B, "w dy in dx takes the gain of the channel beside it", norm_hint },
    [RULE_LN_NO_GAIN_FORWARD] = { FAULT_GAIN_MISSING, LN, F | FAULT_IN_BOTH, "y is not multiplied by the gain", norm_hint },
    [RULE_LN_NO_BIAS] = { FAULT_BIAS_FORGOTTEN, LN, F, "the bias is not added", "y = w xhat + b" },
    [RULE_LN_NO_EPS] = { FAULT_EPSILON, LN, ALL, "rstd has no epsilon", eps_hint },
    [RULE_LN_EPS_OUTSIDE] = { FAULT_EPSILON, LN, ALL, "epsilon is added outside the root", eps_hint },
    [RULE_LN_EPS] = { FAULT_EPSILON, LN, ALL, "epsilon is %s, expected 1e-05", eps_hint },
    [RULE_LN_UNBIASED] = { FAULT_VARIANCE_UNBIASED, LN, ALL, "the variance is divided by C - 1, not by C", "the variance is that of the row itself, divided by C" },
    [RULE_LN_NO_MEAN] = { FAULT_MEAN_TERM_MISSING, LN, B, "the term mean(dxhat) is missing", norm_hint },
    [RULE_LN_NO_VAR] = { FAULT_VARIANCE_TERM_MISSING, LN, B, "the term xhat mean(dxhat xhat) is missing", norm_hint },
    [RULE_LN_NO_MEAN_NO_VAR] = { FAULT_VARIANCE_TERM_MISSING, LN, B, "both means are missing: mean and variance count as constants", norm_hint },
    [RULE_LN_MEAN_SUM] = { FAULT_SUM_FOR_MEAN, LN, B, "mean(dxhat) is a sum, not divided by C", norm_hint },
    [RULE_LN_VAR_SUM] = { FAULT_SUM_FOR_MEAN, LN, B, "mean(dxhat xhat) is a sum, not divided by C", norm_hint },
    [RULE_LN_SUMS] = { FAULT_SUM_FOR_MEAN, LN, B, "mean(dxhat) and mean(dxhat xhat) are sums, not divided by C", norm_hint },
    [RULE_LN_MEAN_SIGN] = { FAULT_SIGN, LN, B, "the term mean(dxhat) has the wrong sign", norm_hint },
    [RULE_LN_VAR_SIGN] = { FAULT_SIGN, LN, B, "the term xhat mean(dxhat xhat) has the wrong sign", norm_hint },
    [RULE_LN_VARIANCE_SUM] = { FAULT_SUM_FOR_MEAN, LN, ALL, "the variance is not divided by C", norm_hint },
    [RULE_LN_NO_RSTD] = { FAULT_SCALE_MISSING, LN, B, "the factor rstd is missing in dx", norm_hint },
    [RULE_LN_RSTD_TWICE] = { FAULT_SCALE_WRONG, LN, B, "dx has the factor rstd twice", norm_hint },
    [RULE_LN_GAIN_TWICE] = { FAULT_WRONG_FACTOR, LN, ALL, "the gain is multiplied in twice", norm_hint },
    [RULE_LN_DW_NO_XHAT] = { FAULT_WRONG_FACTOR, LN, B, "dw is made of x, not of xhat = (x - mean) rstd", "dw = sum over the rows of dy xhat" },
    [RULE_LN_DW_NO_RSTD] = { FAULT_SCALE_MISSING, LN, B, "the factor rstd is missing in dw", "dw = sum over the rows of dy xhat, xhat = (x - mean) rstd" },
    [RULE_LN_MEAN_LEFT] = { FAULT_MEAN_TERM_MISSING, LN, ALL, "the mean is not subtracted in xhat, though it is in the variance", norm_hint },
    [RULE_LN_FIRST_ROW] = { FAULT_POSITION_SHIFT, LN, ALL, "mean or rstd is that of the first row in every row", "mean and rstd are those of the row itself: index n, not 0" },
    [RULE_LN_RSTD_TIMES] = { FAULT_SCALE_WRONG, LN, ALL, "rstd is %s times what it should be", eps_hint },
    [RULE_LN_NOT_CENTRED] = { FAULT_MEAN_TERM_MISSING, LN, ALL, "the mean is not subtracted", norm_hint },

    [RULE_GELU_ERF] = { FAULT_GELU_FORM, GELU, ALL, "it is GELU's erf form, not the tanh form", gelu_hint },
    [RULE_GELU_SIGMOID] = { FAULT_GELU_FORM, GELU, ALL, "it is x sigmoid(1.702 x), not the tanh form", gelu_hint },
    [RULE_GELU_K0] = { FAULT_CONSTANT, GELU, ALL, "sqrt(2/pi) is %s, expected 0.79788456", gelu_hint },
    [RULE_GELU_K1] = { FAULT_CONSTANT, GELU, ALL, "0.044715 is %s", gelu_hint },
    [RULE_GELU_NO_SECOND] = { FAULT_PATH_MISSING, GELU, B, "the derivative's second term x (1 - tanh^2 z) z' / 2 is missing", gelu_hint },
    [RULE_GELU_NO_THREE] = { FAULT_CONSTANT, GELU, B, "the 3 of z' = sqrt(2/pi) (1 + 3 0.044715 x^2) is missing", gelu_hint },
    [RULE_GELU_NO_DZ] = { FAULT_PATH_MISSING, GELU, B, "the inner derivative z' is missing", gelu_hint },
    [RULE_GELU_NO_X] = { FAULT_PATH_MISSING, GELU, B, "the factor x of the derivative's second term is missing", gelu_hint },
    [RULE_GELU_NOT_SQUARED] = { FAULT_WRONG_FACTOR, GELU, B, "1 - tanh z in place of 1 - tanh^2 z", gelu_hint },
    [RULE_GELU_NO_TWO] = { FAULT_CONSTANT, GELU, B, "the inner derivative is half of z'", gelu_hint },

    [RULE_LINEAR_W_MISREAD] = { FAULT_TRANSPOSED, LINEAR, ALL, "the weights are read as (OC, C)", linear_hint },
    [RULE_LINEAR_DX_MISREAD] = { FAULT_TRANSPOSED, LINEAR, B, "dx is made with the weights transposed", linear_hint },
    [RULE_LINEAR_NO_BIAS] = { FAULT_BIAS_FORGOTTEN, LINEAR, F, "the bias is not added", linear_hint },

    [RULE_CE_NO_ONEHOT] = { FAULT_ONEHOT_MISSING, CE, B, "the one-hot is not subtracted: dlogits = p", ce_hint },
    [RULE_CE_NO_ONEHOT_LAST] = { FAULT_ONEHOT_MISSING, CE, B, "the one-hot is not subtracted in the last row", ce_hint },
    [RULE_CE_NO_ONEHOT_LAST_POSITION] = { FAULT_ONEHOT_MISSING, CE, B, "the one-hot is not subtracted at the last position", ce_hint },
    [RULE_CE_NO_ONEHOT_FIRST] = { FAULT_ONEHOT_MISSING, CE, B, "the one-hot is not subtracted in the first row", ce_hint },
    [RULE_CE_ONEHOT_ONLY] = { FAULT_PATH_MISSING, CE, B, "the probabilities are missing: dlogits = -onehot", ce_hint },
    [RULE_CE_TEMPERATURE_LEFT] = { FAULT_TEMPERATURE, CE, B, "the gradient is not divided by the temperature", ce_hint },
    [RULE_CE_TEMPERATURE_TWICE] = { FAULT_TEMPERATURE, CE, B, "the gradient is divided by the temperature twice", ce_hint },
    [RULE_CE_TEMPERATURE_NOT_IN_P] = { FAULT_TEMPERATURE, CE, B, "the probabilities are those of temperature 1", ce_hint },
    [RULE_CE_NO_TEMPERATURE] = { FAULT_TEMPERATURE, CE, ALL, "the temperature is ignored", ce_hint },
    [RULE_CE_TEMPERATURE_TIMES] = { FAULT_TEMPERATURE, CE, ALL, "logits are multiplied by the temperature, not divided", ce_hint },
    [RULE_CE_IGNORED] = { FAULT_IGNORED_TARGET, CE, ALL, "a row whose target is ignored still counts", ce_hint },
    [RULE_CE_IGNORED_CLASS_0] = { FAULT_IGNORED_TARGET, CE, ALL, "an ignored target counts as class 0", ce_hint },
    [RULE_CE_IGNORED_LAST_CLASS] = { FAULT_IGNORED_TARGET, CE, ALL, "an ignored target counts as the last class", ce_hint },
    [RULE_CE_TARGET_NEXT] = { FAULT_POSITION_SHIFT, CE, ALL, "each row takes the next row's target", ce_hint },
    [RULE_CE_TARGET_PREVIOUS] = { FAULT_POSITION_SHIFT, CE, ALL, "each row takes the target of the row before", ce_hint },
    [RULE_CE_NO_MAX] = { FAULT_SOFTMAX_UNSTABLE, CE, ALL, "exp overflows: the maximum is not subtracted", max_hint },
    [RULE_CE_NO_DLOSS] = { FAULT_UPSTREAM_IGNORED, CE, B, "the upstream gradient dloss is not multiplied in", ce_hint },

    [RULE_EMBED_ASSIGN] = { FAULT_OVERWRITTEN, GRAPH_EMBEDDING, B, "a token that repeats: its rows are assigned, not added", "dwte[token] sums over all rows that hold the token" },
    [RULE_EMBED_ASSIGN_ALL] = { FAULT_OVERWRITTEN, GRAPH_EMBEDDING, B, "the token's row of dwte is assigned: what was there is lost", "dwte[token] sums over all rows that hold the token" },
    [RULE_EMBED_TOKEN_NEXT] = { FAULT_POSITION_SHIFT, GRAPH_EMBEDDING, ALL, "each position takes the next one's token", "row (b, t) belongs to token[b][t]" },
    [RULE_EMBED_TOKEN_PREVIOUS] = { FAULT_POSITION_SHIFT, GRAPH_EMBEDDING, ALL, "each position takes the token before its own", "row (b, t) belongs to token[b][t]" },
};

const fault_info *fault_table(fault_rule rule)
{
    return rule >= RULE_FIRST_OF_NODES && rule < RULE_COUNT ? &table[rule] : NULL;
}
