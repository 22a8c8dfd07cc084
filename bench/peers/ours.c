/* ours.c -- Vitrine itself: the kernels and the step that `vitrine bench` times.
 *
 * Linked with the build's libvitrine.a, not with the command, so that one process answers
 * between the peers' calls: the command would measure the machine's limits each time.
 */
#include "bench/cases.h"
#include "train/trainer.h"
#define PEER_NO_GEMM
#include "peer.h"

static const ops *kernels;
static team *crew;
static int threads = 1;
static peer_item now;
static float *in, *more, *out, *d, *lse;        /* gemm: x, w, y; attention: qkv, dout, out */
static int *ids;
static trainer t;

static void must(vt_status s, const vt_error *err)
{
    if (s) peer_end(err->text, "vitrine");
}

static void make_team(const ops_sizes *z)
{
    size_t worker, shared;
    vt_error err;
    ops_scratch(z, &worker, &shared);
    must(team_new(&crew, threads, worker, shared, &err), &err);
}

/* ---- calls --------------------------------------------------------------------- */

static void gemm(void)
{
    kernels->linear_forward(crew, out, in, more, NULL, now.n[0], now.n[0], now.n[0]);
}

static void attention(void)
{
    const int B = now.n[0], T = now.n[1], NH = now.n[2], HS = now.n[3];
    const size_t C = (size_t)NH * (size_t)HS, ld = 3 * C;
    kernels->attention_forward(crew, out, lse, in, ld, in + C, in + 2 * C, ld, B, T, 0, NH, HS);
    if (d)                                      /* it adds: d grows with each call */
        kernels->attention_backward(crew, d, d + C, d + 2 * C, more, out, lse, in, ld, in + C,
                                    in + 2 * C, ld, B, T, 0, NH, HS);
}

static void step(void)
{
    trainer_result r;
    vt_error err;
    must(trainer_step(&t, &r, &err), &err);
}

static void call(void)
{
    if (strcmp(now.kind, "gemm") == 0) gemm();
    else if (strcmp(now.kind, "step") == 0) step();
    else attention();
}

/* ---- made ready ---------------------------------------------------------------- */

static void make_gemm(void)
{
    const int n = now.n[0];
    const size_t bytes = (size_t)n * (size_t)n * sizeof(float);
    make_team(&(ops_sizes){ .B = 1, .T = n, .C = n, .NH = 1, .HS = 1, .FF = n, .V = 1 });
    in = peer_read(now.in, "x", bytes);
    more = peer_read(now.in, "w", bytes);
    out = peer_memory(bytes);
    memset(out, 0xff, bytes);
    gemm();
    peer_write(now.out, "y", out, bytes);
}

static void make_attention(bool both)
{
    const int B = now.n[0], T = now.n[1], NH = now.n[2], HS = now.n[3];
    const size_t rows = (size_t)B * (size_t)T, bytes = rows * (size_t)NH * (size_t)HS * sizeof(float);
    make_team(&(ops_sizes){ .B = B, .T = T, .C = NH * HS, .NH = NH, .HS = HS, .FF = 1, .V = 1 });
    in = peer_read(now.in, "qkv", 3 * bytes);
    out = peer_memory(bytes);
    lse = peer_memory(rows * (size_t)NH * sizeof(float));
    memset(out, 0xff, bytes);
    if (both) {
        more = peer_read(now.in, "dout", bytes);
        d = peer_memory(3 * bytes);
        memset(d, 0, 3 * bytes);
    }
    attention();
    peer_write(now.out, "out", out, bytes);
    if (both) peer_write(now.out, "d", d, 3 * bytes);
}

/* Of the first tokens, without an update. */
static void write_gradient(int vB, int vT)
{
    const size_t N = (size_t)vB * (size_t)vT;
    double loss = 0;
    for (size_t n = 0; n < N; n++) {
        t.x[n] = ids[n];
        t.y[n] = ids[n + 1];
        t.dloss[n] = 1 / (float)N;
    }
    memset(t.g, 0, t.count * sizeof *t.g);
    gpt_learn_fast(&t.model, &t.acts, t.g, t.x, t.y, t.dloss, vB, vT);
    t.cleared = false;
    for (size_t n = 0; n < N; n++) loss += (double)t.acts.loss[n] / (double)N;
    peer_write(now.out, "loss", &loss, sizeof loss);
    peer_write(now.out, "gradient", t.g, t.count * sizeof *t.g);
}

static void make_step(void)
{
    const int *n = now.n;
    const gpt_config z = { .L = n[0], .C = n[1], .NH = n[2], .FF = n[3], .T = n[4], .V = n[5],
                           .tied = n[6] };
    const size_t count = (size_t)n[7] * (size_t)n[8] + 1;
    vt_train_options o;
    vt_error err;
    must(vt_train_preset(&o, "default", &err), &err);
    o.batch = n[7];
    o.seq = n[8];
    o.stride = 0;
    o.accumulate = 1;
    o.steps = 1000000;                          /* the schedule's length */
    o.warmup = 100;
    ids = peer_read(now.in, "ids", count * sizeof *ids);
    must(trainer_new(&t, &o, &z, threads, ids, count, ids, 0, &err), &err);
    float *w = peer_read(now.in, "weights", t.count * sizeof *w);
    memcpy(t.w, w, t.count * sizeof *w);
    free(w);
    write_gradient(n[9], n[10]);
}

static void make(peer_item *item)
{
    now = *item;
    if (strcmp(now.kind, "gemm") == 0) make_gemm();
    else if (strcmp(now.kind, "attention") == 0) make_attention(false);
    else if (strcmp(now.kind, "attention-both") == 0) make_attention(true);
    else if (strcmp(now.kind, "step") == 0) make_step();
    else item->known = false;
}

static void drop(void)
{
    team_free(crew);
    free(in);
    free(more);
    free(out);
    free(d);
    free(lse);
    free(ids);
    trainer_free(&t);
    t = (trainer){ .count = 0 };
    crew = NULL;
    in = more = out = d = lse = NULL;
    ids = NULL;
}

int main(int argc, char **argv)
{
    char version[120];
    const vt_version_info v = vt_version();
    if (argc > 1) threads = atoi(argv[1]);
    kernels = ops_pick(NULL);
    snprintf(version, sizeof version, "%s, commit %s, %s", v.version, v.commit, kernels->name);
    return peer_answer(version, make, call, drop);
}
