/* bits.h -- what the program `bits` is made of. */
#ifndef BITS_H
#define BITS_H

/* bits dump FOLDER INPUTS.json [MODEL TEXT]: writes into FOLDER
 *
 *   tensors.f64, tensors.txt    every number in double, little-endian; and a line
 *                               for each tensor: example|window NAME COUNT
 *   steps.f64, steps.txt        derivatives by complex step, and a line for each:
 *                               example|window PARAMETER ENTRY
 *   tokens.txt                  the window: a line for each token, ID TARGET
 *
 * Returns main's status. */
int bits_dump(int argc, char **argv);

/* bits compare A B: the first tensor of these two folders that is not the same to
 * the bit, and the largest difference of their complex steps.  0: the same. */
int bits_compare(int argc, char **argv);

#endif
