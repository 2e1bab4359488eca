/* What a session has decided and expects, as JSON (docs/reference/json.md). It is plan.json,
 * `outgrow plan --json`, and a part of summary.json. */
#ifndef OG_PLAN_JSON_H
#define OG_PLAN_JSON_H

#include "session/session.h"

#include <jansson.h>

/* Policy, layout, topology, memory, predicted and candidates. The prediction is null while it is
 * not known. Candidates are what --policy auto compared, the best first; empty where there was
 * nothing to choose. New reference. */
json_t *og__session_plan_json(const struct og_session *s);

/* og_plan; quick: estimates from a few batches what only a long read would count exactly. */
OG_MUST_CHECK int og__plan(const char *dataset, const struct og_options *opt, bool quick,
                           const struct og_observer *observer, char **out, struct og_err *err);

#endif
