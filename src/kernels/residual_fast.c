/* residual_fast.c -- the residual sum, to be replaced by the vectorised one. */
#include <stddef.h>
typedef size_t residual_fast_is_not_empty;
