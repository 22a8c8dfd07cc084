/* huge.h -- large pages for large blocks.
 *
 * A block is given to a process page by page, at the first touch; with pages of
 * 2 MiB that happens 512 times less often.
 */
#ifndef HUGE_H
#define HUGE_H

#include <stddef.h>

/* Asks for large pages where the n bytes at p, fresh of malloc or realloc, hold some.
 * The system may refuse; nothing but time depends on it. */
void huge_advise(void *p, size_t n);

#endif
