/* A set of words, with open addressing. A slot has half of the hash. So most other words are
 * excluded without reading their text, and the table grows without hashing again. */
#include "dataset/word_runs.h"

#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

static const char part[] = "names";
enum { FIRST_ROOM = 4096, LEAST_TEXT = 64 * 1024, A_SLOT = 14 };

static size_t used_slots(uint64_t room)
{
    return (size_t)(room / 3 * 2);
}

/* Two of three slots may be used: sorting wants no more. A slot takes 8 bytes and two thirds of an
 * entry. At most half of the memory is for slots, the rest for text. The slots from before the
 * table grows come on top. */
int og__word_set_open(struct og_word_set *s, size_t bytes, struct og_budget *b, struct og_err *err)
{
    *s = (struct og_word_set){.most_room = FIRST_ROOM};
    while (2 * s->most_room * A_SLOT <= bytes / 2 && s->most_room < (uint64_t)1 << 31)
        s->most_room *= 2;
    s->most = used_slots(s->most_room);
    s->text_room = bytes - OG_MIN(bytes, (size_t)s->most_room * A_SLOT);
    s->text_room = OG_MIN(OG_MAX(s->text_room, (size_t)LEAST_TEXT), (size_t)UINT32_MAX);
    if (getrandom(&s->secret, sizeof(s->secret), GRND_NONBLOCK) < 0)
        s->secret = (uint64_t)(uintptr_t)s; /* no less is known of it */
    s->room = FIRST_ROOM;
    s->slot = og__alloc(b, (size_t)s->room * sizeof(*s->slot), part, err);
    s->entry = s->slot ? og__alloc(b, s->most * sizeof(*s->entry), part, err) : NULL;
    s->text = s->entry ? og__alloc(b, s->text_room, part, err) : NULL;
    if (s->text)
        return 0;
    og__word_set_close(s, b);
    return -ENOMEM;
}

void og__word_set_close(struct og_word_set *s, struct og_budget *b)
{
    og__release(b, s->slot, (size_t)s->room * sizeof(*s->slot), part);
    og__release(b, s->entry, s->most * sizeof(*s->entry), part);
    og__release(b, s->text, s->text_room, part);
    *s = (struct og_word_set){0};
}

void og__word_set_hash(const struct og_word_set *s, const struct og_word *word, size_t n,
                       uint32_t *hash)
{
    for (size_t i = 0; i < n; i++) {
        hash[i] = (uint32_t)XXH3_64bits_withSeed(word[i].text, word[i].len, s->secret);
        __builtin_prefetch(&s->slot[hash[i] & (s->room - 1)]);
    }
}

static int grow(struct og_word_set *s, struct og_budget *b, struct og_err *err)
{
    const uint64_t room = 2 * s->room;
    uint64_t *slot = og__alloc(b, (size_t)room * sizeof(*slot), part, err);
    if (!slot)
        return -ENOMEM;
    for (uint64_t i = 0; i < s->room; i++) {
        uint64_t at = s->slot[i] >> 32 & (room - 1);
        while (s->slot[i] && slot[at])
            at = (at + 1) & (room - 1);
        if (s->slot[i])
            slot[at] = s->slot[i];
    }
    og__release(b, s->slot, (size_t)s->room * sizeof(*slot), part);
    s->slot = slot;
    s->room = room;
    return 0;
}

static bool is_word(const struct og_word_set *s, uint32_t place, const struct og_word *word)
{
    const struct og_word there = og__word_set_at(s, place);
    return there.len == word->len && memcmp(there.text, word->text, word->len) == 0;
}

int og__word_set_find(struct og_word_set *s, const struct og_word *word, uint32_t hash, bool adds,
                      uint32_t *place, struct og_budget *b, struct og_err *err)
{
    uint64_t at = hash & (s->room - 1);
    for (uint64_t slot; (slot = s->slot[at]); at = (at + 1) & (s->room - 1)) {
        *place = (uint32_t)slot - 1;
        if (slot >> 32 == hash && is_word(s, *place, word)) {
            s->entry[*place].len |= adds;
            return 0;
        }
    }
    if (s->n == s->most || s->filled + word->len > s->text_room)
        return 1;
    if (s->n + 1 > used_slots(s->room)) {
        const int rc = grow(s, b, err);
        return rc < 0 ? rc : og__word_set_find(s, word, hash, adds, place, b, err);
    }
    *place = (uint32_t)s->n++;
    s->entry[*place] = (struct og_word_entry){(uint32_t)s->filled, word->len * 2 + adds};
    memcpy(s->text + s->filled, word->text, word->len);
    s->filled += word->len;
    s->slot[at] = (uint64_t)hash << 32 | (*place + 1);
    return 0;
}

void og__word_set_clear(struct og_word_set *s)
{
    memset(s->slot, 0, (size_t)s->room * sizeof(*s->slot));
    s->n = s->filled = 0;
}

/* ---- sorting: eight bytes at a time ---- */

static uint64_t bytes_at(const struct og_word *word, uint32_t depth)
{
    uint64_t x = 0;
    if (word->len > depth)
        memcpy(&x, word->text + depth, OG_MIN(word->len - depth, (uint32_t)sizeof(x)));
    return __builtin_bswap64(x);
}

static void load_bytes(const struct og_word_set *s, struct og_word_key *key, size_t n,
                       uint32_t depth)
{
    for (size_t i = 0; i < n; i++) {
        const struct og_word word = og__word_set_at(s, key[i].place);
        const uint64_t bytes = bytes_at(&word, depth);
        key[i].high = (uint32_t)(bytes >> 32);
        key[i].low = (uint32_t)bytes;
    }
}

static uint64_t bytes_of(const struct og_word_key *key)
{
    return (uint64_t)key->high << 32 | key->low;
}

static void swap(struct og_word_key *a, struct og_word_key *b)
{
    const struct og_word_key was = *a;
    *a = *b;
    *b = was;
}

/* Quicksort in three parts, in place: the C library's sort would take memory that nobody counts.
 * Keys hold the bytes at `depth`; words with equal bytes go on with the next ones. */
static void sort_from(const struct og_word_set *s, struct og_word_key *key, size_t n,
                      uint32_t depth)
{
    while (n > 1 && depth <= OG__WORD_MOST) {
        const struct og_word_key *middle =
            &key[((uint64_t)n * 0x9e3779b97f4a7c15u ^ s->secret) % n];
        const uint64_t pivot = bytes_of(middle);
        size_t less = 0;
        size_t more = n;
        for (size_t i = 0; i < more;) {
            const uint64_t bytes = bytes_of(&key[i]);
            if (bytes < pivot)
                swap(&key[less++], &key[i++]);
            else if (bytes > pivot)
                swap(&key[i], &key[--more]);
            else
                i++;
        }
        if (more - less > 1) {
            const uint32_t next = depth + (uint32_t)sizeof(pivot);
            load_bytes(s, key + less, more - less, next);
            sort_from(s, key + less, more - less, next);
        }
        if (less < n - more) { /* the smaller part first, so that the stack stays low */
            sort_from(s, key, less, depth);
            key += more;
            n -= more;
        } else {
            sort_from(s, key + more, n - more, depth);
            n = less;
        }
    }
}

struct og_word_key *og__word_set_sort(struct og_word_set *s)
{
    struct og_word_key *key = (struct og_word_key *)s->slot; /* of as many bytes or more */
    for (size_t i = 0; i < s->n; i++)
        key[i].place = (uint32_t)i;
    load_bytes(s, key, s->n, 0);
    sort_from(s, key, s->n, 0);
    return key;
}
