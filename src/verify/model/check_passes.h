/* check_passes.h -- check_pass.h for every scalar; `scalar` is double behind it. */
#ifndef CHECK_PASSES_H
#define CHECK_PASSES_H

#undef VT_SCALAR
#define VT_SCALAR 32
#include "verify/model/check_pass.h"
#undef VT_SCALAR
#define VT_SCALAR 128
#include "verify/model/check_pass.h"
#if VT_FLOAT128
#undef VT_SCALAR
#define VT_SCALAR 113
#include "verify/model/check_pass.h"
#endif
#undef VT_SCALAR
#define VT_SCALAR 64
#include "verify/model/check_pass.h"

#endif
