#include "dataset/neighbors.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "dataset/identity.h"
#include "dataset/on_disk.h"
#include "dataset/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { FORMAT = 1, RADIX_BITS = 16, RADIX = 1 << RADIX_BITS, NOTE_MAX = 32 * 1024 };

static const char part[] = "neighbour cache";
static const char note_file[] = "neighbors.json";
static const char nodes_file[] = "nodes.npy";
static const char ids_file[] = "ids.npy";
static const char weights_file[] = "weights.npy";

/* ---- the relations ---- */

struct caching {
    struct og_topology *t;
    const struct og_graph *g;
    struct og_neighbors_options opt; /* with the capacity that is used */
};

/* The lists of relation r; NULL: it has no edges. */
static const struct og_topology *lists_of(const struct caching *k, uint32_t r)
{
    const struct og_topology *lists = og__relation_lists(k->t, r);
    return lists->disk ? lists : NULL;
}

static struct og_neighbors *cache_of(const struct caching *k, uint32_t r)
{
    return &og__relation_lists(k->t, r)->disk->cache;
}

/* Calls fn for each relation with edges. */
typedef int relation_fn(const struct caching *k, uint32_t r, void *arg, struct og_err *err);
static int each_relation(const struct caching *k, relation_fn *fn, void *arg, struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; rc == 0 && r < og__n_lists(k->t); r++)
        if (lists_of(k, r))
            rc = fn(k, r, arg, err);
    return rc;
}

/* ---- sizes ---- */

/* Bytes of a list of `degree`: its ids, their weights, and its offset. */
static uint64_t list_bytes(int64_t degree, bool weights)
{
    const uint64_t each = sizeof(uint32_t) + (weights ? sizeof(float) : 0);
    return (uint64_t)degree * each + sizeof(uint32_t);
}

/* Bytes of a relation's cache without lists; bases of offsets as for a list of every node. */
static size_t fixed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * 8 + og__bits_words(n_nodes) * 4 + og__offsets_bytes(n_nodes) -
           (size_t)n_nodes * sizeof(uint32_t);
}

size_t og__neighbors_least_bytes(const struct og_graph *g)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += g->relation[r].n_edges > 0 ? fixed_bytes((uint64_t)g->relation[r].n_nodes) : 0;
    return bytes;
}

size_t og__neighbors_whole_bytes(const struct og_graph *g, bool weights)
{
    size_t bytes = og__neighbors_least_bytes(g);
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        if (of->n_edges > 0)
            bytes += list_bytes(of->n_edges, weights) + ((size_t)of->n_nodes - 1) * 4;
    }
    return bytes;
}

size_t og__neighbors_bytes(const struct og_graph *g, bool weights, size_t capacity)
{
    capacity = OG_MIN(capacity, og__neighbors_whole_bytes(g, weights));
    return capacity > og__neighbors_least_bytes(g) ? capacity : 0;
}

size_t og__neighbors_build_bytes(const struct og_graph *g)
{
    return (size_t)g->n_nodes * 4 + RADIX * sizeof(uint64_t) + OG__CHUNK;
}

/* ---- choosing ---- */

/* What all relations are chosen by. */
struct choosing {
    const uint32_t *uses; /* [N] out-degrees */
    uint64_t *bytes;      /* [RADIX] of lists, by a half of their scores */
    bool low; /* by the low half, of scores whose high one is `high`; else by the high */
    uint32_t high;
    int64_t threshold;
    uint64_t left; /* capacity */
};

/* Out-degree / length as the bits of a float: they compare as the number does. `uses` is of the
 * relation's first destination; a list has a length. */
static uint32_t score_of(const uint32_t *uses, uint64_t v, int64_t degree)
{
    const float score = (float)uses[v] / (float)degree;
    uint32_t bits;
    memcpy(&bits, &score, sizeof(bits));
    return bits;
}

static const uint32_t *uses_of(const struct choosing *c, const struct caching *k, uint32_t r)
{
    return c->uses + (k->t->relation ? k->t->relation[r].first : 0);
}

static int weigh_relation(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct choosing *c = arg;
    const struct og_topology *t = lists_of(k, r);
    const uint32_t *uses = uses_of(c, k, r);
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        const int64_t degree = og__degree(t, (uint32_t)v);
        const uint32_t score = degree > 0 ? score_of(uses, v, degree) : 0;
        if (degree == 0 || (c->low && score >> RADIX_BITS != c->high))
            continue;
        const uint32_t bin = c->low ? (uint16_t)score : score >> RADIX_BITS;
        c->bytes[bin] += list_bytes(degree, k->opt.weights);
    }
    return 0;
}

/* Sums the bytes of lists by the high half of their scores or, if c->low, by the low. Returns the
 * highest bin that does not fit as a whole; -1 if all fit. Leaves the rest of the capacity in
 * c->left. */
static int find_bin(const struct caching *k, struct choosing *c, struct og_err *err)
{
    int bin = RADIX - 1;
    memset(c->bytes, 0, RADIX * sizeof(*c->bytes));
    if (each_relation(k, weigh_relation, c, err) < 0)
        return -1;
    while (bin >= 0 && c->bytes[bin] <= c->left)
        c->left -= c->bytes[bin--];
    return bin;
}

static int mark_relation(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct choosing *c = arg;
    const struct og_topology *t = lists_of(k, r);
    const uint32_t *uses = uses_of(c, k, r);
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        const int64_t degree = og__degree(t, (uint32_t)v);
        const int64_t score = degree > 0 ? (int64_t)score_of(uses, v, degree) : -1;
        const bool equal = score == c->threshold;
        const uint64_t bytes = list_bytes(degree, k->opt.weights);
        if (degree == 0 || score < c->threshold || (equal && bytes > c->left))
            continue;
        c->left -= equal ? bytes : 0;
        og__bits_add(cache_of(k, r)->bits, v);
    }
    return 0;
}

/* Lists above the threshold all fit; of those exactly at it, the first that do. Two weighing passes
 * find it without sorting. */
static int choose(const struct caching *k, struct choosing *c, struct og_err *err)
{
    c->threshold = -1;
    const int high = find_bin(k, c, err);
    if (high >= 0) {
        c->low = true;
        c->high = (uint32_t)high;
        c->threshold = (int64_t)high << RADIX_BITS | find_bin(k, c, err);
    }
    return each_relation(k, mark_relation, c, err);
}

/* ---- laying out ---- */

static int take_nodes(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = cache_of(k, r);
    (void)arg;
    *c =
        (struct og_neighbors){.n_nodes = (uint64_t)lists_of(k, r)->n_nodes, .budget = k->t->budget};
    c->bits = og__alloc(c->budget, og__bits_words(c->n_nodes) * 8, part, err);
    c->rank = og__alloc(c->budget, og__bits_words(c->n_nodes) * 4, part, err);
    return c->bits && c->rank ? 0 : -ENOMEM;
}

/* Lists and ids that the marked nodes have. */
static int count_marked(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = cache_of(k, r);
    (void)arg;
    (void)err;
    c->n_lists = og__bits_count(c->bits, c->n_nodes, c->rank);
    c->n_ids = 0;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        c->n_ids += (uint64_t)og__degree(lists_of(k, r), (uint32_t)v);
    return 0;
}

/* Offsets of the marked nodes' lists, and room for their ids and weights. */
static int take_lists(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = cache_of(k, r);
    uint64_t slot = 0;
    int64_t first = 0;
    int rc = og__offsets_init(&c->first, c->n_lists, c->budget, part, err);
    (void)arg;
    if (rc < 0)
        return rc;
    c->ids = og__alloc(c->budget, c->n_ids * sizeof(*c->ids), part, err);
    if (k->opt.weights && c->ids)
        c->weights = og__alloc(c->budget, c->n_ids * sizeof(*c->weights), part, err);
    bool near = true;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++) {
        near = near && og__offsets_put(&c->first, slot++, first);
        first += og__degree(lists_of(k, r), (uint32_t)v);
    }
    near = near && og__offsets_put(&c->first, slot, first);
    if (!near)
        return og__fail(err, -EOVERFLOW, "use a smaller neighbour cache",
                        "the neighbour cache's lists are too long to be counted");
    return c->n_ids > 0 && (!c->ids || (k->opt.weights && !c->weights)) ? -ENOMEM : 0;
}

static void release(struct og_neighbors *c)
{
    og__release(c->budget, c->bits, og__bits_words(c->n_nodes) * 8, part);
    og__release(c->budget, c->rank, og__bits_words(c->n_nodes) * 4, part);
    if (c->first.base)
        og__offsets_release(&c->first, c->budget, part);
    og__release(c->budget, c->ids, c->n_ids * sizeof(*c->ids), part);
    og__release(c->budget, c->weights, c->n_ids * sizeof(*c->weights), part);
    *c = (struct og_neighbors){0};
}

void og__neighbors_release(struct og_topology *t)
{
    for (uint32_t r = 0; r < og__n_lists(t); r++) {
        struct og_topology *lists = og__relation_lists(t, r);
        if (lists->disk)
            release(&lists->disk->cache);
    }
}

/* ---- building ---- */

struct copying {
    const struct og_topology *t;
    const struct og_neighbors *c;
    uint32_t *out;       /* ids of the cache, or its weights: both have 4 bytes an edge */
    uint64_t node, slot; /* the list under way */
};

/* The parts of a run of edges that belong to cached lists. */
static int copy_run(void *arg, int64_t first, const uint32_t *from_run, size_t n,
                    struct og_err *err)
{
    struct copying *k = arg;
    const struct og_neighbors *c = k->c;
    int64_t end = first + (int64_t)n;
    (void)err;
    while (k->node < c->n_nodes) {
        int64_t list = og__first_edge(k->t, k->node);
        int64_t list_end = og__first_edge(k->t, k->node + 1);
        int64_t from = OG_MAX(list, first);
        int64_t to = OG_MIN(list_end, end);
        if (from < to)
            memcpy(k->out + og__offset(&c->first, k->slot) + (from - list),
                   from_run + (from - first), (size_t)(to - from) * sizeof(*from_run));
        if (list_end > end)
            break;
        k->node = og__bits_next(c->bits, c->n_nodes, k->node + 1);
        k->slot++;
    }
    return 0;
}

static int copy_weights(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err)
{
    struct copying *k = arg;
    const int64_t first = first_byte / (int64_t)sizeof(float);
    const size_t n = bytes / sizeof(float);
    const int rc = og__check_weights(k->t->disk->of, data, first, n, err);
    return rc < 0 ? rc : copy_run(k, first, data, n, err);
}

static int copy_lists(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = cache_of(k, r);
    const struct og_topology *t = lists_of(k, r);
    struct copying ids = {t, c, c->ids, og__bits_next(c->bits, c->n_nodes, 0), 0};
    struct copying weights = ids;
    void *buffer = NULL;
    int rc;
    (void)arg;
    if (c->n_lists == 0)
        return 0;
    OG_TRY(og__topology_scan(t, copy_run, &ids, err));
    if (!c->weights)
        return 0;
    weights.out = (uint32_t *)(void *)c->weights;
    buffer = og__alloc(c->budget, OG__CHUNK, part, err);
    rc = buffer ? og__npy_stream(&t->disk->of->weights, buffer, copy_weights, &weights, err)
                : -ENOMEM;
out:
    og__release(c->budget, buffer, OG__CHUNK, part);
    return rc;
}

static int mark_all(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_topology *t = lists_of(k, r);
    (void)arg;
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++)
        if (og__degree(t, (uint32_t)v) > 0)
            og__bits_add(cache_of(k, r)->bits, v);
    return 0;
}

/* Ranks lists by out-degree, which needs a scan of all. */
static int choose_best(const struct caching *k, struct og_err *err)
{
    struct og_budget *b = k->t->budget;
    const size_t uses_bytes = (size_t)k->t->n_nodes * sizeof(uint32_t);
    const size_t histogram_bytes = RADIX * sizeof(uint64_t);
    struct choosing c = {.left = k->opt.capacity - og__neighbors_least_bytes(k->g)};
    int rc = 0;
    uint32_t *uses = og__alloc(b, uses_bytes, part, err);
    c.uses = uses;
    c.bytes = uses ? og__alloc(b, histogram_bytes, part, err) : NULL;
    if (!c.bytes)
        OG_TRY(-ENOMEM);
    OG_TRY(og__topology_out_degrees(k->t, uses, err));
    OG_TRY(choose(k, &c, err));
out:
    og__release(b, uses, uses_bytes, part);
    og__release(b, c.bytes, histogram_bytes, part);
    return rc;
}

static int build(const struct caching *k, struct og_err *err)
{
    const bool all = k->opt.capacity >= og__neighbors_whole_bytes(k->g, k->opt.weights);
    int rc;
    OG_TRY(each_relation(k, take_nodes, NULL, err));
    OG_TRY(all ? each_relation(k, mark_all, NULL, err) : choose_best(k, err));
    OG_TRY(each_relation(k, count_marked, NULL, err));
    OG_TRY(each_relation(k, take_lists, NULL, err));
    OG_TRY(each_relation(k, copy_lists, NULL, err));
out:
    return rc;
}

/* ---- the note ---- */

/* Whole numbers of up to 63 bits as they are, checksums as 16 hexadecimal digits. */
static const struct field {
    const char *name;
    size_t offset;
    bool hex;
    bool optional; /* 0 where it is left out */
} fields[] = {
    {"structure", offsetof(struct og_neighbors_note, structure), true, false},
    {"capacity", offsetof(struct og_neighbors_note, capacity), false, false},
    {"num_nodes", offsetof(struct og_neighbors_note, n_nodes), false, false},
    {"num_edges", offsetof(struct og_neighbors_note, n_edges), false, false},
    {"lists", offsetof(struct og_neighbors_note, n_lists), false, false},
    {"ids", offsetof(struct og_neighbors_note, n_ids), false, false},
    {"nodes_checksum", offsetof(struct og_neighbors_note, nodes_checksum), true, false},
    {"ids_checksum", offsetof(struct og_neighbors_note, ids_checksum), true, false},
    {"weights_checksum", offsetof(struct og_neighbors_note, weights_checksum), true, true},
};

static uint64_t *field_of(struct og_neighbors_note *note, const struct field *f)
{
    return (uint64_t *)((char *)note + f->offset);
}

static bool parse_field(const json_t *root, const struct field *f, uint64_t *value)
{
    const json_t *v = json_object_get(root, f->name);
    if (f->optional && !v)
        return true;
    if (f->hex)
        return og__json_hex_get(v, value);
    *value = (uint64_t)json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

int og__neighbors_parse(struct og_neighbors_note *note, const char *text, size_t len,
                        const char *name, struct og_err *err)
{
    int rc = 0;
    *note = (struct og_neighbors_note){0};
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root))
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not a JSON object", name));
    if (json_integer_value(json_object_get(root, "format")) != FORMAT)
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not of format %d", name, FORMAT));
    for (size_t i = 0; i < OG_COUNT(fields); i++)
        if (!parse_field(root, &fields[i], field_of(note, &fields[i])))
            OG_TRY(og__fail(err, -EINVAL, NULL, "%s: \"%s\" is missing or wrong", name,
                            fields[i].name));
out:
    json_decref(root);
    return rc;
}

static char *print_note(struct og_neighbors_note *note, const struct og_graph *g)
{
    char *place = realpath(g->path, NULL);
    json_t *root =
        json_pack("{s:i s:o}", "format", FORMAT, "dataset", place ? og__json_text(place) : NULL);
    free(place);
    for (size_t i = 0; i < OG_COUNT(fields); i++) {
        const uint64_t value = *field_of(note, &fields[i]);
        if (fields[i].optional && value == 0)
            continue;
        root = og__json_with(root, fields[i].name,
                             fields[i].hex ? og__json_hex(value) : json_integer((json_int_t)value));
    }
    char *text = og__json_print(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(root);
    return text;
}

/* The arrays of a saved cache: those of each relation, one after another. */
enum array { NODES, IDS, WEIGHTS, ARRAYS };
static const struct {
    const char *file;
    enum og__npy_type type;
} arrays[ARRAYS] = {
    [NODES] = {nodes_file, OG__NPY_U64},
    [IDS] = {ids_file, OG__NPY_U32},
    [WEIGHTS] = {weights_file, OG__NPY_F32},
};

struct piece {
    void *data;
    uint64_t n; /* elements */
};

static struct piece piece_of(const struct og_neighbors *c, enum array a)
{
    const struct piece pieces[ARRAYS] = {[NODES] = {c->bits, og__bits_words(c->n_nodes)},
                                         [IDS] = {c->ids, c->n_ids},
                                         [WEIGHTS] = {c->weights, c->weights ? c->n_ids : 0}};
    return pieces[a];
}

/* The array's length over all relations. */
static uint64_t length_of(const struct caching *k, enum array a)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < og__n_lists(k->t); r++)
        n += lists_of(k, r) ? piece_of(cache_of(k, r), a).n : 0;
    return n;
}

static int checksum_of(const struct caching *k, enum array a, uint64_t *sum, struct og_err *err)
{
    const size_t size = og__npy_size(arrays[a].type);
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    XXH3_64bits_reset(state);
    for (uint32_t r = 0; r < og__n_lists(k->t); r++) {
        const struct piece p = lists_of(k, r) ? piece_of(cache_of(k, r), a) : (struct piece){0};
        if (p.n > 0)
            XXH3_64bits_update(state, p.data, p.n * size);
    }
    *sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}

static int count_relation(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_neighbors *c = cache_of(k, r);
    struct og_neighbors_note *note = arg;
    (void)err;
    note->n_nodes += c->n_nodes;
    note->n_edges += (uint64_t)lists_of(k, r)->n_edges;
    note->n_lists += c->n_lists;
    note->n_ids += c->n_ids;
    return 0;
}

/* Describes a cache in memory, with checksums; a saved one must match. */
static int describe(const struct caching *k, struct og_neighbors_note *note, struct og_err *err)
{
    int rc;
    *note = (struct og_neighbors_note){.capacity = k->opt.capacity};
    OG_TRY(og__structure_state(k->g, k->opt.weights, &note->structure, err));
    OG_TRY(each_relation(k, count_relation, note, err));
    OG_TRY(checksum_of(k, NODES, &note->nodes_checksum, err));
    OG_TRY(checksum_of(k, IDS, &note->ids_checksum, err));
    if (k->opt.weights)
        OG_TRY(checksum_of(k, WEIGHTS, &note->weights_checksum, err));
out:
    return rc;
}

/* ---- saving ---- */

static int save_array(const struct caching *k, enum array a, uint64_t *written, struct og_err *err)
{
    enum { HEADER = 4096 };
    char header[HEADER];
    const int64_t shape[2] = {(int64_t)length_of(k, a), 1};
    const size_t size = og__npy_size(arrays[a].type);
    struct og_newfile f = {.fd = -1};
    int rc = 0;
    char *path = og__path_join(k->opt.dir, arrays[a].file);
    if (!path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", k->opt.dir));
    OG_TRY(og__newfile_open(&f, path, err));
    uint64_t at = og__npy_header(header, arrays[a].type, 1, shape, HEADER);
    OG_TRY(og__write_all(f.fd, header, at, 0, path, err));
    for (uint32_t r = 0; r < og__n_lists(k->t); r++) {
        const struct piece p = lists_of(k, r) ? piece_of(cache_of(k, r), a) : (struct piece){0};
        if (p.n > 0)
            OG_TRY(og__write_all(f.fd, p.data, p.n * size, (off_t)at, path, err));
        at += p.n * size;
    }
    *written += at;
    OG_TRY(og__newfile_commit(&f, err));
out:
    og__newfile_abandon(&f);
    free(path);
    return rc;
}

/* Writes the note last; it holds checksums of the other files. So after an interruption the folder
 * is either complete or known not to be. */
static int save(const struct caching *k, uint64_t *written, struct og_err *err)
{
    struct og_neighbors_note note;
    char *text = NULL;
    char *path = og__path_join(k->opt.dir, note_file);
    int rc;
    OG_TRY(describe(k, &note, err));
    text = print_note(&note, k->g);
    if (!text || !path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", k->opt.dir));
    OG_TRY(og__make_dirs(k->opt.dir, err));
    for (enum array a = 0; a < (k->opt.weights ? ARRAYS : WEIGHTS); a++)
        OG_TRY(save_array(k, a, written, err));
    *written += strlen(text);
    OG_TRY(og__write_text(path, text, strlen(text), err));
out:
    free(text);
    free(path);
    return rc;
}

/* ---- loading ---- */

static int read_note(struct og_neighbors_note *note, const char *dir, struct og_err *err)
{
    char *text = NULL;
    size_t len = 0;
    char *path = og__path_join(dir, note_file);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    int rc;
    OG_TRY(og__read_text(path, NOTE_MAX, &text, &len, err));
    OG_TRY(og__neighbors_parse(note, text, len, path, err));
out:
    free(text);
    free(path);
    return rc;
}

static int accept_chunk(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err)
{
    (void)arg, (void)data, (void)first_byte, (void)bytes, (void)err;
    return 0;
}

static int load_array(const struct caching *k, enum array a, struct og_err *err)
{
    const uint64_t n = length_of(k, a);
    const size_t size = og__npy_size(arrays[a].type);
    struct og_npy file = {.fd = -1};
    char *path = og__path_join(k->opt.dir, arrays[a].file);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", k->opt.dir);
    int rc;
    OG_TRY(og__npy_open(&file, path, err));
    if (file.type != arrays[a].type || file.ndim != 1 || (uint64_t)file.shape[0] != n)
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not %s [%llu]", path, og__npy_name(arrays[a].type),
                        (unsigned long long)n));
    for (uint32_t r = 0; r < og__n_lists(k->t); r++) {
        const struct piece p = lists_of(k, r) ? piece_of(cache_of(k, r), a) : (struct piece){0};
        struct og_npy own = file; /* the relation's part of it */
        own.bytes = (int64_t)(p.n * size);
        if (p.n > 0)
            OG_TRY(og__npy_load(&own, p.data, accept_chunk, NULL, err));
        file.offset += own.bytes;
    }
out:
    og__npy_close(&file);
    free(path);
    return rc;
}

static int not_ours(const char *dir, const char *why, struct og_err *err)
{
    return og__fail(err, -EINVAL, NULL, "%s: %s", dir, why);
}

/* Marks of the nodes, once they are in: nothing beyond the last node, and a list for each. */
static int check_marks(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    static const char why[] = "its nodes are not of this graph";
    const struct og_neighbors *c = cache_of(k, r);
    const uint64_t ragged = c->n_nodes % 64;
    (void)arg;
    if (ragged && c->bits[og__bits_words(c->n_nodes) - 1] >> ragged)
        return not_ours(k->opt.dir, why, err);
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        if (og__degree(lists_of(k, r), (uint32_t)v) == 0)
            return not_ours(k->opt.dir, why, err);
    return 0;
}

static int check_contents(const struct caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_neighbors *c = cache_of(k, r);
    (void)arg;
    if (!og__ids_below(c->ids, c->n_ids, (uint64_t)og__sources(lists_of(k, r))))
        return not_ours(k->opt.dir, "it holds ids out of range", err);
    return c->weights ? og__check_weights(lists_of(k, r)->disk->of, c->weights, 0, c->n_ids, err)
                      : 0;
}

static int load(const struct caching *k, struct og_err *err)
{
    const char *dir = k->opt.dir;
    const size_t each = k->opt.weights ? 8 : 4;
    struct og_neighbors_note note = {0}, here = {0}, found;
    int rc;
    OG_TRY(read_note(&note, dir, err));
    OG_TRY(each_relation(k, take_nodes, NULL, err));
    OG_TRY(each_relation(k, count_relation, &here, err));
    OG_TRY(og__structure_state(k->g, k->opt.weights, &here.structure, err));
    if (note.structure != here.structure || note.n_nodes != here.n_nodes ||
        note.n_edges != here.n_edges)
        OG_TRY(not_ours(dir, "made of other files, or before they were written to", err));
    if (note.capacity != k->opt.capacity)
        OG_TRY(not_ours(dir, "made for another capacity", err));
    OG_TRY(load_array(k, NODES, err));
    OG_TRY(each_relation(k, check_marks, NULL, err));
    OG_TRY(each_relation(k, count_marked, NULL, err));
    here = (struct og_neighbors_note){0};
    OG_TRY(each_relation(k, count_relation, &here, err));
    if (here.n_lists != note.n_lists || here.n_ids != note.n_ids ||
        og__neighbors_least_bytes(k->g) + here.n_lists * 4 + here.n_ids * each > k->opt.capacity)
        OG_TRY(not_ours(dir, "its nodes do not have the lists that it declares", err));
    OG_TRY(each_relation(k, take_lists, NULL, err));
    OG_TRY(load_array(k, IDS, err));
    if (k->opt.weights)
        OG_TRY(load_array(k, WEIGHTS, err));
    OG_TRY(describe(k, &found, err));
    if (memcmp(&found, &note, sizeof(note)) != 0)
        OG_TRY(not_ours(dir, "its checksums do not match", err));
    OG_TRY(each_relation(k, check_contents, NULL, err));
out:
    return rc;
}

/* ---- its folder ---- */

const struct og_persistent_cache_kind og__neighbors_kind = {
    "neighbors-", {note_file, nodes_file, ids_file, weights_file}};

char *og__neighbors_dataset(const char *dir)
{
    char *text = NULL;
    size_t len = 0;
    char *path = og__path_join(dir, note_file);
    int rc = path ? og__read_text(path, NOTE_MAX, &text, &len, NULL) : -ENOMEM;
    json_t *root = rc < 0 ? NULL : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    const char *said = json_string_value(json_object_get(root, "dataset"));
    char *dataset = said ? strdup(said) : NULL;
    json_decref(root);
    free(text);
    free(path);
    return dataset;
}

char *og__neighbors_folder(const char *under, const struct og_graph *g)
{
    char *place = realpath(g->path, NULL);
    char *path = NULL;
    if (place && asprintf(&path, "%s/neighbors-%s", under,
                          og__hex(XXH3_64bits(place, strlen(place))).digits) < 0)
        path = NULL;
    free(place);
    return path;
}

/* ---- opening ---- */

static void try_to_save(const struct caching *k, uint64_t *written)
{
    struct og_err why = {0};
    if (save(k, written, &why) < 0)
        og__say(k->opt.log, OG__WARN, "%s; the neighbour cache will be built again next time",
                why.message);
}

int og__neighbors_open(struct og_topology *t, const struct og_graph *g,
                       const struct og_neighbors_options *opt, uint64_t *written,
                       struct og_err *err)
{
    struct caching k = {t, g, *opt};
    struct og_err why = {0};
    k.opt.capacity = og__neighbors_bytes(g, opt->weights, opt->capacity);
    if (k.opt.capacity == 0)
        return 0;
    int rc = opt->dir ? load(&k, &why) : -ENOENT;
    if (rc == 0)
        return 0;
    if (rc == -ENOENT)
        og__say(opt->log, OG__INFO, "building the neighbour cache");
    else if (rc != -ENOMEM)
        og__say(opt->log, OG__WARN, "%s; building the neighbour cache again", why.message);
    else
        og__fail(err, rc, why.hint, "%s", why.message);
    og__neighbors_release(t);
    if (rc != -ENOMEM)
        rc = build(&k, err);
    if (rc < 0)
        og__neighbors_release(t);
    else if (opt->dir)
        try_to_save(&k, written);
    return rc;
}
