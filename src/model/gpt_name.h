/* gpt_name.h -- how a compilation of the wiring names its functions: see gpt.h. */
#ifndef GPT_NAME_H
#define GPT_NAME_H

#if   VT_FAST
#define GPT(name) gpt_##name##_fast
#elif VT_SCALAR == 32
#define GPT(name) gpt_##name##_f32
#elif VT_SCALAR == 64
#define GPT(name) gpt_##name##_f64
#elif VT_SCALAR == 128
#define GPT(name) gpt_##name##_c128
#elif VT_SCALAR == 113
#define GPT(name) gpt_##name##_f128
#endif

#endif
