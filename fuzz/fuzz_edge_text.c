/* Edge lists: any text, gzipped or not, either is refused with its line or gives edges within
 * bounds, and reading it again gives as many.   input: | u8 rules | text | */
#include "fuzz.h"
#include "memory_file.h"

#include "dataset/import/edge_text.h"
#include "dataset/import/mtx.h"

#include <math.h>

static void check_words(const struct og_edge_text *p, const uint64_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct og_word word;
        og__edge_text_words(p, id + i, 1, &word);
        if (og__word_wrong(&word))
            abort();
    }
}

static void check_part(const struct og_edge_text *p, const struct og_edge_text_part *part)
{
    if (p->words) {
        check_words(p, part->src, part->n);
        check_words(p, part->dst, part->n);
        return;
    }
    for (size_t i = 0; i < part->n; i++) {
        if (part->src[i] > part->most || part->dst[i] > part->most)
            abort();
        if (part->weight && (!isfinite(part->weight[i]) || part->weight[i] < 0))
            abort();
    }
    if (part->n > 0 && p->limit && part->most >= p->limit)
        abort();
}

static int read_all(struct og_edge_text *p, uint64_t *edges, struct og_err *err)
{
    int rc;
    *edges = 0;
    do {
        rc = og__edge_text_next(p, err);
        for (size_t i = 0; rc == 0 && i < p->parts; i++) {
            check_part(p, &p->part[i]);
            *edges += p->part[i].n;
        }
    } while (rc == 0 && p->parts > 0);
    return rc;
}

static void try_head(struct og_edge_text *p, struct og_err *err)
{
    const char *begin;
    const char *end;
    struct og_mtx_head head;
    if (og__text_block(&p->text, &begin, &end, err) < 0 || !begin ||
        og__mtx_head(&head, &p->text, begin, end, err) < 0)
        return;
    if (head.nodes < 1 || head.entries < 1 || head.lines < 2)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_edge_text p;
    char path[32];
    uint64_t first = 0;
    uint64_t second = 0;
    if (size == 0)
        return 0;
    int fd = memory_file(data + 1, size - 1, path);
    if (og__edge_text_open(&p, path, NULL, NULL, &err) < 0)
        abort();
    p.weight_column = data[0] % 8 - 1;
    p.base = data[0] >> 3 & 1;
    p.limit = data[0] >> 4 & 7;
    p.names = data[0] >> 7 ? "dst,-,src,weight" : NULL;
    p.takes_words = p.base == 0 && p.limit == 0;
    try_head(&p, &err);
    err = (struct og_err){0};
    int rc = og__edge_text_rewind(&p, &err);
    if (rc == 0)
        rc = read_all(&p, &first, &err);
    if (rc < 0 && p.met_word) {
        p.words = true;
        err = (struct og_err){0};
        rc = og__edge_text_rewind(&p, &err);
        rc = rc < 0 ? rc : read_all(&p, &first, &err);
    }
    if (rc < 0 && (!err.message[0] || !err.hint[0]))
        abort();
    if (rc == 0 &&
        (og__edge_text_rewind(&p, NULL) < 0 || read_all(&p, &second, NULL) < 0 || first != second))
        abort();
    og__edge_text_close(&p);
    close(fd);
    return 0;
}
