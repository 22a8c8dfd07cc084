/* gradcheck_chain.h -- the complex step of many entries, each run no further than it
 * must: derivatives of operations, put together by the chain rule.
 */
#ifndef GRADCHECK_CHAIN_H
#define GRADCHECK_CHAIN_H

#include "verify/model/gradcheck_probes.h"

/* Whether the entries' derivatives cost less so than by as many runs of the model. */
bool chain_pays(const probes *w);
/* Fills `step` of all; stops where w->stop says so.  Uses all of w's complex models,
 * whose next run has to begin at the embedding.  VT_TOO_LARGE. */
VT_MUST_CHECK vt_status chain_run(probes *w, vt_error *err);

#endif
