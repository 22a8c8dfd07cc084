/* json_grammar.h -- RFC 8259's grammar, which says yes or no, for more than one target.
 */
#ifndef JSON_GRAMMAR_H
#define JSON_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether p[0 .. n-1] is one value, and how deep its brackets stand.  `lone`: surrogates
 * in \u escapes may stand alone (section 8.2 leaves it open). */
bool json_grammar(const uint8_t *p, size_t n, bool lone, int *deepest);

#endif
