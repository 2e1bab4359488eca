/* The kernels by number, for the virtual device. */
#include "nn/device/kernels.h"

#define ROW(name, args, meets) [name##_number] = {#name, name, name##_number, meets},
const struct og_kernel og__kernels[OG__N_KERNELS] = {OG__KERNELS(ROW)};
