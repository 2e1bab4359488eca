/* Transfers between GPUs by NCCL's grouped send and receive. Its reductions are not used: their
 * order is NCCL's. Its calls do not block, so that no process waits for ever for one that has ended. */
#include "device/nccl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if __has_include(<nccl.h>)

#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <time.h>

static_assert(sizeof(ncclUniqueId) <= OG__GROUP_ID, "an id of NCCL's fits");

#define LIBRARY "libnccl.so.2"
/* Seconds: ranks begin together what they exchange, so much later one has ended, or hangs. */
#define PATIENCE 30.0

struct og__nccl {
    ncclComm_t comm;
    int rank, n;
};

/* ==== the library ==== */

#define FUNCTIONS(each)                                                                        \
    each(ncclGetErrorString) each(ncclGetUniqueId) each(ncclCommInitRankConfig)                \
    each(ncclCommAbort) each(ncclCommGetAsyncError) each(ncclGroupStart) each(ncclGroupEnd)    \
    each(ncclSend) each(ncclRecv)
#define MEMBER(name) decltype(&::name) name;
static struct {
    FUNCTIONS(MEMBER)
} nccl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool tried, loaded; /* guarded by lock; never unloaded */
static char missing[OG__NCCL_WHY];

/* OUTGROW_NCCL names the library; a name that does not exist disables it. */
static bool load(void)
{
    const char *requested = getenv("OUTGROW_NCCL");
    void *library = dlopen(requested ? requested : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(missing, sizeof(missing), "%s", dlerror());
        return false;
    }
#define FIND(name)                                                                          \
    nccl.name = reinterpret_cast<decltype(nccl.name)>(dlsym(library, #name));               \
    if (!nccl.name) {                                                                       \
        snprintf(missing, sizeof(missing), "%s has no " #name, requested ? requested : LIBRARY);    \
        return false;                                                                       \
    }
    FUNCTIONS(FIND)
    return true;
}

bool og__nccl_there(char *why)
{
    pthread_mutex_lock(&lock);
    if (!tried)
        loaded = load();
    tried = true;
    if (!loaded)
        snprintf(why, OG__NCCL_WHY, "%s", missing);
    const bool there = loaded;
    pthread_mutex_unlock(&lock);
    return there;
}

/* ==== waiting ==== */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool say(ncclResult_t r, const char *what, char *why)
{
    snprintf(why, OG__NCCL_WHY, "NCCL: %s: %s", what, nccl.ncclGetErrorString(r));
    return false;
}

static bool is_late(double begun, const char *what, char *why)
{
    if (now() - begun < PATIENCE)
        return false;
    snprintf(why, OG__NCCL_WHY, "NCCL: %s: another worker does not answer", what);
    return true;
}

/* Waits, with a time limit, until NCCL has started the request or refused it. */
static bool is_asked(const og__nccl *g, ncclResult_t requested, const char *what, char *why)
{
    const double begun = now();
    while (requested == ncclInProgress) {
        ncclResult_t state = ncclSuccess;
        requested = nccl.ncclCommGetAsyncError(g->comm, &state);
        requested = requested == ncclSuccess ? state : requested;
        if (is_late(begun, what, why))
            return false;
    }
    return requested == ncclSuccess || say(requested, what, why);
}

/* ==== groups ==== */

bool og__nccl_id(unsigned char id[OG__GROUP_ID], char *why)
{
    ncclUniqueId own;
    const ncclResult_t r = nccl.ncclGetUniqueId(&own);
    if (r != ncclSuccess)
        return say(r, "id", why);
    memset(id, 0, OG__GROUP_ID);
    memcpy(id, &own, sizeof(own));
    return true;
}

og__nccl *og__nccl_open(const unsigned char *id, int rank, int n, char *why)
{
    og__nccl *g = (og__nccl *)calloc(1, sizeof(*g));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId own;
    snprintf(why, OG__NCCL_WHY, "no memory");
    if (!g)
        return NULL;
    config.blocking = 0;
    memcpy(&own, id, sizeof(own));
    g->rank = rank;
    g->n = n;
    const ncclResult_t r = nccl.ncclCommInitRankConfig(&g->comm, n, own, rank, &config);
    if (is_asked(g, r, "group", why))
        return g;
    og__nccl_close(g);
    return NULL;
}

void og__nccl_close(og__nccl *g)
{
    if (g && g->comm)
        nccl.ncclCommAbort(g->comm);
    free(g);
}

/* ==== pieces ==== */

static bool goes_on(ncclResult_t r)
{
    return r == ncclSuccess || r == ncclInProgress;
}

static ncclResult_t ask_all(og__nccl *g, const struct og_piece *send,
                            const struct og_piece *receive, cudaStream_t stream, size_t *bytes)
{
    ncclResult_t r = nccl.ncclGroupStart();
    for (int i = 0; i < g->n && goes_on(r); i++) {
        if (i == g->rank)
            continue;
        *bytes += send[i].bytes + receive[i].bytes;
        if (send[i].bytes > 0)
            r = nccl.ncclSend(send[i].at, send[i].bytes, ncclChar, i, g->comm, stream);
        if (receive[i].bytes > 0 && goes_on(r))
            r = nccl.ncclRecv(receive[i].at, receive[i].bytes, ncclChar, i, g->comm, stream);
    }
    const ncclResult_t ended = nccl.ncclGroupEnd();
    return goes_on(r) ? ended : r;
}

bool og__nccl_exchange(og__nccl *g, const struct og_piece *send, const struct og_piece *receive,
                       cudaStream_t stream, size_t *bytes, char *why)
{
    return is_asked(g, ask_all(g, send, receive, stream, bytes), "exchange", why);
}

bool og__nccl_await(og__nccl *g, cudaStream_t stream, char *why)
{
    const double begun = now();
    cudaError_t e;
    while ((e = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        ncclResult_t state = ncclSuccess;
        const ncclResult_t r = nccl.ncclCommGetAsyncError(g->comm, &state);
        if (r != ncclSuccess || !goes_on(state))
            return say(r != ncclSuccess ? r : state, "exchange", why);
        if (is_late(begun, "exchange", why))
            return false;
    }
    if (e != cudaSuccess)
        snprintf(why, OG__NCCL_WHY, "exchange: %s", cudaGetErrorString(e));
    return e == cudaSuccess;
}

#else /* built without it */

bool og__nccl_there(char *why)
{
    snprintf(why, OG__NCCL_WHY, "the plugin was built without NCCL");
    return false;
}

bool og__nccl_id(unsigned char *, char *why)
{
    return og__nccl_there(why);
}

og__nccl *og__nccl_open(const unsigned char *, int, int, char *why)
{
    og__nccl_there(why);
    return NULL;
}

void og__nccl_close(og__nccl *) {}

bool og__nccl_exchange(og__nccl *, const struct og_piece *, const struct og_piece *, cudaStream_t,
                       size_t *, char *why)
{
    return og__nccl_there(why);
}

bool og__nccl_await(og__nccl *, cudaStream_t, char *why)
{
    return og__nccl_there(why);
}

#endif
