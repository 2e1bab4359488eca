/* choose: how the features come to the batches, where the user left that to the program
 * (--policy auto).
 *
 *   pilot ──> some of the run's batches, sampled ──> candidates, each with the cache that the
 * memory (an epoch where that is quick)          plan has for it ──> the fastest, and why
 */
#ifndef OG_CHOOSE_H
#define OG_CHOOSE_H

#include "choose/pilot.h"
#include "session/session.h"

/* Do candidates count what this session reads? Nobody asks how long an evaluation takes; of types
 * they count no rows that workers exchange, and where none has rows nothing. The dataset is open.
 */
bool og__ways_are_counted(const struct og_session *s);

/* Settles what *way leaves open of policy, layout and turns; s->choice says what was compared. With
 * topology, and batches known; nothing else of the session changes. Where the options leave open
 * where the structure is, and it is in memory, ways with it on disk are compared too: then *way may
 * say so, and it is the caller's to bring it there. */
OG_MUST_CHECK int og__choose(struct og_session *s, const struct og_pilot *pilot, struct og_way *way,
                             struct og_err *err);

#endif
