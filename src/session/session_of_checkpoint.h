/* A session that applies a trained model. */
#ifndef OG_TRAIN_SESSION_OF_CHECKPOINT_H
#define OG_TRAIN_SESSION_OF_CHECKPOINT_H

#include "session/session.h"

/* Opens it by the checkpoint, as far as the options are open. Its parameters are not loaded yet.
 * want: OG__WANT_* except a model. nodes: with OG__WANT_EVERY, og__graph_nodes in
 * place of every node, "" for none; or NULL. */
OG_MUST_CHECK int og__session_of_checkpoint(struct og_session **out, const char *dataset,
                                            const char *checkpoint, const struct og_options *opt,
                                            unsigned want, const char *nodes,
                                            const struct og_observer *observer, struct og_err *err);

/* Sets the fanout to all neighbours, in as many hops as the checkpoint has layers. */
OG_MUST_CHECK int og__session_take_all(struct og_options *opt, const char *checkpoint,
                                       struct og_err *err);

#endif
