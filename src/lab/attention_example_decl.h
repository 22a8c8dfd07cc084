/* attention_example_decl.h -- the functions of attention_example.h for one
 * scalar; that header includes this once for each.
 *
 * `block` holds attention_example_count(T, C, H) scalars, inputs written.
 */

/* Q ... out from Xn and the weights. */
void ATT(forward)(ATT_SCALAR *block, int T, int C, int H);

/* dWo ... dXn from dOut, after forward. */
void ATT(backward)(ATT_SCALAR *block, int T, int C, int H);

/* sum_{t,i} out[t,i] dOut[t,i], after forward: the number whose gradients backward
 * computes. */
ATT_SCALAR ATT(loss)(const ATT_SCALAR *block, int T, int C, int H);

#undef ATT_SCALAR
#undef ATT
