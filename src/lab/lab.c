/* lab.c -- see lab.h: what the lab's numbers are. */
#include "lab/lab.h"
#include "base/rng.h"

static const struct { const char *name; size_t at; int cols; } tensors[] = {
    { "Wq", LAB_WQ, VT_LAB_D }, { "Wk", LAB_WK, VT_LAB_D }, { "Wv", LAB_WV, VT_LAB_D },
    { "Wo", LAB_WO, VT_LAB_V }, { "X", LAB_X, VT_LAB_C },
};

void lab_draw(lab_case *c, uint64_t seed, int heads, double temperature)
{
    rng r;
    *c = (lab_case){ .heads = heads, .temperature = temperature };
    rng_seed(&r, seed);
    for (size_t i = 0; i < LAB_X; i++) c->at[i] = rng_normal(&r) * 0.5;
    for (size_t i = LAB_X; i < LAB_ENTRIES; i++) c->at[i] = rng_normal(&r);
    for (size_t t = 0; t < VT_LAB_T; t++) c->target[t] = (int)rng_integers(&r, 0, VT_LAB_V);
}

void lab_in_float(lab_case *c)
{
    for (size_t i = 0; i < LAB_ENTRIES; i++) c->at[i] = (double)(float)c->at[i];
    c->temperature = (double)(float)c->temperature;
    c->in_float = true;
}

const char *lab_entry(size_t i, int *row, int *col)
{
    size_t k = sizeof tensors / sizeof *tensors - 1;
    while (tensors[k].at > i) k--;
    const int within = (int)(i - tensors[k].at);
    *row = within / tensors[k].cols;
    *col = within % tensors[k].cols;
    return tensors[k].name;
}
