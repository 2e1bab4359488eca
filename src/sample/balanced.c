#include "sample/balanced.h"

#include "base/random.h"

#include <string.h>

static const char part[] = "seeds";

/* Counts by class, as offsets of a class's members. */
static void count_members(struct og_balanced *b, const int32_t *labels, uint32_t n,
                          uint32_t n_classes, uint32_t *number)
{
    uint32_t sum = 0;
    memset(number, 0, n_classes * sizeof(*number));
    for (uint32_t i = 0; i < n; i++)
        if (labels[i] >= 0 && (uint32_t)labels[i] < n_classes)
            number[labels[i]]++;
    for (uint32_t c = 0; c < n_classes; c++) {
        const uint32_t count = number[c];
        number[c] = sum;
        if (count > 0)
            b->first[b->n_classes++] = sum;
        sum += count;
    }
    b->first[b->n_classes] = sum;
}

int og__balanced_open(struct og_balanced *b, const int32_t *labels, uint32_t n, uint32_t n_classes,
                      uint64_t seed, struct og_budget *budget, struct og_err *err)
{
    const size_t classes = (n_classes + (size_t)1) * sizeof(*b->first);
    *b = (struct og_balanced){
        .seed = seed, .budget = budget, .bytes = classes + n * sizeof(*b->member)};
    b->first = og__alloc(budget, b->bytes, part, err);
    uint32_t *next = og__alloc(budget, classes, part, err);
    if (!b->first || !next) {
        og__release(budget, next, classes, part);
        og__balanced_close(b);
        return -ENOMEM;
    }
    b->member = b->first + n_classes + 1;
    count_members(b, labels, n, n_classes, next);
    for (uint32_t i = 0; i < n; i++)
        if (labels[i] >= 0 && (uint32_t)labels[i] < n_classes)
            b->member[next[labels[i]]++] = i;
    og__release(budget, next, classes, part);
    return 0;
}

void og__balanced_close(struct og_balanced *b)
{
    if (b->first)
        og__release(b->budget, b->first, b->bytes, part);
    *b = (struct og_balanced){0};
}

/* A number below n by a random word. */
static uint32_t below(uint32_t word, uint32_t n)
{
    return (uint32_t)((uint64_t)word * n >> 32);
}

void og__balanced_places(const struct og_balanced *b, uint32_t epoch, uint64_t first, uint32_t n,
                         uint64_t *place)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t i = first + k;
        uint32_t word[4];
        og__philox(b->seed, OG__STREAM_OVERSAMPLE, epoch, (uint32_t)(i >> 32), 0, (uint32_t)i, 0,
                   word);
        const uint32_t c = below(word[0], b->n_classes);
        place[k] = b->member[b->first[c] + below(word[1], b->first[c + 1] - b->first[c])];
    }
}
