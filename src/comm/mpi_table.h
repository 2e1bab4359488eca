/* What the plugin for MPI is to the library: a table that it exports as OG__MPI_TABLE. It is
 * compiled apart, where MPI is, and shares nothing else with the library, so that one program runs
 * with MPI and without. */
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
    /* Where an exchange failed all ranks are ended when this process is. */
    void (*close)(struct og_comm *c);
};
enum { OG__MPI_VERSION = 3 };

#endif
