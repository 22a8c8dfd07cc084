/* lab_torch.c -- see lab_torch.h.
 *
 * The script is given by -c; it reads the numbers from standard input as hexadecimal
 * floats, so that both sides start from the same bits, and answers likewise:
 *
 *     heads, temperature, then the entries of Wq, Wk, Wv, Wo, X, then the targets
 *     "torch VERSION", the loss, then the gradients in the order of the inputs
 *
 * It says what the lab says in PyTorch's own words; nothing of ours is in it but the
 * shapes.
 */
#include "cli/lab_torch.h"
#include <stdlib.h>
#include <string.h>
#include "cli/python.h"

enum { INPUTS = sizeof(vt_lab_tensors) / sizeof(double) };

static const char script[] =
    "import sys\n"
    "try:\n"
    "    import torch\n"
    "except ImportError:\n"
    "    sys.exit(43)\n"
    "import torch.nn.functional as F\n"
    "words = sys.stdin.read().split()\n"
    "heads, temperature = int(words[0]), float.fromhex(words[1])\n"
    "numbers, targets = words[2:-6], torch.tensor([int(w) for w in words[-6:]])\n"
    "tensors, at = [], 0\n"
    "for shape in ((8, 4), (8, 4), (8, 4), (4, 10), (6, 8)):\n"
    "    n = shape[0] * shape[1]\n"
    "    values = [float.fromhex(w) for w in numbers[at:at + n]]\n"
    "    at += n\n"
    "    t = torch.tensor(values, dtype=torch.float64).reshape(shape)\n"
    "    tensors.append(t.requires_grad_())\n"
    "Wq, Wk, Wv, Wo, X = tensors\n"
    "q, k, v = ((X @ W).reshape(6, heads, 4 // heads).transpose(0, 1) for W in (Wq, Wk, Wv))\n"
    "scores = q @ k.transpose(1, 2) / (4 // heads) ** 0.5\n"
    "future = torch.ones(6, 6, dtype=torch.bool).triu(1)\n"
    "p = torch.softmax(scores.masked_fill(future, float('-inf')), -1)\n"
    "logits = (p @ v).transpose(0, 1).reshape(6, 4) @ Wo\n"
    "loss = F.cross_entropy(logits / temperature, targets)\n"
    "loss.backward()\n"
    "print('torch', torch.__version__)\n"
    "print(loss.item().hex())\n"
    "for t in tensors:\n"
    "    for x in t.grad.reshape(-1).tolist(): print(x.hex())\n";

/* ---- question and answer -------------------------------------------------- */

static vt_status question(bytes *text, const vt_lab_report *r, vt_error *err)
{
    const double *x = &r->inputs.Wq[0][0];
    vt_status s = bytes_printf(text, err, "%d %a", r->options.heads, r->options.temperature);
    for (size_t i = 0; i < INPUTS && s == VT_OK; i++) s = bytes_printf(text, err, " %a", x[i]);
    for (size_t t = 0; t < VT_LAB_T && s == VT_OK; t++)
        s = bytes_printf(text, err, " %d", r->targets[t]);
    return s;
}

static bool number(double *x, const char **at)
{
    char *end;
    *x = strtod(*at, &end);
    const bool one = end > *at && *end == '\n';
    *at = end + one;
    return one;
}

static bool understand(lab_torch *out, double *loss, double *grad, const bytes *answer)
{
    const char *at;
    if (!python_torch(out->version, &at, answer) || !number(loss, &at)) return false;
    for (size_t i = 0; i < INPUTS; i++)
        if (!number(&grad[i], &at)) return false;
    return *at == '\0';
}

vt_status lab_torch_run(lab_torch *out, const char *python, const vt_lab_report *r, vt_error *err)
{
    bytes text = { 0 }, answer = { 0 };
    double loss = 0;
    vt_lab_tensors grad;
    *out = (lab_torch){ .version = "" };
    vt_status s = question(&text, r, err);
    if (s == VT_OK) s = python_run(&answer, python, script, NULL, &text, err);
    if (s == VT_OK && !understand(out, &loss, &grad.Wq[0][0], &answer))
        s = fail(err, VT_IO, "--torch: %s: an answer that is not %d numbers", python, INPUTS + 1);
    if (s == VT_OK) s = vt_lab_compare(&out->against, r, "PyTorch", loss, &grad, err);
    bytes_free(&text);
    bytes_free(&answer);
    return s;
}
