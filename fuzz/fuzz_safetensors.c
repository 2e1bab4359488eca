/* Checkpoints: any bytes either are refused or give tensors that lie where they should. */
#include "fuzz.h"

#include "nn/nn.h"

#include <stdlib.h>

static uint64_t touch(const struct og_tensor *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->bytes; i++)
        sum += ((const unsigned char *)t->data)[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_tensors t;
    struct og_err err = {0};
    if (og__tensors_parse(data, size, "input", &t, &err) < 0) {
        if (!err.message[0] || t.tensor || t.metadata)
            abort();
        return 0;
    }
    size_t sum = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < t.n; i++) {
        size_t elements = 1;
        for (int d = 0; d < t.tensor[i].ndim; d++)
            elements *= (size_t)t.tensor[i].shape[d];
        if (elements * (t.tensor[i].dtype == OG_TENSOR_F32 ? 4 : 8) != t.tensor[i].bytes ||
            og__tensors_find(&t, t.tensor[i].name) != &t.tensor[i])
            abort();
        sum += t.tensor[i].bytes;
        seen += touch(&t.tensor[i]);
    }
    if (sum > size || seen > 255 * (uint64_t)size)
        abort();
    og__tensors_release(&t);
    return 0;
}
