/* Predicts what workers that exchange rows will do. Each owner's policy is counted over the
 * requests of all in the first epoch (plan/partitioned.h), as in training. */
#ifndef OG_RUN_PLAN_EXCHANGE_H
#define OG_RUN_PLAN_EXCHANGE_H

#include "session/session.h"

#include <jansson.h>

/* *out: "exchange" of a plan, a new reference. And s->predicted is what the first worker does;
 * NULL, where memory has no room for counting a round. The session is that of the first worker,
 * open with its samplers. */
OG_MUST_CHECK int og__plan_exchange(struct og_session *s, json_t **out, struct og_err *err);

#endif
