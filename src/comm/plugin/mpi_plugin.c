/* The plugin for MPI, liboutgrow_mpi.so. It uses point-to-point messages only, so that sums have
 * our order. */
#include "comm/mpi_table.h"

#include <mpi.h>
#include <stdlib.h>

/* Longer messages go in pieces: MPI counts in ints. And a tag is at most 32767 everywhere. */
enum { PIECE = 1 << 30, TAGS = 32768 };

static int fail(struct og_err *err, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    MPI_Error_string(code, text, &n);
    if (err && err->code == 0) {
        err->code = -EIO;
        snprintf(err->message, sizeof(err->message), "MPI: %s: %.300s", what, text);
        snprintf(err->hint, sizeof(err->hint), "read the output of mpirun; go on with --resume");
    }
    return -EIO;
}

static int refuse_length(struct og_err *err, int rank, size_t got, size_t expected)
{
    if (err && err->code == 0) {
        err->code = -EPROTO;
        snprintf(err->message, sizeof(err->message),
                 "worker %d sent %zu bytes where %zu were expected", rank, got, expected);
        snprintf(err->hint, sizeof(err->hint), "start all workers from the same version");
    }
    return -EPROTO;
}

static int open_mpi(struct og_comm *c, struct og_err *err)
{
    int provided = MPI_THREAD_SINGLE;
    int begun = 0;
    MPI_Comm here;
    int rc = MPI_Initialized(&begun);
    if (rc == MPI_SUCCESS && !begun)
        rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    else if (rc == MPI_SUCCESS)
        rc = MPI_Query_thread(&provided);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(MPI_COMM_WORLD, &c->n);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(here, &c->n_local);
    c->one_thread = provided < MPI_THREAD_SERIALIZED;
    return rc == MPI_SUCCESS ? 0 : fail(err, rc, "cannot begin");
}

/* ---- an exchange ---- */

struct under_way {
    MPI_Request *request;
    MPI_Status *status;
    size_t *expected; /* of what is received; else 0 */
    int n;
};

/* Pieces of a message: one at least, so that a rank that is at another exchange is noticed. */
static size_t pieces_of(size_t bytes)
{
    return bytes == 0 ? 1 : (bytes + PIECE - 1) / PIECE;
}

static int begin_message(const struct og_comm *c, const struct og_message *m, int rank, bool sends,
                         struct under_way *u)
{
    const int tag = (int)(c->exchanges % TAGS);
    int rc = MPI_SUCCESS;
    for (size_t i = 0; rc == MPI_SUCCESS && i < pieces_of(m->bytes); i++) {
        const size_t left = m->bytes - i * PIECE;
        const int n = (int)(left < PIECE ? left : PIECE);
        char *at = (char *)m->at + i * PIECE;
        u->expected[u->n] = sends ? 0 : (size_t)n;
        rc = sends ? MPI_Isend(at, n, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &u->request[u->n])
                   : MPI_Irecv(at, n, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &u->request[u->n]);
        if (rc == MPI_SUCCESS)
            u->n++;
    }
    return rc;
}

/* Waits without keeping a core busy: computing threads of this or another rank may need it. */
static int wait_for_all(struct under_way *u)
{
    long pause = 1000;
    int done = 0;
    for (int turn = 0;; turn++) {
        int rc = MPI_Testall(u->n, u->request, &done, u->status);
        if (rc != MPI_SUCCESS || done)
            return rc;
        if (turn < 100)
            continue;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pause = pause < 200000 ? pause * 2 : pause;
    }
}

static int check_lengths(const struct og_comm *c, const struct under_way *u, struct og_err *err)
{
    for (int i = 0; i < u->n; i++) {
        int n = 0;
        if (u->expected[i] == 0)
            continue;
        MPI_Get_count(&u->status[i], MPI_BYTE, &n);
        if ((size_t)n != u->expected[i])
            return refuse_length(err, u->status[i].MPI_SOURCE, (size_t)n, u->expected[i]);
    }
    (void)c;
    return 0;
}

static int exchange_all(struct og_comm *c, const struct og_message *send,
                        const struct og_message *receive, struct under_way *u, struct og_err *err)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < c->n; i++)
        if (i != c->rank)
            rc = begin_message(c, &receive[i], i, false, u);
    for (int i = 0; rc == MPI_SUCCESS && i < c->n; i++)
        if (i != c->rank)
            rc = begin_message(c, &send[i], i, true, u);
    if (rc == MPI_SUCCESS)
        rc = wait_for_all(u);
    return rc == MPI_SUCCESS ? check_lengths(c, u, err) : fail(err, rc, "an exchange failed");
}

static int exchange(struct og_comm *c, const struct og_message *send,
                    const struct og_message *receive, struct og_err *err)
{
    size_t n = 0;
    for (int i = 0; i < c->n; i++)
        n += pieces_of(send[i].bytes) + pieces_of(receive[i].bytes);
    struct under_way u = {.request = calloc(n, sizeof(*u.request)),
                          .status = calloc(n, sizeof(*u.status)),
                          .expected = calloc(n, sizeof(*u.expected))};
    int rc = u.request && u.status && u.expected ? exchange_all(c, send, receive, &u, err)
                                                 : fail(err, MPI_ERR_NO_MEM, "an exchange");
    free(u.request);
    free(u.status);
    free(u.expected);
    return rc;
}

static void end_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* MPI_Abort would end this process before it has reported what failed. */
static void close_mpi(struct og_comm *c)
{
    if (!c->broken)
        MPI_Finalize();
    else if (atexit(end_all) != 0)
        end_all();
}

extern const struct og_mpi_table og_mpi_table;
__attribute__((visibility("default"))) const struct og_mpi_table og_mpi_table = {
    .version = OG__MPI_VERSION, .open = open_mpi, .exchange = exchange, .close = close_mpi};
