/* Loads the CUDA plugin on demand, so that one command serves machines with and without it. */
#include "device/device.h"

#include "base/base.h"
#include "base/plugin.h"

#include <dlfcn.h>
#include <pthread.h>

#define PLUGIN "liboutgrow_cuda.so"
#define HINT   "train with --device cpu, or see docs/guides/gpu.md for what CUDA needs"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct og_device_ops *loaded; /* guarded by lock; never unloaded */

static int load(uint64_t kernels, struct og_err *err)
{
    void *library = og__plugin_open(PLUGIN, "OUTGROW_CUDA", RTLD_LOCAL);
    if (!library)
        return og__fail(err, -ENOTSUP, HINT, "device cuda: %s", dlerror());
    const struct og_device_ops *ops = dlsym(library, "og_cuda_device");
    const uint64_t *print = dlsym(library, "og_cuda_kernels");
    if (ops && ops->version == OG__DEVICE_VERSION && print && *print == kernels) {
        loaded = ops;
        return 0;
    }
    dlclose(library);
    if (!ops)
        return og__fail(err, -ENOTSUP, "OUTGROW_CUDA names " PLUGIN "; unset, it is looked for",
                        "device cuda: what was loaded is no plugin of outgrow");
    return og__fail(err, -ENOTSUP, "install both from the same build",
                    "device cuda: " PLUGIN " is of another version of outgrow");
}

int og__device_cuda(uint64_t kernels, const struct og_device_ops **out, struct og_err *err)
{
    char why[256];
    pthread_mutex_lock(&lock);
    int rc = loaded ? 0 : load(kernels, err);
    *out = loaded;
    pthread_mutex_unlock(&lock);
    if (rc == 0 && (*out)->count(why, sizeof(why)) == 0)
        rc = og__fail(err, -ENOTSUP, HINT, "device cuda: %s", why);
    return rc;
}
