/* interrupt.h -- a signal's wish to stop, seen by whatever waits for another process.
 *
 * A program whose handler calls interrupt_ask gets its library calls back: they end the
 * process they wait for, remove their files, and return VT_INTERRUPTED.  The library
 * installs no handler.  One flag for the process: so is a signal.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "base/status.h"

/* Async-signal-safe.  `number`: the signal's; 0 takes the wish back. */
void interrupt_ask(int number);
bool interrupt_asked(void);
/* VT_INTERRUPTED, and its line. */
vt_status interrupt_fail(vt_error *err);

#endif
