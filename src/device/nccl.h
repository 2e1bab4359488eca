/* Groups of GPUs by NCCL, an optional library loaded when a group is requested. C++, for cuda.cu
 * alone. A failure's reason is in why[OG__NCCL_WHY].
 *
 * This has never run on two GPUs. It was compiled, the library was loaded, and only the call for an
 * id was made. All use of NCCL is in this header and nccl.cu. */
#ifndef OG_NCCL_H
#define OG_NCCL_H

#include "device/device.h"

#include <cuda_runtime.h>

#include <cstddef>

enum { OG__NCCL_WHY = 160 };
struct og__nccl;

bool og__nccl_there(char *why);
bool og__nccl_id(unsigned char id[OG__GROUP_ID], char *why);
/* Opens a group on the current device; each rank has another one. */
og__nccl *og__nccl_open(const unsigned char *id, int rank, int n, char *why);
/* Aborts work in progress. */
void og__nccl_close(og__nccl *g);
bool og__nccl_exchange(og__nccl *g, const struct og_piece *send, const struct og_piece *receive,
                       cudaStream_t stream, size_t *bytes, char *why);
/* Waits until the stream is empty. */
bool og__nccl_await(og__nccl *g, cudaStream_t stream, char *why);

#endif
