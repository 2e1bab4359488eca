/* The plugin for CUDA: loaded when somebody asks for it, so that one command serves machines with
 * and without. */
#include "device/device.h"

#include "base/base.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PLUGIN "liboutgrow_cuda.so"
#define HINT   "train with --device cpu, or see docs/devices.md for what CUDA needs"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct og_device_ops *loaded; /* guarded by lock; never unloaded */

/* OUTGROW_CUDA names the file; else the loader looks where it looks for libraries. */
static int load(struct og_err *err)
{
    const char *path = getenv("OUTGROW_CUDA");
    void *library = dlopen(path ? path : PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return og__fail(err, -ENOTSUP, HINT, "device cuda: %s", dlerror());
    const struct og_device_ops *ops = dlsym(library, "og_cuda_device");
    if (!ops || ops->version != OG__DEVICE_VERSION) {
        dlclose(library);
        return og__fail(err, -ENOTSUP, "install both from the same build",
                        "device cuda: %s is of another version of outgrow", path ? path : PLUGIN);
    }
    loaded = ops;
    return 0;
}

int og__device_cuda(const struct og_device_ops **out, struct og_err *err)
{
    char why[256];
    pthread_mutex_lock(&lock);
    int rc = loaded ? 0 : load(err);
    *out = loaded;
    pthread_mutex_unlock(&lock);
    if (rc == 0 && (*out)->count(why, sizeof(why)) == 0)
        rc = og__fail(err, -ENOTSUP, HINT, "device cuda: %s", why);
    return rc;
}
