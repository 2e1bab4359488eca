/* neighbors.json: any bytes either are refused with a reason or give numbers that fit. */
#include "fuzz.h"

#include "dataset/neighbors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_neighbors_note note;
    struct og_err err = {0};
    if (og__neighbors_parse(&note, (const char *)data, size, "input", &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (note.capacity > INT64_MAX || note.n_nodes > INT64_MAX || note.n_edges > INT64_MAX ||
        note.n_lists > INT64_MAX || note.n_ids > INT64_MAX)
        abort();
    return 0;
}
