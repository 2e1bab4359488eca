/* One failure at a time, where memory, files and threads come from.
 *
 * The linker puts these functions in place of the C library's and liburing's. It does so in one
 * test program (-Wl,--wrap, see CMakeLists.txt). So the layer is under base and io, and catches
 * what calls the C library directly as well. It is not in the product at all, and costs it nothing.
 * Other libraries are reached where they allocate: malloc and its kin are this program's, which
 * looks at the caller (FAULT_LIBRARY). Excluded are oneDNN and OpenMP: they are C++, or end the
 * program themselves when memory is short.
 *
 * Arm it with a kind and a number k. Then the k-th call of that kind fails, or is slow, and all
 * others pass. */
#ifndef OG_FAULTS_H
#define OG_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY,  /* malloc and its kin, mmap, threads, rings: ENOMEM, EAGAIN */
    FAULT_LIBRARY, /* memory that libraries allocate, the C library among them: ENOMEM */
    FAULT_OPEN,    /* files and folders opened, made, renamed, looked at: EACCES */
    FAULT_READ,    /* EIO */
    FAULT_END,     /* the file ends here */
    FAULT_SHORT,   /* half the requested bytes: no failure */
    FAULT_WRITE,   /* EIO; flushing as well */
    FAULT_SPACE,   /* half the bytes, then ENOSPC */
    FAULT_SLOW,    /* every read from the k-th on takes a millisecond longer: no failure */
    FAULT_KINDS,
};

extern const char *const fault_names[FAULT_KINDS];

void faults_arm(enum fault_kind kind, long k);
/* How many calls of the kind there were since; *fired: one was made to fail. */
long faults_disarm(bool *fired);

#endif
