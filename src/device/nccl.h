/* Groups of GPUs by NCCL, which is loaded when a group is asked for, and need not be there: C++,
 * for cuda.cu alone. What fails says why in why[OG__NCCL_WHY].
 *
 * This has never run on two GPUs: it was compiled, the library was loaded, and of its calls the one
 * for an id was made. All that is known of NCCL is in this header and in nccl.cu. */
#ifndef OG_NCCL_H
#define OG_NCCL_H

#include "device/device.h"

#include <cuda_runtime.h>

#include <cstddef>

enum { OG__NCCL_WHY = 160 };
struct og__nccl;

bool og__nccl_there(char *why);
bool og__nccl_id(unsigned char id[OG__GROUP_ID], char *why);
/* On the device that is set, of ranks that each have another. */
og__nccl *og__nccl_open(const unsigned char *id, int rank, int n, char *why);
/* What is under way is given up. */
void og__nccl_close(og__nccl *g);
bool og__nccl_exchange(og__nccl *g, const struct og_piece *send, const struct og_piece *receive,
                       cudaStream_t stream, size_t *bytes, char *why);
/* Until the stream has nothing left. */
bool og__nccl_await(og__nccl *g, cudaStream_t stream, char *why);

#endif
