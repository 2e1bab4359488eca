/* What a session has decided and expects, as JSON: plan.json, `outgrow plan --json`, and a part of
 * summary.json (docs/json.md). */
#ifndef OG_PLAN_JSON_H
#define OG_PLAN_JSON_H

#include "train/session.h"

#include <jansson.h>

/* Policy, layout, topology, memory, predicted (null while it is not known), candidates (what
 * --policy auto compared, the best first; empty where there was nothing to choose). New reference.
 */
json_t *og__session_plan_json(const struct og_session *s);

#endif
