/* A session that applies a trained model. */
#ifndef OG_TRAIN_SESSION_OF_CHECKPOINT_H
#define OG_TRAIN_SESSION_OF_CHECKPOINT_H

#include "session/session.h"

/* Opens it by the checkpoint, as far as the options are open. Its parameters are not loaded yet.
 * more: OG__WANT_* except features and a model. */
OG_MUST_CHECK int og__session_of_checkpoint(struct og_session **out, const char *dataset,
                                            const char *checkpoint, const struct og_options *opt,
                                            unsigned more, const struct og_observer *observer,
                                            struct og_err *err);

#endif
