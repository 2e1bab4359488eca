/* The interface of the MPI plugin: a table of functions, exported as OG__MPI_TABLE. The plugin is
 * compiled separately, where MPI is installed. It shares nothing else with the library, so one
 * program runs with and without MPI. */
#ifndef OG_MPI_TABLE_H
#define OG_MPI_TABLE_H

#include "comm/comm.h"

#define OG__MPI_TABLE  "og_mpi_table"
#define OG__MPI_PLUGIN "liboutgrow_mpi.so"

struct og_mpi_table {
    uint32_t version; /* OG__MPI_VERSION, else it is of another library */
    /* c->rank, n, here and one_thread. Once a process. */
    int (*open)(struct og_comm *c, struct og_err *err);
    int (*exchange)(struct og_comm *c, const struct og_message *send,
                    const struct og_message *receive, struct og_err *err);
    /* After a failed exchange, close ends all ranks with this process. */
    void (*close)(struct og_comm *c);
};
enum { OG__MPI_VERSION = 3 };

#endif
