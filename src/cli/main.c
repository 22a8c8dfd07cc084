/* main.c -- the command `vitrine`. */
#include <stdio.h>
#include "version.h"

int main(void)
{
    printf("vitrine %s (%s)\n", VITRINE_VERSION, VITRINE_COMMIT);
    return 0;
}
