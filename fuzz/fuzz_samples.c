/* Pre-sampled batches: any arrays in the folder are refused with a reason, or give valid batches.
 * Their positions and ids are within bounds.
 *
 *   input: | u8: hops, extras, width of ids | for each array: u8 length, as many numbers, i8 | */
#include "fuzz.h"
#include "memory_folder.h"

#include "sample/samples.h"

#include <math.h>

enum { NODES = 40 };

struct input {
    const uint8_t *data;
    size_t left;
};

static void put_array(struct input *in, int hop, const char *suffix, enum og__npy_type type)
{
    char name[32];
    if (hop)
        snprintf(name, sizeof(name), "hop%d_%s.npy", hop, suffix);
    else
        snprintf(name, sizeof(name), "%s.npy", suffix);
    size_t n = in->left > 0 ? OG_MIN((size_t)in->data[0], in->left - 1) : 0;
    memory_folder_array(name, type, in->data + (in->left > 0), n);
    in->data += n + (in->left > 0);
    in->left -= n + (in->left > 0);
}

static void put_folder(struct input *in, int hops, bool wide)
{
    enum og__npy_type id = wide ? OG__NPY_I64 : OG__NPY_I32;
    put_array(in, 0, "ids_ptr", OG__NPY_I64);
    put_array(in, 0, "ids", id);
    put_array(in, 0, "seeds_ptr", OG__NPY_I64);
    put_array(in, 0, "seeds", id);
    for (int h = 1; h <= hops; h++) {
        put_array(in, h, "ptr", OG__NPY_I64);
        put_array(in, h, "nodes", OG__NPY_I64);
        put_array(in, h, "src", OG__NPY_I32);
        put_array(in, h, "dst", OG__NPY_I32);
        put_array(in, h, "degree", OG__NPY_I32);
        put_array(in, h, "weight", OG__NPY_F32);
    }
}

static void check_block(const struct og_block *k)
{
    if (k->n_dst > k->n_src || k->indptr[0] != 0 || k->indptr[k->n_dst] != k->n_edges)
        abort();
    for (uint32_t d = 0; d < k->n_dst; d++)
        if (k->indptr[d] > k->indptr[d + 1])
            abort();
    for (uint64_t e = 0; e < k->n_edges; e++)
        if (k->src[e] >= k->n_src || (k->weight && !(k->weight[e] >= 0 && isfinite(k->weight[e]))))
            abort();
}

static void check_batch(const struct og_batch *b)
{
    bool seen[NODES] = {false};
    for (uint32_t i = 0; i < b->n_ids; i++) {
        if (b->ids[i] >= NODES || seen[b->ids[i]])
            abort();
        seen[b->ids[i]] = true;
    }
    if (b->n_seeds > b->n_ids)
        abort();
    for (uint32_t h = 0; h < b->n_hops; h++)
        check_block(&b->hop[h]);
}

static void read_all(struct og_samples *s)
{
    struct og_batch_memory out;
    struct og_io_counts read;
    og__batch_init(&out, NULL);
    for (uint32_t i = 0; i < og__samples_batches(s); i++) {
        struct og_err err = {0};
        int rc = og__samples_read(s, i, true, &out, &read, &err);
        if (rc == 0)
            check_batch(&out.batch);
        else if (!err.message[0] || !err.hint[0])
            abort();
    }
    og__batch_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_samples *s;
    if (size == 0)
        return 0;
    struct input in = {data + 1, size - 1};
    struct og_samples_options opt = {.dir = memory_folder(),
                                     .n_hops = 1 + (data[0] & 1),
                                     .extras = data[0] >> 1 & 3,
                                     .n_nodes = NODES};
    put_folder(&in, opt.n_hops, data[0] >> 3 & 1);
    if (og__samples_open(&s, &opt, NULL, &err) == 0) {
        read_all(s);
        og__samples_close(s);
    } else if (!err.message[0]) {
        abort();
    }
    return 0;
}
