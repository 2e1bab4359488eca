/* Memory of the test's own that a GPU reads and writes in place. */
#ifndef LENT_MEMORY_H
#define LENT_MEMORY_H

#include "nn/device/backend.h"

/* Called before anything is taken from the heap. It makes all of the heap one mapping, which is
 * there already, and so the stack. */
void og__lent_memory_prepare(void);
/* All that this process can write, and its constants, once. Many GPUs read what is page-locked and
 * nothing else of the host's. */
void og__lent_memory_begin(struct og_nn_backend *be);

#endif
