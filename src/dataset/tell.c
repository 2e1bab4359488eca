/* Progress reports and messages while a dataset is written. */
#include "dataset/writer.h"

int og__writing_goes_on(const struct og_observer *observer, const char *stage, const char *unit,
                        int64_t done, int64_t total, struct og_err *err)
{
    const struct og_progress p = {.size = sizeof(p),
                                  .stage = stage,
                                  .unit = unit,
                                  .done = (uint64_t)done,
                                  .total = (uint64_t)total};
    if (observer && observer->progress)
        observer->progress(observer->arg, &p);
    if (observer && og__stop_requested(observer->stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted: nothing was written");
    return 0;
}
