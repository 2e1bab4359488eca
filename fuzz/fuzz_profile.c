/* The disk profile: any bytes either are no profile or give figures to plan with. */
#include "fuzz.h"

#include "io/io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_disk_profile p = {0};
    if (!og__profile_parse((const char *)data, size, &p))
        return 0;
    if (!(p.iops >= 1) || !(p.bandwidth >= 1e3) || !(p.fresh >= 1e3) || !(p.write >= 1e3) ||
        p.depth < 1 || p.fault_threads < 1 || og__profile_gap(&p) > OG_GIB)
        abort();
    return 0;
}
