/* What is kept of an interrupted inference: any text either is not taken or gives a place where
 * this one may go on.   input: | u8: layers - 1 | u8: nodes | text | */
#include "fuzz.h"

#include "infer/infer_state.h"
#include "nn/whole.h"

#include <stdlib.h>

static void check_place(const struct og_infer_state *s, int layers, const uint64_t *most)
{
    if (s->step < 0 || s->step > 2 * layers || s->rows > most[s->step] ||
        (s->rows % OG__WHOLE_ROWS && s->rows != most[s->step]))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct og_infer_state s = {.numbers = (char *)"n", .step = 1, .rows = 1};
    int layers = 1 + data[0] % OG_MAX_HOPS;
    uint64_t most[OG__INFER_STEPS + 1] = {0};
    for (int step = 0; step < 2 * layers; step++) /* a later step may have fewer */
        most[step] = data[1] / (step / 2 + 1);
    json_t *root = og__infer_state_parse(&s, layers, most, (const char *)data + 2, size - 2);
    check_place(&s, layers, most);
    if (root && json_array_size(json_object_get(root, "layers")) != (size_t)s.step / 2)
        abort();
    if (!root && (s.step || s.rows))
        abort();
    json_decref(root);
    return 0;
}
