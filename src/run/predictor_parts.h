/* What the files of a predictor share. Nobody else includes this. */
#ifndef OG_RUN_PREDICTOR_PARTS_H
#define OG_RUN_PREDICTOR_PARTS_H

#include "dataset/node_names.h"
#include "session/session.h"

#include <pthread.h>

struct og_answerer;

struct og_asked {
    const int64_t *nodes; /* [n], or ends of edges [n][2] */
    const float *own;     /* of edges their features [n][pair_dim]; NULL: none */
    const int64_t *times; /* [n] of the neighbourhoods; NULL: those of the nodes */
    bool edges;
    uint32_t relation; /* of the edges, where scores depend on it */
    int64_t n;
    float *out;
    struct og_err *err;
    int rc;
    bool done;
    struct og_asked *next;
};

struct og_predictor {
    struct og_session *s;
    struct og_observer observer;
    int columns; /* of a node; of an edge */
    int edge_columns;
    uint32_t batch; /* nodes at a time */
    pthread_mutex_t lock, computing;
    pthread_cond_t asked, answered;
    struct og_asked *first, **last;
    int inside;  /* callers */
    int working; /* workers with a request, without those that wait for all others' memory: */
    int alone;   /* one works, or they wait until none does; nobody begins */
    bool closing;
    int n_threads, opened; /* opened: workers that are ready or have failed */
    int failed;
    struct og_err why;
    struct og_answerer *worker;
    struct og_node_names **names; /* [groups] what nodes are called; NULL: they have no names */
};

#endif
