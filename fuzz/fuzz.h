/* What a fuzz target defines. 0 = go on; anything else that is wrong must abort. */
#ifndef OG_FUZZ_H
#define OG_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
