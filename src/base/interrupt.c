/* interrupt.c -- see interrupt.h. */
#include "base/interrupt.h"
#include <signal.h>

static volatile sig_atomic_t asked;

void interrupt_ask(int number) { asked = number; }
bool interrupt_asked(void)     { return asked != 0; }

vt_status interrupt_fail(vt_error *err)
{
    return fail(err, VT_INTERRUPTED, "interrupted by signal %d; nothing is left behind", (int)asked);
}

vt_status interrupt_check(vt_error *err)
{
    return interrupt_asked() ? interrupt_fail(err) : VT_OK;
}
