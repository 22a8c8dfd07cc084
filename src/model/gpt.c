/* gpt.c -- the wiring. */
typedef int vt_gpt_is_not_empty;
