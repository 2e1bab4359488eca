/* Lists of nodes that a user names (og__graph_nodes):
 *
 *     train, valid, test    a split
 *     unlabelled            nodes without a label
 *     FILE.npy              names (S or U); of nodes without names ids as in train.npy, or a mask
 *     FILE of text          a name or an id a line; of a table its column "id"
 *     anything else         one node, by its name or id
 *
 * Ids in a text are those of tables of predictions: the source's, where the dataset has them. */
#include "base/file.h"
#include "base/sort.h"
#include "dataset/graph_parts.h"
#include "dataset/node_names.h"
#include "dataset/text_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 4096 };

static const char new_hint[] =
    "new nodes come in by an import with their rows; the same checkpoint then predicts them";
static const char words_hint[] =
    "give train, valid, test, unlabelled, a .npy file, a file with an id a line, or one id";

/* ==== words of a list ==== */

struct listed {
    const struct og_graph *g;
    const bool *groups; /* that may be named; NULL: all */
    const char *path;
    const char *one;  /* the only word, or NULL */
    struct og_npy a;  /* an array of texts, or */
    const char *text; /* a mapped file: */
    size_t bytes;
    int64_t n;
    int64_t *at; /* [n] where the words of a text begin */
    char raw[OG__FIELD_MOST], word[OG__FIELD_MOST];
};

/* UTF-8 of one character. */
static uint32_t put_character(char *out, uint32_t c)
{
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | (c >> (6 * more)));
    for (int i = 1; i <= more; i++)
        out[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3f));
    return (uint32_t)more + 1;
}

static int read_text(struct listed *l, int64_t i, struct og_word *word, struct og_err *err)
{
    const size_t width = (size_t)l->a.shape[1];
    const bool wide = l->a.type == OG__NPY_WIDE_TEXT;
    if (width * og__npy_size(l->a.type) > sizeof(l->raw))
        return og__fail(err, -EINVAL, "give the names that the dataset has",
                        "%s: names of %zu characters", l->path, width);
    const int rc = og__npy_read(&l->a, i, 1, l->raw, err);
    *word = (struct og_word){l->raw, (uint32_t)strnlen(l->raw, width)};
    if (rc < 0 || !wide)
        return rc;
    *word = (struct og_word){l->word, 0};
    for (size_t k = 0; k < width; k++) {
        uint32_t c;
        memcpy(&c, l->raw + k * sizeof(c), sizeof(c));
        if (c == 0 || c > 0x10ffff)
            break;
        word->len += put_character(l->word + word->len, c);
    }
    return 0;
}

size_t og__text_field(const char *text, size_t bytes, size_t at, char *out, struct og_word *word)
{
    const bool quoted = at < bytes && text[at] == '"';
    uint32_t n = 0;
    bool inside = quoted;
    for (at += quoted; at < bytes; at++) {
        const char c = text[at];
        if (inside && c == '"' && at + 1 < bytes && text[at + 1] == '"')
            at++;
        else if (quoted && c == '"') {
            inside = false;
            continue;
        } else if (quoted && !inside && c == '\r') /* of the line's end */
            continue;
        else if (!inside && (c == ',' || c == '\n'))
            break;
        if (n < OG__FIELD_MOST)
            out[n++] = c;
    }
    if (!quoted && n > 0 && out[n - 1] == '\r')
        n--;
    *word = (struct og_word){out, n};
    return at;
}

static int read_word(struct listed *l, int64_t i, struct og_word *word, struct og_err *err)
{
    *word = (struct og_word){l->one, l->one ? (uint32_t)strlen(l->one) : 0};
    if (l->one)
        return 0;
    if (l->a.fd >= 0)
        return read_text(l, i, word, err);
    (void)og__text_field(l->text, l->bytes, (size_t)l->at[i], l->word, word);
    return 0;
}

/* ---- a file of text ---- */

/* Where field `column` of the line at `at` begins, unless it is empty. Returns where the next line
 * begins. */
static size_t take_line(struct listed *l, size_t at, size_t column, int64_t *begin)
{
    struct og_word field;
    *begin = -1;
    for (size_t k = 0;; k++, at++) {
        const size_t first = at;
        at = og__text_field(l->text, l->bytes, at, l->word, &field);
        if (k == column && field.len > 0)
            *begin = (int64_t)first;
        if (at >= l->bytes || l->text[at] == '\n')
            return at + 1;
    }
}

/* Which column has ids, and whether the first line is a header. */
static int find_column(struct listed *l, size_t first, size_t *column, bool *header,
                       struct og_err *err)
{
    struct og_word word;
    size_t at = first, n = 0;
    *header = false;
    do {
        at = og__text_field(l->text, l->bytes, at, l->word, &word);
        if (!*header && word.len == 2 && memcmp(word.text, "id", 2) == 0) {
            *header = true;
            *column = n;
        }
        n++;
    } while (at < l->bytes && l->text[at++] == ',');
    if (n > 1 && !*header)
        return og__fail(err, -EINVAL, "call the column id in the first line, or list an id a line",
                        "%s: %zu columns, none of them called id", l->path, n);
    return 0;
}

/* Places of the words, or, without an array for them, their number. */
static int64_t find_words(struct listed *l, size_t at, size_t column, bool header)
{
    int64_t n = 0, begin;
    while (at < l->bytes) {
        at = take_line(l, at, column, &begin);
        if (!header && begin >= 0) {
            if (l->at)
                l->at[n] = begin;
            n++;
        }
        header = false;
    }
    return n;
}

int og__text_map(const char *path, const char **text, size_t *bytes, struct og_err *err)
{
    uint64_t size = 0;
    const int fd = og__open_plain(path, &size, err);
    if (fd < 0)
        return fd;
    void *file = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    const int why = errno;
    close(fd);
    if (file == MAP_FAILED)
        return og__fail_errno(err, -why, NULL, "%s: cannot map", path);
    *text = file;
    *bytes = size;
    if (file && memchr(file, 0, OG_MIN(*bytes, (size_t)CHUNK)))
        return og__fail(err, -EINVAL, words_hint, "%s: neither a .npy file nor text", path);
    return 0;
}

void og__text_unmap(const char *text, size_t bytes)
{
    if (text)
        munmap((void *)(uintptr_t)text, bytes);
}

size_t og__text_begin(const char *text, size_t bytes)
{
    return bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static int open_text(struct listed *l, struct og_budget *b, struct og_err *err)
{
    size_t column = 0, first;
    bool header = false;
    OG_DO(og__text_map(l->path, &l->text, &l->bytes, err));
    first = og__text_begin(l->text, l->bytes);
    OG_DO(find_column(l, first, &column, &header, err));
    l->n = find_words(l, first, column, header);
    l->at = og__alloc(b, (size_t)OG_MAX(l->n, (int64_t)1) * sizeof(*l->at), "seeds", err);
    OG_DO(l->at ? 0 : -ENOMEM);
    (void)find_words(l, first, column, header);
    return 0;
}

static void close_listed(struct listed *l, struct og_budget *b)
{
    if (l->at)
        og__release(b, l->at, (size_t)OG_MAX(l->n, (int64_t)1) * sizeof(*l->at), "seeds");
    og__text_unmap(l->text, l->bytes);
    og__npy_close(&l->a);
}

/* ==== from words to nodes ==== */

/* "row 3" of an array, "line 4" of a text. */
static void where(const struct listed *l, int64_t i, char out[48])
{
    long long line = 1;
    for (size_t at = 0; l->text && at < (size_t)l->at[i]; at++)
        line += l->text[at] == '\n';
    snprintf(out, 48, l->text ? "line %lld" : "row %lld", l->text ? line : (long long)i);
}

static int refuse_word(struct listed *l, int64_t i, const char *hint, const char *why,
                       struct og_err *err)
{
    char place[48];
    struct og_word word;
    OG_DO(read_word(l, i, &word, err));
    if (l->one)
        return og__fail(err, -ENOENT, hint, "--nodes: no such file, and %s %.200s", why, l->one);
    where(l, i, place);
    return og__fail(err, -EINVAL, hint, "%s: %s: %s %.*s", l->path, place, why,
                    (int)OG_MIN(word.len, (uint32_t)200), word.text);
}

static bool may_be(const struct listed *l, uint32_t group)
{
    return !l->groups || l->groups[group];
}

static bool is_of_groups(const struct listed *l, int64_t node)
{
    return node >= 0 && node < l->g->n_nodes && may_be(l, og__group_of(l->g, (uint32_t)node));
}

/* The word is of this node too. */
static int take_node(struct listed *l, int64_t i, int64_t node, int64_t *list, struct og_err *err)
{
    if (list[i] >= 0)
        return refuse_word(l, i, "give a .npy file of ids, as train.npy is one",
                           "two types have a node called", err);
    list[i] = node;
    return 0;
}

static int find_in_group(struct listed *l, uint32_t group, int64_t *list, bool *named,
                         struct og_err *err)
{
    struct og_node_names *names = NULL;
    struct og_word name;
    int rc;
    OG_TRY(og__node_names_open(&names, l->g, group, err));
    *named = names;
    for (int64_t i = 0; names && i < l->n; i++) {
        OG_TRY(read_word(l, i, &name, err));
        const int64_t at = og__node_names_find(names, &name);
        if (at >= 0)
            OG_TRY(take_node(l, i, l->g->group[group].first + at, list, err));
    }
out:
    og__node_names_close(names);
    return rc;
}

/* A requested id of the source, and its place in the list. */
struct wanted {
    int64_t id, place;
};

static int by_id(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The node has an id of the source; all that request it get it. */
static int match(struct listed *l, const struct wanted *w, int64_t n, int64_t id, int64_t node,
                 int64_t *list, struct og_err *err)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (w[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && w[low].id == id; low++)
        OG_DO(take_node(l, w[low].place, node, list, err));
    return 0;
}

static int match_all(struct listed *l, const struct wanted *w, int64_t n_words, int64_t *list,
                     struct og_err *err)
{
    const struct og_npy *ids = &l->g->node_ids;
    int64_t id[CHUNK];
    for (int64_t first = 0, n; first < ids->shape[0]; first += n) {
        n = OG_MIN(ids->shape[0] - first, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(ids, first, n, id, err));
        for (int64_t i = 0; i < n; i++)
            if (may_be(l, og__group_of(l->g, (uint32_t)(first + i))))
                OG_DO(match(l, w, n_words, id[i], first + i, list, err));
    }
    return 0;
}

/* Where an id would be if ids were in order, as nearly all are. */
static int guess_place(const struct og_npy *ids, int64_t first, int64_t end, int64_t id,
                       int64_t *at, struct og_err *err)
{
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        int64_t value;
        OG_DO(og__npy_read_int64(ids, middle, 1, &value, err));
        if (value < id)
            first = middle + 1;
        else
            end = middle;
    }
    *at = first;
    return 0;
}

/* The first row from `at` on with an id; -1: none. */
static int search(const struct og_npy *ids, int64_t at, int64_t end, int64_t id, int64_t *node,
                  struct og_err *err)
{
    int64_t value[CHUNK];
    *node = -1;
    for (int64_t n; at < end && *node < 0; at += n) {
        n = OG_MIN(end - at, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(ids, at, n, value, err));
        for (int64_t i = n; i-- > 0;)
            *node = value[i] == id ? at + i : *node;
    }
    return 0;
}

int og__graph_find_id(const struct og_graph *g, uint32_t group, const char *digits, int64_t *node,
                      struct og_err *err)
{
    const struct og_npy *ids = &g->node_ids;
    const int64_t first = g->group[group].first, end = first + g->group[group].n_nodes;
    char *rest;
    int64_t at;
    int rc;
    *node = -1;
    errno = 0;
    const int64_t id = strtoll(digits, &rest, 10);
    if (errno || *rest || rest == digits)
        return 0;
    if (ids->fd < 0) {
        *node = id >= first && id < end ? id : -1;
        return 0;
    }
    OG_TRY(guess_place(ids, first, end, id, &at, err));
    OG_TRY(search(ids, at, OG_MIN(at + 1, end), id, node, err));
    if (*node < 0)
        rc = search(ids, first, end, id, node, err);
out:
    return rc;
}

/* Whether the word is a whole number. */
static int read_id(struct listed *l, int64_t i, int64_t *id, bool *is, struct og_err *err)
{
    char digits[32], *end;
    struct og_word word;
    const int rc = read_word(l, i, &word, err);
    if (rc < 0)
        return rc;
    snprintf(digits, sizeof(digits), "%.*s", (int)OG_MIN(word.len, (uint32_t)31), word.text);
    errno = 0;
    *id = strtoll(digits, &end, 10);
    *is = !errno && !*end && end != digits && word.len <= 20;
    return 0;
}

/* Words that are ids of the source, or of a dataset without them its own. Where some nodes have
 * names, words may be these. */
static int find_ids(struct listed *l, bool named, int64_t *list, struct og_budget *b,
                    struct og_err *err)
{
    const bool own = l->g->node_ids.fd < 0;
    const size_t bytes = (size_t)l->n * sizeof(struct wanted);
    struct wanted *w = og__alloc(b, bytes, "seeds", err);
    int64_t n = 0, id;
    bool is;
    int rc = w ? 0 : -ENOMEM;
    for (int64_t i = 0; rc == 0 && i < l->n; i++) {
        OG_TRY(read_id(l, i, &id, &is, err));
        if (!is && !named)
            OG_TRY(refuse_word(l, i, l->one ? words_hint : "give ids that are whole numbers",
                               "ids are numbers in this dataset, not", err));
        if (is)
            w[n++] = (struct wanted){id, i};
        if (is && own && (!named || is_of_groups(l, id)))
            OG_TRY(take_node(l, i, id, list, err));
    }
    if (rc < 0 || own)
        goto out;
    og__sort_in_place(w, (size_t)n, sizeof(*w), by_id);
    OG_TRY(match_all(l, w, n, list, err));
out:
    og__release(b, w, bytes, "seeds");
    return rc;
}

/* A refused list: what is repeated in it is named by its word, for users know no rows. */
static int name_repeat(struct listed *l, const int64_t *list, struct og_budget *b,
                       struct og_err *err)
{
    const size_t bytes = (size_t)l->n * sizeof(struct wanted);
    struct wanted *w = og__alloc(b, bytes, "seeds", NULL);
    int64_t again = l->n;
    if (!w)
        return -EINVAL;
    for (int64_t i = 0; i < l->n; i++)
        w[i] = (struct wanted){list[i], i};
    og__sort_in_place(w, (size_t)l->n, sizeof(*w), by_id);
    for (int64_t i = 1; i < l->n; i++)
        if (w[i].id == w[i - 1].id)
            again = OG_MIN(again, OG_MAX(w[i].place, w[i - 1].place));
    og__release(b, w, bytes, "seeds");
    if (again == l->n)
        return -EINVAL;
    if (err)
        *err = (struct og_err){0};
    return refuse_word(l, again, "remove what is repeated", "listed twice:", err);
}

/* Names of the nodes, where these are of one group, and it has names; else NULL. */
static int open_only_names(const struct og_graph *g, const bool *groups,
                           struct og_node_names **names, struct og_err *err)
{
    uint32_t only = 0, n = 0;
    *names = NULL;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (!groups || groups[k]) {
            only = k;
            n++;
        }
    return n == 1 ? og__node_names_open(names, g, only, err) : 0;
}

/* Numbers, where nodes go by names. Nodes of several types may share a name: then they are taken.
 */
static int refuse_numbers(const struct og_graph *g, const bool *groups, const char *what,
                          struct og_err *err)
{
    struct og_node_names *names;
    int rc = open_only_names(g, groups, &names, err);
    if (names)
        rc = og__node_names_refuse(names, what, err);
    og__node_names_close(names);
    return rc;
}

/* The word is no name. */
static int refuse_unknown(struct listed *l, int64_t i, struct og_err *err)
{
    char place[48], what[300];
    struct og_word word;
    int rc = read_word(l, i, &word, err);
    bool number = rc == 0 && word.len > 0;
    for (uint32_t k = 0; number && k < word.len; k++)
        number = word.text[k] >= '0' && word.text[k] <= '9';
    if (number) {
        where(l, i, place);
        if (l->one)
            snprintf(what, sizeof(what), "--nodes %.100s", l->one);
        else
            snprintf(what, sizeof(what), "%.200s: %s", l->path, place);
        rc = refuse_numbers(l->g, l->groups, what, err);
    }
    if (rc < 0)
        return rc;
    return refuse_word(l, i, new_hint,
                       l->groups ? "no node of a type that the model predicts is called"
                                 : "no node is called",
                       err);
}

/* Names, then ids of nodes that have none. *named: some nodes have. */
static int find_nodes(struct listed *l, int64_t *list, bool *named, struct og_budget *b,
                      struct og_err *err)
{
    const bool *const groups = l->groups;
    bool *by_ids = calloc(l->g->n_groups, sizeof(*by_ids));
    bool some = false;
    int rc = by_ids ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", l->path);
    *named = false;
    for (uint32_t k = 0; rc == 0 && k < l->g->n_groups; k++) {
        bool has = false;
        if (!may_be(l, k))
            continue;
        rc = find_in_group(l, k, list, &has, err);
        *named |= has;
        some |= by_ids[k] = !has;
    }
    l->groups = by_ids;
    if (rc == 0 && some)
        rc = find_ids(l, *named, list, b, err);
    l->groups = groups;
    free(by_ids);
    return rc;
}

static int load_words(struct listed *l, struct og_budget *b, uint32_t **ids, struct og_err *err)
{
    const size_t bytes = (size_t)l->n * sizeof(int64_t);
    bool named;
    int rc = 0;
    if (l->n == 0)
        return 0;
    int64_t *list = og__alloc(b, bytes, "seeds", err);
    if (!list)
        return -ENOMEM;
    memset(list, 0xff, bytes);
    OG_TRY(find_nodes(l, list, &named, b, err));
    for (int64_t i = 0; (named || l->g->node_ids.fd >= 0) && i < l->n; i++)
        if (list[i] < 0)
            OG_TRY(refuse_unknown(l, i, err));
    rc = og__graph_take_ids(l->g, l->path, NULL, list, l->n, b, ids, err);
    if (rc == -EINVAL)
        rc = name_repeat(l, list, b, err);
out:
    og__release(b, list, bytes, "seeds");
    return rc;
}

/* ==== masks ==== */

/* Rows of a file with a row a node. */
typedef bool og_is_listed(const struct og_graph *g, const void *row);

static bool is_set(const struct og_graph *g, const void *row)
{
    (void)g;
    return *(const uint8_t *)row;
}

static bool has_no_label(const struct og_graph *g, const void *row)
{
    int64_t class = 0;
    const float *label = row;
    bool none = true;
    if (og__float_labels(g))
        for (int j = 0; j < g->n_classes; j++)
            none &= isnan(label[j]) != 0;
    else
        og__npy_widen(g->labels.type, row, 1, &class);
    return none && class < (og__float_labels(g) ? 1 : 0);
}

/* Counts the listed nodes of the groups, and stores them where there is room. */
static int walk_rows(const struct og_graph *g, const bool *groups, const struct og_npy *a,
                     og_is_listed *is, uint32_t *ids, int64_t *count, struct og_err *err)
{
    const size_t row = og__npy_size(a->type) * (size_t)a->shape[1];
    const int64_t rows = OG_MAX((int64_t)((256 << 10) / row), (int64_t)1);
    char *buffer = malloc((size_t)rows * row);
    int rc = 0;
    *count = 0;
    if (!buffer)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", a->path);
    for (int64_t first = 0, n; rc == 0 && first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, rows);
        rc = og__npy_read(a, first, n, buffer, err);
        for (int64_t i = 0; rc == 0 && i < n; i++) {
            const uint32_t node = (uint32_t)(first + i);
            if ((groups && !groups[og__group_of(g, node)]) || !is(g, buffer + (size_t)i * row))
                continue;
            if (ids)
                ids[*count] = node;
            ++*count;
        }
    }
    free(buffer);
    return rc;
}

static int load_rows(const struct og_graph *g, const bool *groups, const struct og_npy *a,
                     og_is_listed *is, struct og_budget *b, uint32_t **ids, int64_t *count,
                     struct og_err *err)
{
    uint32_t *found = NULL;
    int64_t n = 0;
    int rc;
    OG_TRY(walk_rows(g, groups, a, is, NULL, &n, err));
    if (n == 0)
        return 0;
    found = og__alloc(b, (size_t)n * sizeof(*found), "seeds", err);
    OG_TRY(found ? 0 : -ENOMEM);
    rc = walk_rows(g, groups, a, is, found, count, err);
    if (rc == 0 && *count != n)
        rc = og__fail(err, -EIO, "keep it as it is meanwhile", "%s: changed while it was read",
                      a->path);
    if (rc == 0)
        *ids = found;
out:
    if (rc < 0 && found)
        og__release(b, found, (size_t)n * sizeof(*found), "seeds");
    return rc;
}

/* Rows of a table are in another order than nodes that have names. */
static int check_mask(const struct og_graph *g, const struct og_npy *a, struct og_err *err)
{
    struct og_node_names *names;
    const int rc = og__node_names_open(&names, g, 0, err);
    const bool other = names || g->node_ids.fd >= 0;
    og__node_names_close(names);
    if (rc < 0)
        return rc;
    if (other)
        return og__fail(err, -EINVAL,
                        names ? "list names, one a line of text"
                              : "list ids, one a line of text; numpy.flatnonzero(mask) if the mask "
                                "is in the order of nodes",
                        "%s: a mask, and nodes of %s are in the order of their ids, not of a table",
                        a->path, g->path);
    if (a->ndim != 1 || a->shape[0] != g->n_nodes)
        return og__fail(err, -EINVAL, "give a mask with a row a node, or ids",
                        "%s: a mask of %lld, the graph has %lld nodes", a->path,
                        (long long)(a->shape[0] * a->shape[1]), (long long)g->n_nodes);
    return 0;
}

/* ==== lists ==== */

static int load_numbers(const struct og_graph *g, const struct og_npy *a, const bool *groups,
                        struct og_budget *b, uint32_t **ids, int64_t *count, struct og_err *err)
{
    int rc;
    if (a->type == OG__NPY_BOOL) {
        OG_TRY(check_mask(g, a, err));
        return load_rows(g, groups, a, is_set, b, ids, count, err);
    }
    if (a->ndim != 1 || !og__npy_is_integer(a->type))
        OG_TRY(og__fail(err, -EINVAL, "numpy.save a one-dimensional array of integers or names",
                        "%s: %d dimensions of %s, a list of node ids expected", a->path, a->ndim,
                        og__npy_name(a->type)));
    if (a->shape[0] > 0)
        OG_TRY(refuse_numbers(g, groups, a->path, err));
    OG_TRY(og__graph_take_ids(g, a->path, a, NULL, a->shape[0], b, ids, err));
    *count = a->shape[0];
out:
    return rc;
}

static bool is_npy(const char *path)
{
    char magic[6] = {0};
    const int fd = og__open_plain(path, &(uint64_t){0}, NULL);
    const bool is = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
                    memcmp(magic, "\x93NUMPY", sizeof(magic)) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

static int load_file(const struct og_graph *g, const char *path, const bool *groups,
                     struct og_budget *b, uint32_t **ids, int64_t *count, struct og_err *err)
{
    struct listed *l = calloc(1, sizeof(*l));
    const bool absent = access(path, F_OK) < 0 && errno == ENOENT;
    int rc;
    if (!l)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    *l = (struct listed){
        .g = g, .groups = groups, .path = path, .one = absent ? path : NULL, .a = {.fd = -1}};
    if (absent) {
        l->n = 1;
    } else if (is_npy(path)) {
        OG_TRY(og__npy_open_words(&l->a, path, err));
        if (l->a.type < OG__NPY_TEXT) {
            rc = load_numbers(g, &l->a, groups, b, ids, count, err);
            goto out;
        }
        l->n = l->a.shape[0];
    } else {
        OG_TRY(open_text(l, b, err));
    }
    OG_TRY(load_words(l, b, ids, err));
    *count = l->n;
out:
    close_listed(l, b);
    free(l);
    return rc;
}

static int load_unlabelled(const struct og_graph *g, const bool *groups, struct og_budget *b,
                           uint32_t **ids, int64_t *count, struct og_err *err)
{
    if (!og__npy_there(&g->labels))
        return og__fail(err, -EINVAL, "leave it out: every node is then predicted",
                        "--nodes unlabelled: %s has no labels", g->path);
    return load_rows(g, groups, &g->labels, has_no_label, b, ids, count, err);
}

int og__graph_nodes(const struct og_graph *g, const char *which, const bool *groups,
                    struct og_budget *b, uint32_t **ids, int64_t *count, struct og_err *err)
{
    const enum og__split split = og__split_named(which, strlen(which));
    int rc;
    *ids = NULL;
    *count = 0;
    if (split < OG__SPLITS)
        rc = og__graph_split(g, split, b, ids, count, err);
    else if (strcmp(which, "unlabelled") == 0 || strcmp(which, "unlabeled") == 0)
        rc = load_unlabelled(g, groups, b, ids, count, err);
    else
        rc = load_file(g, which, groups, b, ids, count, err);
    if (rc == 0 && *count == 0)
        return og__fail(err, -EINVAL, words_hint, "--nodes %s: there are none", which);
    return rc;
}
