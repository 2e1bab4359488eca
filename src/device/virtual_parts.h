/* Inside of virtual devices: what there is between the files of that name.
 *
 *   virtual.c           settings, devices and their memory, the table of functions
 *   virtual_streams.c   what streams do, and when
 *   virtual_work.c      products and sorts
 *   virtual_group.c     streams between processes */
#ifndef OG_DEVICE_VIRTUAL_PARTS_H
#define OG_DEVICE_VIRTUAL_PARTS_H

#include "comm/comm.h"
#include "device/virtual.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_BLOCKS = 64, MOST_STREAMS = 8, MOST_PEERS = 32 };

struct task {
    struct task *next;
    enum { COPY, CLEAR, LAUNCH, MULTIPLY, SORT, EXCHANGE, RECORD, FOLLOW } kind;
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
            enum og__way way;
        } copy;
        struct og_launch launch;
        struct og_product_of product;
        struct og_sort sort;
        struct {
            struct og_group *group;
            const struct og_message *pieces; /* [2, n] that go out, and that come in */
        } exchange;
        struct {
            struct og_event *event;
            uint64_t number; /* of its recordings */
        } at;
    } of;
    char args[OG__MOST_ARGS];
};

struct og_stream {
    struct og_device *device;
    struct task *first, **end;
};

/* One thread records it; streams of other devices may follow, whose locks are others. */
struct og_event {
    struct og_device *device;
    _Atomic(struct og_stream *) stream;   /* that it was recorded in last */
    atomic_uint_fast64_t asked, happened; /* recordings */
};

/* Of one device: its streams make what is asked of it one after the other. */
struct og_group {
    struct og_device *device;
    struct og_comm *comm;
};

struct block {
    char *start;
    size_t bytes, mapped;
    uint64_t number; /* of all that this device ever had */
    int open;        /* for so many: its own work, and that of others who reach it */
};

/* Who has one device's lock takes no other's but the gate, and with a gate nothing. */
struct og_device {
    struct og_virtual is;
    int number;
    pthread_mutex_t gate;
    /* guarded by gate */
    struct block block[MOST_BLOCKS];
    int n_blocks;
    uint64_t taken; /* blocks so far */
    pthread_mutex_t lock;
    /* guarded by lock, as is what streams have */
    struct og_device_counts counts;
    struct og_crew *crew;
    uint64_t draws;
    struct peer {
        struct og_device *device;
        uint64_t seen;  /* its blocks up to this number are open for the task at hand */
    } peer[MOST_PEERS]; /* whose memory its kernels and products may read; the first is itself */
    int n_peers;
    struct og_stream *stream[MOST_STREAMS];
    int n_streams;
    int failed; /* of work that nobody waited for yet */
    struct og_err why;
};

/* Whether a piece may be touched now, for one more or one less. */
void og__virtual_touch(const struct og_device *d, struct block *b, bool touch);
/* The stream is asked: counted, and put behind what it was asked before. `args`: bytes of what the
 * task points to, which is copied. put: by who has the device's lock. */
OG_MUST_CHECK int og__virtual_ask(struct og_stream *s, const struct task *wanted, size_t args,
                                  struct og_err *err);
OG_MUST_CHECK int og__virtual_put(struct og_stream *s, const struct task *wanted, size_t args,
                                  struct og_err *err);
bool og__virtual_has_happened(const struct og_event *e, uint64_t number);
/* All that the stream was asked is done, or, with e, what it was before this recording of it. */
void og__virtual_settle(struct og_stream *s, const struct og_event *e, uint64_t number);
/* What failed of work that nobody waited for yet. */
int og__virtual_told(struct og_device *d, struct og_err *err);

#endif
