/* Internals of virtual devices, shared by their files:
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
            struct og_device_ring *group;
            const struct og_message *pieces; /* [2, n]: sent, then received */
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

/* One thread records it. Streams of other devices, with other locks, may follow it. */
struct og_event {
    struct og_device *device;
    _Atomic(struct og_stream *) stream;       /* of the last recording */
    atomic_uint_fast64_t requested, happened; /* recordings */
};

/* A group's member: streams of the device make its exchanges one at a time. */
struct og_device_ring {
    struct og_device *device;
    struct og_comm *comm;
};

struct block {
    char *start;
    size_t bytes, mapped;
    uint64_t number; /* of all that this device ever had */
    int open;        /* reference count: own work, and work of devices that reach it */
};

/* Lock order: a device's lock, then a gate. A thread with a lock takes no second lock, and with a
 * gate nothing. */
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
        uint64_t seen;  /* blocks up to this number are open to the current task */
    } peer[MOST_PEERS]; /* devices whose memory it may read; the first is itself */
    int n_peers;
    struct og_stream *stream[MOST_STREAMS];
    int n_streams;
    int failed; /* the first failure that no wait has reported */
    struct og_err why;
};

/* Opens a block to one more user, or closes it to one. */
void og__virtual_touch(const struct og_device *d, struct block *b, bool touch);
/* Counts a task and appends it to the stream. `args`: bytes of the task's pointed-to arguments,
 * which are copied. put only appends; its caller holds the device's lock. */
OG_MUST_CHECK int og__virtual_ask(struct og_stream *s, const struct task *wanted, size_t args,
                                  struct og_err *err);
OG_MUST_CHECK int og__virtual_put(struct og_stream *s, const struct task *wanted, size_t args,
                                  struct og_err *err);
bool og__virtual_has_happened(const struct og_event *e, uint64_t number);
/* Executes all work of the stream or, with e, the work up to this recording of it. */
void og__virtual_drain(struct og_stream *s, const struct og_event *e, uint64_t number);
/* Reports and clears the first failure that no wait has reported. */
int og__virtual_told(struct og_device *d, struct og_err *err);

#endif
