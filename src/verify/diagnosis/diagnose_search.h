/* diagnose_search.h -- what the parts of a diagnosis share: what was found, what is
 * beyond its bound, and the hypothesis that explains it.  Internal to diagnose*.c.
 */
#ifndef DIAGNOSE_SEARCH_H
#define DIAGNOSE_SEARCH_H

#include "verify/diagnosis/diagnose.h"

/* A hypothesis: a fault, the nodes that have it, and the passes. */
typedef struct hypothesis {
    fault      fault;
    fault_kind kind;
    int        mode;            /* one of FAULT_IN_... */
    int        node;            /* the last of its nodes */
    int        nodes;           /* how many */
    int        rank;            /* the order in which they are preferred */
    double     residual;        /* rms of found - predicted, in bounds */
    char       named[40];       /* of a value: "sqrt(HS)", "0.7979" */
} hypothesis;

enum { SEARCH_FIRST_GENERIC = 1000 };   /* ranks: rules that know the node come first */

/* How near to what was found: the largest share of its allowance that an element took, the
 * sum of squares over `count` of them, and whether the fault is seen. */
typedef struct agreement { double share, squares; size_t count; bool seen; } agreement;

typedef struct search {
    const op_case  *c;
    const op_found *f;
    const graph    *g;
    fault_work work;
    double u;
    double *block;                      /* all of the following */
    double *x, *dx;                     /* predicted */
    double *begin, *kept;               /* gradients before the backward pass; before a node */
    double *x2, *dx2;                   /* a second prediction */
    bool   *flags;
    bool   *bad_x, *bad_dx;             /* by tensor: something beyond its bound */
    bool   *member;                     /* by node: has the fault */
    bool   *reach;                      /* [tensor][tensor]: whose gradient a gradient flows to */
    int    *done;                       /* by tensor: the node after which its gradient stands */
    int     kept_at;                    /* node whose state is in `kept`; -1 */
    int     failing, failing_x, failing_dx;
    bool    found_x, found_dx;          /* some output, some gradient was computed */
    agreement outputs;                  /* of the right ones; seen: all agree */
    bool    outputs_known;
    double  spent, most;                /* work, in multiplications */
    hypothesis best, other;             /* other: of another kind, that explains as well */
    bool    has_best, has_other;
} search;

/* One element: found and right, with `start`; the bound. */
typedef struct element { double found, right, bound; } element;
element search_element(const search *s, int tensor, bool gradient, size_t i);
bool    element_bad(const element *e);              /* beyond its bound; NaN is */

/* Whether what failed is what a fault of the mode could have changed. */
bool search_possible(const search *s, int mode);
/* Tries h in its mode with the members set; true where it explains: s->best. */
bool search_try(search *s, hypothesis *h);
/* With a value that is estimated, from h->fault.value, the right one. */
bool search_try_value(search *s, hypothesis *h);
/* A factor of the contributions to `slots`. */
void search_try_factor(search *s, hypothesis *h, unsigned slots);
int  search_lowest(unsigned slots);

/* Looks for a hypothesis that explains all; s->has_best says whether there is one. */
void search_hypotheses(search *s);

/* Patterns of single tensors, where no hypothesis explains: kind, sentence, hint and
 * `explained` of *d; false: none. */
bool search_patterns(const search *s, diagnosis *d);

/* All that is wrong is gradients that hold what they held before, to the bit. */
bool search_untouched(const search *s, diagnosis *d);

/* Sentence and hint of a hypothesis. */
void search_words(const search *s, const hypothesis *h, diagnosis *d);

/* The tensor whose gradient is meant: "dq"; or its name. */
void search_name(char *out, size_t size, const search *s, int tensor, bool gradient);

/* A number that a factor is likely to be; tolerance is absolute.  false: none. */
bool search_factor(const search *s, int node, int slot, double c, double tolerance, double *value,
                   fault_kind *kind, char *name, size_t size);

#endif
