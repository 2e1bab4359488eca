/* device: where memory and arithmetic live beside the processors.
 *
 * One table of functions for each kind of device:
 *
 *   virtual   memory of the host that the host may not touch, kernels run by its processors, a link
 *             whose times are counted: for tests, and for development without a GPU
 *   cuda      a plugin that is loaded when it is asked for (cuda.c, cuda.cu)
 *
 * What is asked of a stream is done in that order, some time after the call returns; streams know
 * nothing of each other but what events tell. Every call may fail, and says why. Threads may share
 * a device: each its own streams, and events that one records and others follow; what opens and
 * closes it is one thread's.
 *
 *   stream a   copy ── record e          ┌─> follow e ── launch
 *   stream b                      launch ┘
 *
 * Devices of several processes, one each, may be a group: they send one another pieces of their
 * memory, which go from device to device. All of a group make the same exchanges in the same order.
 *
 * Read by C++ compilers as well: the plugin's. */
#ifndef OG_DEVICE_H
#define OG_DEVICE_H

#include <outgrow/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct og_device;
struct og_stream;
struct og_event;
struct og_group;
struct og__here;

/* Written once for both compilers (kernel.h). `body` is what the virtual device runs, `number` by
 * what the plugin knows it: one kernel is the same number in both. */
struct og_kernel {
    const char *name;
    void (*body)(const void *args, const struct og__here *here);
    uint32_t number;
    bool meets; /* threads of a block wait for one another */
};
struct og_launch {
    const struct og_kernel *kernel;
    uint32_t blocks, threads; /* threads of a block: a multiple of 32, at most OG__MOST_THREADS */
    const void *args;         /* copied by the call, at most OG__MOST_ARGS bytes */
    size_t bytes;
    size_t reads, writes; /* bytes of pinned memory of the host: they go over the link */
    size_t peer_reads;    /* of other devices' memory: over the links between devices */
};
enum { OG__MOST_THREADS = 256, OG__MOST_ARGS = 1024 };

/* c[m, n] = op(a) op(b) + bias + (add ? c : 0), all f32, row-major; op transposes. No TF32, and an
 * algorithm that follows from the shape alone. */
struct og_product_of {
    uint32_t m, n, k;
    const float *a, *b; /* [m, k], or [k, m] transposed; [k, n], or [n, k] transposed */
    size_t lda, ldb, ldc;
    bool a_transposed, b_transposed, add;
    const float *bias; /* [n], or NULL */
    float *c;
};

/* Values by their keys, ascending; equal keys keep their order. */
struct og_sort {
    size_t n;
    const uint32_t *key, *value; /* [n] */
    uint32_t *sorted, *moved;    /* out [n], apart from them */
    uint32_t bound;              /* keys are below it */
    void *room;                  /* sort_bytes of the device's memory */
};

enum og__way { OG__TO_DEVICE, OG__TO_HOST };

/* What goes to one of a group, or comes from one; of 0 bytes: nothing does. */
struct og_piece {
    void *at; /* of the device's memory */
    size_t bytes;
};
enum { OG__GROUP_ID = 128, OG__DEVICE_ID = 16, OG__MOST_GROUP = 64 };

/* Since it was opened. */
struct og_device_counts {
    uint64_t launches, threads, products, sorts, copies, bytes_to_device, bytes_to_host, waits;
    uint64_t reads, writes; /* bytes of the host's memory that kernels read and wrote */
    uint64_t peer_reads;    /* bytes of other devices' memory that kernels read */
    uint64_t group_bytes;   /* that went to others of a group, and came from them */
    double link_seconds;    /* modelled; 0 where copies are real */
    double peer_seconds;    /* the same, of links between devices */
    size_t used, peak;      /* bytes of its memory */
};

enum { OG__DEVICE_VERSION = 7 };
struct og_device_ops {
    uint32_t version; /* OG__DEVICE_VERSION: what functions mean; sizes are in fingerprints */
    const char *name;

    /* How many there are; where there are none, why. */
    int (*count)(char *why, size_t size);
    int (*open)(struct og_device **out, int number, struct og_err *err);
    void (*close)(struct og_device *d); /* NULL: nothing */

    /* Of the device: aligned to 256 bytes, contents undefined. Released only when no stream has
     * anything left to do with it. */
    void *(*alloc)(struct og_device *d, size_t bytes, struct og_err *err);
    void (*release)(struct og_device *d, void *p, size_t bytes);
    /* Of the host, for copies that go on while it does something else, and for kernels that reach
     * over the link. */
    void *(*pin)(struct og_device *d, size_t bytes, struct og_err *err);
    void (*unpin)(struct og_device *d, void *p, size_t bytes);

    /* Memory of the host that is there already, which kernels may read from then on. */
    int (*lend)(struct og_device *d, const void *p, size_t bytes, struct og_err *err);
    void (*end_lending)(struct og_device *d, const void *p, size_t bytes);

    /* Memory of the peer, which is of the same kind: kernels and products of this device may read
     * it, whatever of it there is at the time. Whoever reaches a device launches nothing once that
     * is closed. */
    int (*reach)(struct og_device *d, struct og_device *peer, struct og_err *err);

    int (*stream)(struct og_device *d, struct og_stream **out, struct og_err *err);
    void (*end_stream)(struct og_stream *s); /* nothing is left to do; NULL: nothing */
    int (*event)(struct og_device *d, struct og_event **out, struct og_err *err);
    void (*end_event)(struct og_event *e);
    /* The event is: all that the stream was asked so far is done. A stream of the device that the
     * event was made by, or of one opened by the same number; who follows it may be any. */
    int (*record)(struct og_event *e, struct og_stream *s, struct og_err *err);
    /* What the stream is asked from now on is done after the event; one that was never recorded has
     * happened. */
    int (*follow)(struct og_stream *s, struct og_event *e, struct og_err *err);
    /* The host waits for it; and for all that the stream was asked. */
    int (*wait)(struct og_event *e, struct og_err *err);
    int (*finish)(struct og_stream *s, struct og_err *err);

    /* Host memory is read, or written, when the copy is done, not when it is asked for. */
    int (*copy)(struct og_stream *s, void *to, const void *from, size_t bytes, enum og__way way,
                struct og_err *err);
    int (*clear)(struct og_stream *s, void *p, size_t bytes, struct og_err *err); /* zeros */
    int (*launch)(struct og_stream *s, const struct og_launch *l, struct og_err *err);
    /* Of one stream of the device: products share what they need beside. */
    int (*multiply)(struct og_stream *s, const struct og_product_of *p, struct og_err *err);
    size_t (*sort_bytes)(struct og_device *d, size_t n);
    int (*sort)(struct og_stream *s, const struct og_sort *op, struct og_err *err);

    void (*counts)(struct og_device *d, struct og_device_counts *out);

    /* ---- groups ---- */

    /* Which device it is: those of a group all differ. -ENOTSUP, saying why, where this process can
     * have no group. */
    int (*identify)(struct og_device *d, unsigned char id[OG__DEVICE_ID], struct og_err *err);
    /* Of a group that is to be: made by one process, told to all. */
    int (*group_id)(unsigned char id[OG__GROUP_ID], struct og_err *err);
    /* Returns when all n have called it. */
    int (*group)(struct og_device *d, struct og_group **out, const unsigned char *id, int rank,
                 int n, struct og_err *err);
    /* Others of it that wait for this one fail then. NULL: nothing. Before the device is closed. */
    void (*end_group)(struct og_group *g);
    /* send[n], receive[n], copied by the call: one a rank; of its own place nothing is read or
     * written. As copies, it is done some time after the call returns. */
    int (*exchange)(struct og_stream *s, struct og_group *g, const struct og_piece *send,
                    const struct og_piece *receive, struct og_err *err);
    /* finish, of a stream that exchanges: fails where another of the group has ended. */
    int (*settle)(struct og_stream *s, struct og_group *g, struct og_err *err);

    size_t (*own_bytes)(void); /* of its memory, that opening takes for what the library needs */
    size_t (*free_bytes)(int number); /* of its memory, that nobody has; 0: it does not say */
};

extern const struct og_device_ops og__device_virtual;

/* A fingerprint of what command and plugin pass one another (FNV-1a): of a name and of the size of
 * what goes by it, behind what `print` is of; first of what this file has. */
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

/* Opens the plugin; -ENOTSUP, saying what is missing. kernels: the fingerprint of those that the
 * command will launch; a plugin with others is refused. */
OG_MUST_CHECK int og__device_cuda(uint64_t kernels, const struct og_device_ops **out,
                                  struct og_err *err);

#endif
