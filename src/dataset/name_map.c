/* og_name_map: a word map for programs. */
#include "dataset/node_names.h"
#include "dataset/word_map.h"

#include <stdlib.h>
#include <string.h>

struct og_name_map {
    struct og_budget *budget;
    char *folder;
    struct og_word_map words;
};

int og_name_map_new(struct og_name_map **out, const char *folder, uint64_t memory,
                    struct og_err *err)
{
    struct og_name_map *map = *out = calloc(1, sizeof(*map));
    int rc;
    if (!map)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    map->folder = strdup(folder);
    map->budget = og__budget_new((size_t)memory);
    OG_TRY(map->folder && map->budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", folder));
    rc = og__word_map_open(&map->words, map->folder, 0, map->budget, err);
out:
    if (rc < 0) {
        og_name_map_free(map);
        *out = NULL;
    }
    return rc;
}

void og_name_map_free(struct og_name_map *map)
{
    if (!map)
        return;
    og__word_map_close(&map->words);
    og__budget_free(map->budget);
    free(map->folder);
    free(map);
}

int og_name_map_put(struct og_name_map *map, const char *bytes, const int64_t *offsets, size_t n,
                    bool adds, bool text, struct og_err *err)
{
    enum { WORDS = 256 };
    struct og_word word[WORDS];
    for (size_t first = 0, some; first < n; first += some) {
        some = OG_MIN(n - first, (size_t)WORDS);
        for (size_t i = 0; i < some; i++) {
            const int64_t at = offsets[first + i];
            const int64_t len = offsets[first + i + 1] - at;
            word[i] = (struct og_word){bytes + at, (uint32_t)OG_MIN(len, (int64_t)UINT32_MAX)};
            const char *why = text || len > OG__WORD_MOST ? og__word_wrong(&word[i]) : NULL;
            if (why)
                return og__fail(err, -EINVAL, NULL, "row %zu: %s", first + i, why);
        }
        OG_DO(og__word_map_put(&map->words, word, some, adds, err));
    }
    return 0;
}

int og_name_map_sort(struct og_name_map *map, const char *prefix, int64_t *n, struct og_err *err)
{
    struct og_node_names_writer *w = NULL;
    int rc;
    OG_TRY(og__node_names_create(&w, map->folder, prefix, map->words.longest, err));
    OG_TRY(og__word_map_sort(&map->words, og__node_names_append, w, err));
    OG_TRY(og__node_names_finish(&w, NULL, err));
    if (n)
        *n = map->words.n;
out:
    og__node_names_discard(w);
    return rc;
}

int og_name_map_take(struct og_name_map *map, uint64_t first, size_t n, uint32_t *number,
                     struct og_err *err)
{
    if (!map->words.sorted || n > map->words.puts || first > map->words.puts - n)
        return og__fail(err, -EINVAL, "sort first, then take what was put",
                        "names: occurrences %llu to %llu of %llu", (unsigned long long)first,
                        (unsigned long long)(first + n), (unsigned long long)map->words.puts);
    if (first != map->words.at)
        og__word_map_seek(&map->words, first);
    return og__word_map_take(&map->words, number, n, err);
}
