/* work.c -- see work.h. */
#include "bench/work.h"

double work_linear(double N, double C, double OC) { return 2 * N * C * OC; }

double work_attention(double B, double T, double NH, double HS)
{
    return 4 * HS * (B * NH * T * (T + 1) / 2);
}

double work_step_flop(const gpt_config *z, int B, int T)
{
    const double N = (double)B * (double)T, C = z->C, FF = z->FF;
    const double layer = work_linear(N, C, 3 * C) + work_linear(N, C, C) +
                         work_linear(N, C, FF) + work_linear(N, FF, C) +
                         work_attention(B, T, z->NH, C / (double)z->NH);
    return 3 * ((double)z->L * layer + work_linear(N, C, z->V));
}

double work_step_bytes(const gpt_config *z) { return 28 * (double)gpt_parameter_count(z); }

double work_token_bytes(const gpt_config *z)
{
    const double C = z->C, tables = C * ((double)z->V + (double)z->T);
    const double head = z->tied ? C * (double)z->V : 0;     /* untied it is counted already */
    return 4 * ((double)gpt_parameter_count(z) - tables + head);
}
