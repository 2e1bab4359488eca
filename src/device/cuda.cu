/* The device for CUDA: memory, streams and events of the runtime, products by cuBLASLt, sorts by
 * CUB. Kernels come from a table by number, supplied by the code that owns them. */
#include "base/choices.h"
#include "device/nccl.h"

#include <cublasLt.h>
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" const void *const og__cuda_kernel[];
extern "C" const uint32_t og__cuda_n_kernels;

/* Workspace of cuBLASLt for a product. Always the same, since the order of its sums depends on
 * it. */
#define WORKSPACE ((size_t)32 << 20)

struct og_device {
    int number;
    cublasLtHandle_t blas;
    void *workspace;                    /* of products */
    const struct og_stream *multiplies; /* the one stream that has it; NULL: none yet */
    pthread_mutex_t lock;
    struct og_device_counts counts; /* guarded by lock */
};
struct og_stream {
    struct og_device *device;
    cudaStream_t stream;
};
struct og_event {
    struct og_device *device;
    cudaEvent_t event;
};
struct og_device_ring {
    struct og_device *device;
    og__nccl *nccl;
};

/* ==== failing ==== */

static int fail(struct og_err *err, int code, const char *what, const char *why)
{
    if (!err || err->code != 0)
        return code;
    err->code = code;
    snprintf(err->message, sizeof(err->message), "device cuda: %s: %s", what, why);
    err->hint[0] = 0;
    if (code == -ENOMEM)
        snprintf(err->hint, sizeof(err->hint), "a smaller --batch or --hidden takes less");
    return code;
}

static int check(cudaError_t e, const char *what, struct og_err *err)
{
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError(); /* else the thread's next call that looks for one finds this */
    return fail(err, e == cudaErrorMemoryAllocation ? -ENOMEM : -EIO, what, cudaGetErrorString(e));
}

static int check_blas(cublasStatus_t s, struct og_err *err)
{
    return s == CUBLAS_STATUS_SUCCESS ? 0 : fail(err, -EIO, "product", cublasLtGetStatusString(s));
}

static void tally(struct og_device *d, uint64_t *count, uint64_t n)
{
    pthread_mutex_lock(&d->lock);
    *count += n;
    pthread_mutex_unlock(&d->lock);
}

/* Selects the device; a setting of the calling thread. */
static int use(const struct og_device *d, struct og_err *err)
{
    return check(cudaSetDevice(d->number), "device", err);
}

/* ==== devices ==== */

/* Were kernels compiled for the first GPU? */
static bool new_enough(int number, char *why, size_t size)
{
    int major = 0, minor = 0;
    const cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number);
    if (e != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number) != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, size, "the GPU does not say what it is");
        return false;
    }
    if (10 * major + minor >= OG_LEAST_GPU)
        return true;
    snprintf(why, size, "the GPU is of compute capability %d.%d, the plugin is built for %d.%d on",
             major, minor, OG_LEAST_GPU / 10, OG_LEAST_GPU % 10);
    return false;
}

static int cuda_count(char *why, size_t size)
{
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n > 0)
        return new_enough(0, why, size) ? n : 0;
    cudaGetLastError();
    snprintf(why, size, "%s", e == cudaSuccess ? "there is no GPU" : cudaGetErrorString(e));
    return 0;
}

/* ==== memory ==== */

static void *cuda_alloc(struct og_device *d, size_t bytes, struct og_err *err)
{
    void *p = NULL;
    char what[64];
    snprintf(what, sizeof(what), "%zu bytes of memory", bytes);
    if (use(d, err) < 0 || check(cudaMalloc(&p, bytes > 0 ? bytes : 1), what, err) < 0)
        return NULL;
    pthread_mutex_lock(&d->lock);
    d->counts.used += bytes;
    d->counts.peak = d->counts.used > d->counts.peak ? d->counts.used : d->counts.peak;
    pthread_mutex_unlock(&d->lock);
    return p;
}

static void cuda_release(struct og_device *d, void *p, size_t bytes)
{
    if (!p || use(d, NULL) < 0)
        return;
    cudaFree(p);
    pthread_mutex_lock(&d->lock);
    d->counts.used -= bytes;
    pthread_mutex_unlock(&d->lock);
}

static void *cuda_pin(struct og_device *d, size_t bytes, struct og_err *err)
{
    void *p = NULL;
    if (use(d, err) < 0 || check(cudaMallocHost(&p, bytes), "pinned memory", err) < 0)
        return NULL;
    return p;
}

static void cuda_unpin(struct og_device *d, void *p, size_t bytes)
{
    (void)bytes;
    if (p && use(d, NULL) == 0)
        cudaFreeHost(p);
}

/* The address is valid on the host and the device. */
static int cuda_lend(struct og_device *d, const void *p, size_t bytes, struct og_err *err)
{
    const int rc = use(d, err);
    if (rc < 0 || bytes == 0)
        return rc;
    return check(cudaHostRegister((void *)p, bytes, cudaHostRegisterDefault), "pinning memory",
                 err);
}

static void cuda_end_lending(struct og_device *d, const void *p, size_t bytes)
{
    if (bytes > 0 && use(d, NULL) == 0)
        cudaHostUnregister((void *)p);
}

/* Two opens of one number are one GPU. Otherwise enables access to all of this process's memory on
 * the peer. */
static int cuda_reach(struct og_device *d, struct og_device *peer, struct og_err *err)
{
    int can = 0;
    if (d->number == peer->number)
        return 0;
    int rc = use(d, err);
    rc = rc < 0 ? rc : check(cudaDeviceCanAccessPeer(&can, d->number, peer->number), "reach", err);
    if (rc < 0)
        return rc;
    if (!can) {
        char what[64];
        snprintf(what, sizeof(what), "GPU %d cannot read the memory of GPU %d", d->number,
                 peer->number);
        return fail(err, -ENOTSUP, what, "name others with --devices, or only one");
    }
    const cudaError_t e = cudaDeviceEnablePeerAccess(peer->number, 0);
    if (e == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
        return 0;
    }
    return check(e, "reach", err);
}

/* ==== open and close ==== */

static void cuda_close(struct og_device *d)
{
    if (d) {
        cuda_release(d, d->workspace, WORKSPACE);
        if (d->blas)
            cublasLtDestroy(d->blas);
        pthread_mutex_destroy(&d->lock);
    }
    free(d);
}

static int cuda_open(struct og_device **out, int number, struct og_err *err)
{
    *out = NULL;
    struct og_device *d = (struct og_device *)calloc(1, sizeof(*d));
    if (!d)
        return fail(err, -ENOMEM, "open", "no memory");
    d->number = number;
    pthread_mutex_init(&d->lock, NULL);
    char why[128];
    int rc = use(d, err);
    if (rc == 0 && !new_enough(number, why, sizeof(why)))
        rc = fail(err, -ENOTSUP, "open", why);
    rc = rc < 0 ? rc : check_blas(cublasLtCreate(&d->blas), err);
    if (rc == 0 && !(d->workspace = cuda_alloc(d, WORKSPACE, err)))
        rc = -ENOMEM;
    if (rc < 0)
        cuda_close(d);
    else
        *out = d;
    return rc;
}

/* ==== streams and events ==== */

static void cuda_end_stream(struct og_stream *s)
{
    if (!s)
        return;
    if (s->device->multiplies == s)
        s->device->multiplies = NULL;
    if (use(s->device, NULL) == 0)
        cudaStreamDestroy(s->stream);
    free(s);
}

static int cuda_stream(struct og_device *d, struct og_stream **out, struct og_err *err)
{
    *out = NULL;
    struct og_stream *s = (struct og_stream *)calloc(1, sizeof(*s));
    if (!s)
        return fail(err, -ENOMEM, "stream", "no memory");
    s->device = d;
    int rc = use(d, err);
    if (rc == 0) /* not bound to the stream of everybody */
        rc = check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), "stream", err);
    if (rc < 0)
        free(s);
    else
        *out = s;
    return rc;
}

static int cuda_event(struct og_device *d, struct og_event **out, struct og_err *err)
{
    *out = NULL;
    struct og_event *e = (struct og_event *)calloc(1, sizeof(*e));
    if (!e)
        return fail(err, -ENOMEM, "event", "no memory");
    e->device = d;
    int rc = use(d, err);
    if (rc == 0)
        rc = check(cudaEventCreateWithFlags(&e->event, cudaEventDisableTiming), "event", err);
    if (rc < 0)
        free(e);
    else
        *out = e;
    return rc;
}

static void cuda_end_event(struct og_event *e)
{
    if (e && use(e->device, NULL) == 0)
        cudaEventDestroy(e->event);
    free(e);
}

static int cuda_record(struct og_event *e, struct og_stream *s, struct og_err *err)
{
    const int rc = use(s->device, err);
    return rc < 0 ? rc : check(cudaEventRecord(e->event, s->stream), "record", err);
}

static int cuda_follow(struct og_stream *s, struct og_event *e, struct og_err *err)
{
    const int rc = use(s->device, err);
    return rc < 0 ? rc : check(cudaStreamWaitEvent(s->stream, e->event, 0), "follow", err);
}

static int cuda_wait(struct og_event *e, struct og_err *err)
{
    const int rc = use(e->device, err);
    tally(e->device, &e->device->counts.waits, 1);
    return rc < 0 ? rc : check(cudaEventSynchronize(e->event), "wait", err);
}

static int cuda_finish(struct og_stream *s, struct og_err *err)
{
    const int rc = use(s->device, err);
    tally(s->device, &s->device->counts.waits, 1);
    return rc < 0 ? rc : check(cudaStreamSynchronize(s->stream), "wait", err);
}

/* ==== work of streams ==== */

static int cuda_copy(struct og_stream *s, void *to, const void *from, size_t bytes,
                     enum og__way way, struct og_err *err)
{
    const bool out = way == OG__TO_DEVICE;
    struct og_device_counts *n = &s->device->counts;
    const int rc = use(s->device, err);
    if (rc < 0)
        return rc;
    tally(s->device, &n->copies, 1);
    tally(s->device, out ? &n->bytes_to_device : &n->bytes_to_host, bytes);
    return check(cudaMemcpyAsync(to, from, bytes,
                                 out ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, s->stream),
                 "copy", err);
}

static int cuda_clear(struct og_stream *s, void *p, size_t bytes, struct og_err *err)
{
    const int rc = use(s->device, err);
    return rc < 0 ? rc : check(cudaMemsetAsync(p, 0, bytes, s->stream), "clear", err);
}

static int cuda_launch(struct og_stream *s, const struct og_launch *l, struct og_err *err)
{
    void *args[1] = {const_cast<void *>(l->args)};
    int rc = use(s->device, err);
    if (rc < 0 || l->blocks == 0)
        return rc;
    if (l->kernel->number >= og__cuda_n_kernels)
        return fail(err, -EINVAL, l->kernel->name, "the plugin has no such kernel");
    tally(s->device, &s->device->counts.launches, 1);
    tally(s->device, &s->device->counts.threads, (uint64_t)l->blocks * l->threads);
    tally(s->device, &s->device->counts.reads, l->reads);
    tally(s->device, &s->device->counts.writes, l->writes);
    tally(s->device, &s->device->counts.peer_reads, l->peer_reads);
    return check(cudaLaunchKernel(og__cuda_kernel[l->kernel->number], dim3(l->blocks),
                                  dim3(l->threads), args, 0, s->stream),
                 l->kernel->name, err);
}

/* ==== products ==== */

/* cuBLASLt counts by columns: there c is its transpose, b comes first, and its rows are c's columns.
 */
struct product {
    cublasLtMatmulDesc_t of;
    cublasLtMatrixLayout_t first, second, c;
    cublasLtMatmulPreference_t within;
};

static void release(struct product *p)
{
    cublasLtMatmulPreferenceDestroy(p->within);
    cublasLtMatrixLayoutDestroy(p->c);
    cublasLtMatrixLayoutDestroy(p->second);
    cublasLtMatrixLayoutDestroy(p->first);
    cublasLtMatmulDescDestroy(p->of);
}

#define LT_TRY(call)                  \
    do {                              \
        const int rc_ = check_blas(call, err); \
        if (rc_ < 0)                  \
            return rc_;               \
    } while (0)

/* cuBLASLt rounds the operands itself. */
static cublasComputeType_t compute_type(int compute)
{
    return compute == OG_COMPUTE_BF16   ? CUBLAS_COMPUTE_32F_FAST_16BF
           : compute == OG_COMPUTE_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                        : CUBLAS_COMPUTE_32F;
}

static int describe(struct product *p, const struct og_product_of *op, struct og_err *err)
{
    const cublasOperation_t first = op->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = op->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
    LT_TRY(cublasLtMatmulDescCreate(&p->of, compute_type(op->compute), CUDA_R_32F));
    LT_TRY(cublasLtMatmulDescSetAttribute(p->of, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                          sizeof(first)));
    LT_TRY(cublasLtMatmulDescSetAttribute(p->of, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                          sizeof(second)));
    if (op->bias) {
        LT_TRY(cublasLtMatmulDescSetAttribute(p->of, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias,
                                              sizeof(bias)));
        LT_TRY(cublasLtMatmulDescSetAttribute(p->of, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &op->bias,
                                              sizeof(op->bias)));
    }
    LT_TRY(cublasLtMatrixLayoutCreate(&p->first, CUDA_R_32F, op->b_transposed ? op->k : op->n,
                                      op->b_transposed ? op->n : op->k, (int64_t)op->ldb));
    LT_TRY(cublasLtMatrixLayoutCreate(&p->second, CUDA_R_32F, op->a_transposed ? op->m : op->k,
                                      op->a_transposed ? op->k : op->m, (int64_t)op->lda));
    LT_TRY(cublasLtMatrixLayoutCreate(&p->c, CUDA_R_32F, op->n, op->m, (int64_t)op->ldc));
    return 0;
}

/* Loads vectors of four where the shape allows. Memory is aligned to 64 bytes, so only the shape
 * decides. */
static uint32_t alignment(const void *p, size_t ld)
{
    return ((uintptr_t)p | ld * sizeof(float)) % 16 == 0 ? 16 : 4;
}

static int choose(struct product *p, const struct og_device *d, const struct og_product_of *op,
                  cublasLtMatmulHeuristicResult_t *out, struct og_err *err)
{
    const size_t workspace = WORKSPACE;
    const uint32_t a = alignment(op->b, op->ldb), b = alignment(op->a, op->lda);
    const uint32_t c = alignment(op->c, op->ldc);
    int n = 0;
    LT_TRY(cublasLtMatmulPreferenceCreate(&p->within));
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(
        p->within, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace)));
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(
        p->within, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof(a)));
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(
        p->within, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof(b)));
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(
        p->within, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof(c)));
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(
        p->within, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof(c)));
    LT_TRY(cublasLtMatmulAlgoGetHeuristic(d->blas, p->of, p->first, p->second, p->c, p->c,
                                          p->within, 1, out, &n));
    return n > 0 ? 0
                 : fail(err, -ENOTSUP, "product",
                        op->compute == OG_COMPUTE_F32
                            ? "cuBLASLt has no algorithm for it"
                            : "cuBLASLt has no algorithm for it, use --compute f32");
}

static int multiply(struct product *p, struct og_stream *s, const struct og_product_of *op,
                    struct og_err *err)
{
    const float one = 1, add = op->add ? 1 : 0;
    cublasLtMatmulHeuristicResult_t with;
    int rc = describe(p, op, err);
    rc = rc < 0 ? rc : choose(p, s->device, op, &with, err);
    if (rc < 0)
        return rc;
    if (s->device->multiplies && s->device->multiplies != s)
        return fail(err, -EINVAL, "product", "another stream has the memory for products");
    s->device->multiplies = s;
    tally(s->device, &s->device->counts.products, 1);
    return check_blas(cublasLtMatmul(s->device->blas, p->of, &one, op->b, p->first, op->a,
                                     p->second, &add, op->c, p->c, op->c, p->c, &with.algo,
                                     s->device->workspace, WORKSPACE, s->stream),
                      err);
}

static int cuda_multiply(struct og_stream *s, const struct og_product_of *op, struct og_err *err)
{
    struct product p = {};
    if (op->m == 0 || op->n == 0)
        return 0;
    int rc = use(s->device, err);
    rc = rc < 0 ? rc : multiply(&p, s, op, err);
    release(&p);
    return rc;
}

/* ==== sorts ==== */

static int bits_below(uint32_t bound)
{
    int bits = 0;
    for (uint32_t most = bound > 0 ? bound - 1 : 0; most > 0; most >>= 1)
        bits++;
    return bits > 0 ? bits : 1;
}

static cudaError_t sort(void *room, size_t *bytes, const struct og_sort *op, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(room, *bytes, op->key, op->sorted, op->value, op->moved,
                                           (int64_t)op->n, 0, bits_below(op->bound), stream);
}

static size_t cuda_sort_bytes(struct og_device *d, size_t n)
{
    struct og_sort op = {};
    size_t bytes = 0;
    op.n = n;
    op.bound = UINT32_MAX;
    if (use(d, NULL) < 0 || check(sort(NULL, &bytes, &op, NULL), "sort", NULL) < 0)
        return 0; /* the sort itself will say why */
    return bytes;
}

static int cuda_sort(struct og_stream *s, const struct og_sort *op, struct og_err *err)
{
    size_t bytes = cuda_sort_bytes(s->device, op->n);
    const int rc = use(s->device, err);
    tally(s->device, &s->device->counts.sorts, 1);
    return rc < 0 ? rc : check(sort(op->room, &bytes, op, s->stream), "sort", err);
}

/* ==== groups ==== */

static int cuda_identify(struct og_device *d, unsigned char id[OG__DEVICE_ID], struct og_err *err)
{
    cudaDeviceProp is;
    char why[OG__NCCL_WHY];
    int rc = use(d, err);
    rc = rc < 0 ? rc : check(cudaGetDeviceProperties(&is, d->number), "device", err);
    if (rc < 0)
        return rc;
    static_assert(sizeof(is.uuid.bytes) == OG__DEVICE_ID, "a GPU's own number fits");
    memcpy(id, is.uuid.bytes, OG__DEVICE_ID);
    return og__nccl_there(why) ? 0 : fail(err, -ENOTSUP, "group", why);
}

static int cuda_group_id(unsigned char id[OG__GROUP_ID], struct og_err *err)
{
    char why[OG__NCCL_WHY];
    return og__nccl_there(why) && og__nccl_id(id, why) ? 0 : fail(err, -ENOTSUP, "group", why);
}

static void cuda_end_group(struct og_device_ring *g)
{
    if (g && use(g->device, NULL) == 0)
        og__nccl_close(g->nccl);
    free(g);
}

static int cuda_group(struct og_device *d, struct og_device_ring **out, const unsigned char *id, int rank,
                      int n, struct og_err *err)
{
    char why[OG__NCCL_WHY];
    *out = NULL;
    struct og_device_ring *g = (struct og_device_ring *)calloc(1, sizeof(*g));
    if (!g)
        return fail(err, -ENOMEM, "group", "no memory");
    g->device = d;
    int rc = use(d, err);
    if (rc == 0 && !(g->nccl = og__nccl_open(id, rank, n, why)))
        rc = fail(err, -ENOTSUP, "group", why);
    if (rc < 0)
        cuda_end_group(g);
    else
        *out = g;
    return rc;
}

static int cuda_exchange(struct og_stream *s, struct og_device_ring *g, const struct og_piece *send,
                         const struct og_piece *receive, struct og_err *err)
{
    char why[OG__NCCL_WHY];
    size_t bytes = 0;
    const int rc = use(s->device, err);
    if (rc < 0)
        return rc;
    if (!og__nccl_exchange(g->nccl, send, receive, s->stream, &bytes, why))
        return fail(err, -EIO, "exchange", why);
    tally(s->device, &s->device->counts.group_bytes, bytes);
    return 0;
}

static int cuda_drain(struct og_stream *s, struct og_device_ring *g, struct og_err *err)
{
    char why[OG__NCCL_WHY];
    const int rc = use(s->device, err);
    tally(s->device, &s->device->counts.waits, 1);
    if (rc < 0)
        return rc;
    return og__nccl_await(g->nccl, s->stream, why) ? 0 : fail(err, -EIO, "exchange", why);
}

/* ==== counters ==== */

static void cuda_counts(struct og_device *d, struct og_device_counts *out)
{
    pthread_mutex_lock(&d->lock);
    *out = d->counts;
    pthread_mutex_unlock(&d->lock);
}

static size_t cuda_own_bytes(void)
{
    return WORKSPACE;
}

static size_t cuda_free_bytes(int number)
{
    size_t bytes = 0, all = 0;
    if (cudaSetDevice(number) == cudaSuccess && cudaMemGetInfo(&bytes, &all) == cudaSuccess)
        return bytes;
    cudaGetLastError();
    return 0;
}

extern "C" {
extern const struct og_device_ops og_cuda_device;
__attribute__((visibility("default"))) const struct og_device_ops og_cuda_device = {
    OG__DEVICE_VERSION, "cuda",          cuda_count,  cuda_open,       cuda_close,
    cuda_alloc,         cuda_release,    cuda_pin,    cuda_unpin,      cuda_lend,
    cuda_end_lending,   cuda_reach,      cuda_stream,
    cuda_end_stream,    cuda_event,      cuda_end_event, cuda_record,  cuda_follow,
    cuda_wait,          cuda_finish,     cuda_copy,   cuda_clear,      cuda_launch,
    cuda_multiply,      cuda_sort_bytes, cuda_sort,   cuda_counts,     cuda_identify,
    cuda_group_id,      cuda_group,      cuda_end_group, cuda_exchange, cuda_drain,
    cuda_own_bytes,     cuda_free_bytes};
}
