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
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/io.h"

extern char **environ;

enum { INPUTS = sizeof(vt_lab_tensors) / sizeof(double), NO_TORCH = 43, ANSWER_MOST = 1 << 16 };

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

/* ---- the child --------------------------------------------------------- */

typedef struct child {
    pid_t pid;
    int   in, out;                      /* our ends of its standard input and output */
} child;

static vt_status start(child *c, const char *python, vt_error *err)
{
    int in[2], out[2];
    char *words[] = { (char *)(size_t)python, (char *)(size_t)"-c", (char *)(size_t)script, NULL };
    posix_spawn_file_actions_t actions;
    if (pipe(in)) return fail(err, VT_IO, "--torch: a pipe: %s", strerror(errno));
    if (pipe(out)) {
        close(in[0]);
        close(in[1]);
        return fail(err, VT_IO, "--torch: a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int ends[] = { in[0], in[1], out[0], out[1] };
    for (size_t i = 0; i < 4; i++) posix_spawn_file_actions_addclose(&actions, ends[i]);
    const int failed = posix_spawnp(&c->pid, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    if (!failed) return VT_OK;
    close(c->in);
    close(c->out);
    return fail(err, VT_IO, "--torch: %s: %s; on Debian: apt-get install python3-torch", python,
                strerror(failed));
}

static vt_status question(bytes *text, const vt_lab_report *r, vt_error *err)
{
    const double *x = &r->inputs.Wq[0][0];
    vt_status s = bytes_printf(text, err, "%d %a", r->options.heads, r->options.temperature);
    for (size_t i = 0; i < INPUTS && s == VT_OK; i++) s = bytes_printf(text, err, " %a", x[i]);
    for (size_t t = 0; t < VT_LAB_T && s == VT_OK; t++)
        s = bytes_printf(text, err, " %d", r->targets[t]);
    return s;
}

/* A few kilobytes: they fit a pipe, so nothing waits.  An interpreter that has gone is
 * seen by its status. */
static void tell(child *c, const bytes *text)
{
    size_t done = 0;
    while (done < text->len) {
        const ssize_t n = write(c->in, text->data + done, text->len - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    close(c->in);
}

static int milliseconds_left(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double left = (double)(end->tv_sec - now.tv_sec) * 1e3 +
                        (double)(end->tv_nsec - now.tv_nsec) / 1e6;
    return left > 0 ? (int)left + 1 : 0;
}

/* All that it answers; false where it took too long or said too much. */
static bool listen_to(child *c, bytes *answer, vt_status *s, vt_error *err)
{
    struct timespec end;
    struct pollfd p = { .fd = c->out, .events = POLLIN };
    char block[4096];
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += TORCH_SECONDS;
    for (;;) {
        const int ready = poll(&p, 1, milliseconds_left(&end));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || answer->len > ANSWER_MOST) return false;
        const ssize_t n = read(c->out, block, sizeof block);
        if (n <= 0) return true;
        if ((*s = bytes_append(answer, block, (size_t)n, err))) return false;
    }
}

static vt_status ended(child *c, bool whole, const char *python, vt_error *err)
{
    int status;
    close(c->out);
    if (!whole) kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) { }
    if (!whole)
        return fail(err, VT_IO, "--torch: %s: no answer after %d s", python, TORCH_SECONDS);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_TORCH)
        return fail(err, VT_IO, "--torch: %s has no module torch; on Debian: apt-get install "
                    "python3-torch", python);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fail(err, VT_IO, "--torch: %s cannot be run; on Debian: apt-get install "
                    "python3-torch", python);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(err, VT_IO, "--torch: %s: PyTorch failed (%s %d)", python,
                    WIFEXITED(status) ? "exit status" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return VT_OK;
}

/* ---- the answer -------------------------------------------------------- */

static bool number(double *x, char **at)
{
    char *end;
    *x = strtod(*at, &end);
    const bool one = end > *at && *end == '\n';
    *at = end + one;
    return one;
}

static bool understand(lab_torch *out, double *loss, double *grad, bytes *answer)
{
    char *at = (char *)answer->data;
    static const char head[] = "torch ";
    if (!at || strlen(at) != answer->len || strncmp(at, head, sizeof head - 1) != 0) return false;
    at += sizeof head - 1;
    const size_t n = strcspn(at, "\n");
    if (n == 0 || n >= sizeof out->version || at[n] != '\n') return false;
    memcpy(out->version, at, n);
    out->version[n] = '\0';
    at += n + 1;
    if (!number(loss, &at)) return false;
    for (size_t i = 0; i < INPUTS; i++)
        if (!number(&grad[i], &at)) return false;
    return *at == '\0';
}

vt_status lab_torch_run(lab_torch *out, const char *python, const vt_lab_report *r, vt_error *err)
{
    bytes text = { 0 }, answer = { 0 };
    child c;
    double loss;
    vt_lab_tensors grad;
    bool whole;
    *out = (lab_torch){ .version = "" };
    vt_status s = question(&text, r, err);
    if (s == VT_OK) s = start(&c, python, err);
    if (s) goto done;
    tell(&c, &text);
    whole = listen_to(&c, &answer, &s, err);
    const vt_status end = ended(&c, whole, python, s ? NULL : err);
    if (s == VT_OK) s = end;
    if (s) goto done;
    if (!understand(out, &loss, &grad.Wq[0][0], &answer)) {
        s = fail(err, VT_IO, "--torch: %s: an answer that is not %d numbers", python, INPUTS + 1);
        goto done;
    }
    s = vt_lab_compare(&out->against, r, "PyTorch", loss, &grad, err);
done:
    bytes_free(&text);
    bytes_free(&answer);
    return s;
}
