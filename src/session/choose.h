/* choose: how the features come to the batches, where the user left that to the program
 * (--policy auto).
 *
 *   profiling ──────────────> candidates ──────────────> the fastest, and why
 *   some of the run's         each with the cache
 *   batches, sampled          that memory has room for
 */
#ifndef OG_CHOOSE_H
#define OG_CHOOSE_H

#include "choose/profiling.h"
#include "session/session.h"

/* Do candidates count what this session reads? Nobody asks how long an evaluation takes, and a
 * graph without feature rows has nothing to count. The dataset is open. */
bool og__exec_plans_are_counted(const struct og_session *s);

/* Settles what *exec leaves open of policy, layout and turns; s->compared says what was compared.
 * With topology, and batches known; nothing else of the session changes. Where the options leave
 * the topology's place open, and it is in memory, execution plans with it on disk are compared too.
 * Then *exec may say so, and the caller moves it there. */
OG_MUST_CHECK int og__choose(struct og_session *s, const struct og_profiling *profiling,
                             struct og_exec_plan *exec, struct og_err *err);

#endif
