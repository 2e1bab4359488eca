/* device: memory and arithmetic in addition to the CPU's.
 *
 * One table of functions for each kind of device:
 *
 *     virtual   host memory that the host may not access, kernels on CPU cores, an interconnect
 *               with modelled times. For tests, and for development without a GPU
 *     cuda      a plugin, loaded on demand (cuda.c, cuda.cu)
 *
 * A stream executes its work in order, asynchronously. Only events order work of different streams.
 * Every call may fail with an error. Threads may share a device if each has its own streams; one
 * thread may record an event that others follow. One thread opens and closes the device.
 *
 *   stream a   copy ── record e          ┌─> follow e ── launch
 *   stream b                      launch ┘
 *
 * Devices of several processes, one each, may form a group. They send pieces of their memory
 * directly to one another. All of a group make the same exchanges in the same order.
 *
 * C++ compilers read it too, for the plugin. */
#ifndef OG_DEVICE_H
#define OG_DEVICE_H

#include <outgrow/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct og_device;
struct og_stream;
struct og_event;
struct og_device_ring;
struct og__here;

/* A kernel, written once for both compilers (kernel.h). The virtual device runs `body`; the plugin
 * knows it by `number`. A kernel has the same number in both. */
struct og_kernel {
    const char *name;
    void (*body)(const void *args, const struct og__here *here);
    uint32_t number;
    bool meets; /* threads of a block synchronize */
};
struct og_launch {
    const struct og_kernel *kernel;
    uint32_t blocks, threads; /* threads of a block: a multiple of 32, at most OG__MOST_THREADS */
    const void *args;         /* copied by the call, at most OG__MOST_ARGS bytes */
    size_t bytes;
    size_t reads, writes; /* bytes of pinned host memory, transferred over the interconnect */
    size_t peer_reads;    /* bytes of other devices' memory, over the links between devices */
};
enum { OG__MOST_THREADS = 256, OG__MOST_ARGS = 1024 };

/* The product c[m, n] = op(a) op(b) + bias + (add ? c : 0), all f32, row-major; op transposes. With
 * another `compute` a and b are rounded to it first. Shape and `compute` alone select the
 * algorithm.
 */
struct og_product_of {
    uint32_t m, n, k;
    const float *a, *b; /* [m, k], or [k, m] transposed; [k, n], or [n, k] transposed */
    size_t lda, ldb, ldc;
    bool a_transposed, b_transposed, add;
    int compute;       /* enum og_compute_kind */
    const float *bias; /* [n], or NULL */
    float *c;
};

/* Sorts values by their keys, ascending and stable. */
struct og_sort {
    size_t n;
    const uint32_t *key, *value; /* [n] */
    uint32_t *sorted, *moved;    /* out [n]; no overlap with the inputs */
    uint32_t bound;              /* keys are below it */
    void *room;                  /* sort_bytes of device memory */
};

enum og__way { OG__TO_DEVICE, OG__TO_HOST };

/* A piece to or from a device of the group; 0 bytes: not sent. */
struct og_piece {
    void *at; /* device memory */
    size_t bytes;
};
enum { OG__GROUP_ID = 128, OG__DEVICE_ID = 16, OG__MOST_GROUP = 64 };

/* Counters since the device was opened. */
struct og_device_counts {
    uint64_t launches, threads, products, sorts, copies, bytes_to_device, bytes_to_host, waits;
    uint64_t reads, writes; /* bytes of the host's memory that kernels read and wrote */
    uint64_t peer_reads;    /* bytes of other devices' memory that kernels read */
    uint64_t group_bytes;   /* bytes exchanged with others of a group, both ways */
    double link_seconds;    /* modelled; 0 where copies are real */
    double peer_seconds;    /* the same for links between devices */
    size_t used, peak;      /* bytes of device memory */
};

enum { OG__DEVICE_VERSION = 7 };
struct og_device_ops {
    uint32_t version; /* OG__DEVICE_VERSION: semantics of the functions; fingerprints cover sizes */
    const char *name;

    /* The number of devices; 0 with the reason in `why`. */
    int (*count)(char *why, size_t size);
    int (*open)(struct og_device **out, int number, struct og_err *err);
    void (*close)(struct og_device *d); /* NULL: nothing */

    /* Device memory, aligned to 256 bytes, contents undefined. Release it only when no stream has
     * work left that uses it. */
    void *(*alloc)(struct og_device *d, size_t bytes, struct og_err *err);
    void (*release)(struct og_device *d, void *p, size_t bytes);
    /* Pinned host memory, for asynchronous copies and for kernels that access it over the
     * interconnect. */
    void *(*pin)(struct og_device *d, size_t bytes, struct og_err *err);
    void (*unpin)(struct og_device *d, void *p, size_t bytes);

    /* Lets kernels read existing host memory from then on. */
    int (*lend)(struct og_device *d, const void *p, size_t bytes, struct og_err *err);
    void (*end_lending)(struct og_device *d, const void *p, size_t bytes);

    /* Lets kernels and products of this device read all memory of a peer of its kind. After the
     * peer has closed, this device launches nothing more. */
    int (*reach)(struct og_device *d, struct og_device *peer, struct og_err *err);

    int (*stream)(struct og_device *d, struct og_stream **out, struct og_err *err);
    void (*end_stream)(struct og_stream *s); /* no work is left; NULL: nothing */
    int (*event)(struct og_device *d, struct og_event **out, struct og_err *err);
    void (*end_event)(struct og_event *e);
    /* Records the event: it occurs once the stream's work so far is done. The stream must be of the
     * event's device, or of one opened by the same number. Any stream may follow it. */
    int (*record)(struct og_event *e, struct og_stream *s, struct og_err *err);
    /* Orders later work of the stream after the event; an event never recorded has occurred. */
    int (*follow)(struct og_stream *s, struct og_event *e, struct og_err *err);
    /* The host waits for the event; or for all work of the stream. */
    int (*wait)(struct og_event *e, struct og_err *err);
    int (*finish)(struct og_stream *s, struct og_err *err);

    /* Asynchronous: host memory is read or written when the copy executes. */
    int (*copy)(struct og_stream *s, void *to, const void *from, size_t bytes, enum og__way way,
                struct og_err *err);
    int (*clear)(struct og_stream *s, void *p, size_t bytes, struct og_err *err); /* zeros */
    int (*launch)(struct og_stream *s, const struct og_launch *l, struct og_err *err);
    /* One stream of a device only: products share a workspace. */
    int (*multiply)(struct og_stream *s, const struct og_product_of *p, struct og_err *err);
    size_t (*sort_bytes)(struct og_device *d, size_t n);
    int (*sort)(struct og_stream *s, const struct og_sort *op, struct og_err *err);

    void (*counts)(struct og_device *d, struct og_device_counts *out);

    /* ---- groups ---- */

    /* The device's identity. Those of a group all differ. -ENOTSUP with a reason if this process
     * cannot be in a group. */
    int (*identify)(struct og_device *d, unsigned char id[OG__DEVICE_ID], struct og_err *err);
    /* Creates an id for a group: one process creates it and sends it to all. */
    int (*group_id)(unsigned char id[OG__GROUP_ID], struct og_err *err);
    /* Returns when all n have called it. */
    int (*group)(struct og_device *d, struct og_device_ring **out, const unsigned char *id,
                 int rank, int n, struct og_err *err);
    /* Leaves the group; others that wait for this one fail. NULL: nothing. Call before the device
     * is closed. */
    void (*end_group)(struct og_device_ring *g);
    /* send[n], receive[n]: one piece a rank, copied by the call; a rank's own entry is ignored.
     * Asynchronous, as copies are. */
    int (*exchange)(struct og_stream *s, struct og_device_ring *g, const struct og_piece *send,
                    const struct og_piece *receive, struct og_err *err);
    /* As finish, for a stream with exchanges: fails if another of the group has ended. */
    int (*settle)(struct og_stream *s, struct og_device_ring *g, struct og_err *err);

    size_t (*own_bytes)(void);        /* device memory that the libraries take at open */
    size_t (*free_bytes)(int number); /* free device memory in bytes; 0: unknown */
};

extern const struct og_device_ops og__device_virtual;

/* Fingerprints the interface of command and plugin (FNV-1a): extends `print` by a struct's name and
 * size. This file's structs are in og__device_print. */
static inline uint64_t og__print(uint64_t print, const char *name, size_t bytes)
{
    const uint64_t prime = 0x100000001b3u;
    for (; *name; name++)
        print = (print ^ (unsigned char)*name) * prime;
    return (print ^ bytes) * prime;
}
static inline uint64_t og__device_print(void)
{
    uint64_t print = og__print(0xcbf29ce484222325u, "ops", sizeof(struct og_device_ops));
    print = og__print(print, "launch", sizeof(struct og_launch));
    print = og__print(print, "product", sizeof(struct og_product_of));
    print = og__print(print, "sort", sizeof(struct og_sort));
    print = og__print(print, "piece", sizeof(struct og_piece));
    return og__print(print, "counts", sizeof(struct og_device_counts));
}

/* Opens the plugin. -ENOTSUP names what is missing. kernels: the fingerprint of the command's
 * kernels. A plugin with others is refused. */
OG_MUST_CHECK int og__device_cuda(uint64_t kernels, const struct og_device_ops **out,
                                  struct og_err *err);

#endif
