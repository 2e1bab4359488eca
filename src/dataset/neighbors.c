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

/* ---- sizes ---- */

/* Bytes of a list of `degree`: its ids and its offset. */
static uint64_t list_bytes(int64_t degree)
{
    return (uint64_t)degree * sizeof(uint32_t) + sizeof(uint32_t);
}

/* Bytes of the cache without its lists; bases of offsets as for a list of every node. */
static size_t fixed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * 8 + og__bits_words(n_nodes) * 4 + og__offsets_bytes(n_nodes) -
           (size_t)n_nodes * sizeof(uint32_t);
}

size_t og__neighbors_whole_bytes(const struct og_relation *r)
{
    return fixed_bytes((uint64_t)r->n_nodes) + ((size_t)r->n_nodes + (size_t)r->n_edges) * 4;
}

size_t og__neighbors_least_bytes(const struct og_relation *r)
{
    return fixed_bytes((uint64_t)r->n_nodes);
}

size_t og__neighbors_bytes(const struct og_relation *r, size_t capacity)
{
    capacity = OG_MIN(capacity, og__neighbors_whole_bytes(r));
    return capacity > fixed_bytes((uint64_t)r->n_nodes) ? capacity : 0;
}

size_t og__neighbors_build_bytes(const struct og_relation *r)
{
    return (size_t)r->n_nodes * 4 + RADIX * sizeof(uint64_t) + OG__CHUNK;
}

/* ---- choosing ---- */

/* out-degree / in-degree as the bits of a float: they compare as the number does. 0 for a node
 * without in-neighbours, which has no list. */
static void score_nodes(const struct og_topology *t, uint32_t *out_degree)
{
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        int64_t in_degree = og__degree(t, (uint32_t)v);
        float score = in_degree > 0 ? (float)out_degree[v] / (float)in_degree : 0;
        memcpy(&out_degree[v], &score, sizeof(score));
    }
}

/* Bytes of the lists by the high half of their scores or, within one high half, by the low one. */
static void weigh(const struct og_topology *t, const uint32_t *score, bool low, uint32_t high,
                  uint64_t *bytes)
{
    memset(bytes, 0, RADIX * sizeof(*bytes));
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        int64_t degree = og__degree(t, (uint32_t)v);
        if (degree == 0 || (low && score[v] >> RADIX_BITS != high))
            continue;
        bytes[low ? score[v] & (RADIX - 1) : score[v] >> RADIX_BITS] += list_bytes(degree);
    }
}

/* The highest bin that does not fit as a whole; -1 if all fit. *room becomes the rest. */
static int find_bin(const uint64_t *bytes, uint64_t *room)
{
    int bin = RADIX - 1;
    while (bin >= 0 && bytes[bin] <= *room)
        *room -= bytes[bin--];
    return bin;
}

/* Lists above the threshold all fit; of those exactly at it, the first that do. Two weighing passes
 * find it without sorting. */
static void choose(struct og_neighbors *c, const struct og_topology *t, const uint32_t *score,
                   uint64_t room, uint64_t *bytes)
{
    int64_t threshold = -1;
    weigh(t, score, false, 0, bytes);
    int high = find_bin(bytes, &room);
    if (high >= 0) {
        weigh(t, score, true, (uint32_t)high, bytes);
        threshold = (int64_t)high << RADIX_BITS | find_bin(bytes, &room);
    }
    for (uint64_t v = 0; v < c->n_nodes; v++) {
        int64_t degree = og__degree(t, (uint32_t)v);
        bool equal = score[v] == threshold;
        if (degree == 0 || score[v] < threshold || (equal && list_bytes(degree) > room))
            continue;
        room -= equal ? list_bytes(degree) : 0;
        og__bits_add(c->bits, v);
    }
}

/* ---- laying out ---- */

static int take_nodes(struct og_neighbors *c, struct og_err *err)
{
    c->bits = og__alloc(c->budget, og__bits_words(c->n_nodes) * 8, part, err);
    c->rank = og__alloc(c->budget, og__bits_words(c->n_nodes) * 4, part, err);
    return c->bits && c->rank ? 0 : -ENOMEM;
}

/* Lists and ids that the marked nodes have. */
static void count_marked(struct og_neighbors *c, const struct og_topology *t)
{
    c->n_lists = og__bits_count(c->bits, c->n_nodes, c->rank);
    c->n_ids = 0;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        c->n_ids += (uint64_t)og__degree(t, (uint32_t)v);
}

/* Offsets of the marked nodes' lists, and room for their ids. */
static int take_lists(struct og_neighbors *c, const struct og_topology *t, struct og_err *err)
{
    uint64_t slot = 0;
    int64_t first = 0;
    int rc = og__offsets_init(&c->first, c->n_lists, c->budget, part, err);
    if (rc < 0)
        return rc;
    c->ids = og__alloc(c->budget, c->n_ids * sizeof(*c->ids), part, err);
    bool near = true;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++) {
        near = near && og__offsets_put(&c->first, slot++, first);
        first += og__degree(t, (uint32_t)v);
    }
    near = near && og__offsets_put(&c->first, slot, first);
    if (!near)
        return og__fail(err, -EOVERFLOW, "use a smaller neighbour cache",
                        "the neighbour cache's lists are too long to be counted");
    return c->ids ? 0 : -ENOMEM;
}

void og__neighbors_release(struct og_neighbors *c)
{
    og__release(c->budget, c->bits, og__bits_words(c->n_nodes) * 8, part);
    og__release(c->budget, c->rank, og__bits_words(c->n_nodes) * 4, part);
    if (c->first.base)
        og__offsets_release(&c->first, c->budget, part);
    og__release(c->budget, c->ids, c->n_ids * sizeof(*c->ids), part);
    *c = (struct og_neighbors){0};
}

/* ---- building ---- */

struct copying {
    const struct og_topology *t;
    struct og_neighbors *c;
    uint64_t node, slot; /* the list under way */
};

/* The parts of a run of edges that belong to cached lists. */
static int copy_run(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    struct copying *k = arg;
    struct og_neighbors *c = k->c;
    int64_t end = first + (int64_t)n;
    (void)err;
    while (k->node < c->n_nodes) {
        int64_t list = og__first_edge(k->t, k->node);
        int64_t list_end = og__first_edge(k->t, k->node + 1);
        int64_t from = OG_MAX(list, first);
        int64_t to = OG_MIN(list_end, end);
        if (from < to)
            memcpy(c->ids + og__offset(&c->first, k->slot) + (from - list), ids + (from - first),
                   (size_t)(to - from) * sizeof(*ids));
        if (list_end > end)
            break;
        k->node = og__bits_next(c->bits, c->n_nodes, k->node + 1);
        k->slot++;
    }
    return 0;
}

static void choose_all(struct og_neighbors *c, const struct og_topology *t)
{
    for (uint64_t v = 0; v < c->n_nodes; v++)
        if (og__degree(t, (uint32_t)v) > 0)
            og__bits_add(c->bits, v);
}

/* Ranks nodes by out-degree, which needs a scan of all lists. */
static int choose_best(struct og_neighbors *c, const struct og_topology *t, size_t capacity,
                       struct og_err *err)
{
    size_t score_bytes = (size_t)c->n_nodes * sizeof(uint32_t);
    size_t histogram_bytes = RADIX * sizeof(uint64_t);
    uint32_t *score = NULL;
    uint64_t *histogram = NULL;
    int rc = 0;
    score = og__alloc(c->budget, score_bytes, part, err);
    histogram = score ? og__alloc(c->budget, histogram_bytes, part, err) : NULL;
    if (!histogram)
        OG_TRY(-ENOMEM);
    OG_TRY(og__topology_out_degrees(t, score, err));
    score_nodes(t, score);
    choose(c, t, score, capacity - fixed_bytes(c->n_nodes), histogram);
out:
    og__release(c->budget, score, score_bytes, part);
    og__release(c->budget, histogram, histogram_bytes, part);
    return rc;
}

static int build(struct og_neighbors *c, const struct og_topology *t, size_t capacity,
                 struct og_err *err)
{
    int rc = take_nodes(c, err);
    if (rc < 0)
        return rc;
    if (capacity >= og__neighbors_whole_bytes(t->disk->of))
        choose_all(c, t);
    else
        rc = choose_best(c, t, capacity, err);
    if (rc < 0)
        return rc;
    count_marked(c, t);
    rc = take_lists(c, t, err);
    struct copying k = {t, c, og__bits_next(c->bits, c->n_nodes, 0), 0};
    return rc < 0 ? rc : og__topology_scan(t, copy_run, &k, err);
}

/* ---- the note ---- */

/* Whole numbers of up to 63 bits as they are, checksums as 16 hexadecimal digits. */
static const struct field {
    const char *name;
    size_t offset;
    bool hex;
} fields[] = {
    {"structure", offsetof(struct og_neighbors_note, structure), true},
    {"capacity", offsetof(struct og_neighbors_note, capacity), false},
    {"num_nodes", offsetof(struct og_neighbors_note, n_nodes), false},
    {"num_edges", offsetof(struct og_neighbors_note, n_edges), false},
    {"lists", offsetof(struct og_neighbors_note, n_lists), false},
    {"ids", offsetof(struct og_neighbors_note, n_ids), false},
    {"nodes_checksum", offsetof(struct og_neighbors_note, nodes_checksum), true},
    {"ids_checksum", offsetof(struct og_neighbors_note, ids_checksum), true},
};

static uint64_t *field_of(struct og_neighbors_note *note, const struct field *f)
{
    return (uint64_t *)((char *)note + f->offset);
}

static bool parse_field(const json_t *root, const struct field *f, uint64_t *value)
{
    const json_t *v = json_object_get(root, f->name);
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

static char *print_note(struct og_neighbors_note *note, const struct og_relation *r)
{
    char *place = realpath(r->graph->path, NULL);
    json_t *root =
        json_pack("{s:i s:o}", "format", FORMAT, "dataset", place ? og__json_text(place) : NULL);
    free(place);
    for (size_t i = 0; i < OG_COUNT(fields); i++) {
        const uint64_t value = *field_of(note, &fields[i]);
        root = og__json_with(root, fields[i].name,
                             fields[i].hex ? og__json_hex(value) : json_integer((json_int_t)value));
    }
    char *text = og__json_print(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(root);
    return text;
}

/* Describes a cache in memory, with checksums; a saved one must match. */
static struct og_neighbors_note describe(const struct og_neighbors *c, const struct og_topology *t,
                                         size_t capacity)
{
    return (struct og_neighbors_note){
        .structure = og__structure_state(&t->disk->of->graph->identity),
        .capacity = capacity,
        .n_nodes = c->n_nodes,
        .n_edges = (uint64_t)t->n_edges,
        .n_lists = c->n_lists,
        .n_ids = c->n_ids,
        .nodes_checksum = XXH3_64bits(c->bits, og__bits_words(c->n_nodes) * 8),
        .ids_checksum = XXH3_64bits(c->ids, c->n_ids * sizeof(*c->ids)),
    };
}

/* ---- saving ---- */

static int save_array(const char *dir, const char *file, enum og__npy_type type, const void *data,
                      uint64_t n, uint64_t *written, struct og_err *err)
{
    enum { HEADER = 4096 };
    char header[HEADER];
    const int64_t shape[2] = {(int64_t)n, 1};
    struct og_newfile f = {.fd = -1};
    int rc = 0;
    char *path = og__path_join(dir, file);
    if (!path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    OG_TRY(og__newfile_open(&f, path, err));
    size_t head = og__npy_header(header, type, 1, shape, HEADER);
    OG_TRY(og__write_all(f.fd, header, head, 0, path, err));
    OG_TRY(og__write_all(f.fd, data, n * og__npy_size(type), (off_t)head, path, err));
    *written += head + n * og__npy_size(type);
    OG_TRY(og__newfile_commit(&f, err));
out:
    og__newfile_abandon(&f);
    free(path);
    return rc;
}

/* Writes the note last; it holds checksums of the other files. So after an interruption the folder
 * is either complete or known not to be. */
static int save(struct og_neighbors *c, struct og_neighbors_note *note, const struct og_relation *r,
                const char *dir, struct og_err *err)
{
    int rc = 0;
    char *text = print_note(note, r);
    char *path = og__path_join(dir, note_file);
    if (!text || !path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    OG_TRY(og__make_dirs(dir, err));
    OG_TRY(save_array(dir, nodes_file, OG__NPY_U64, c->bits, og__bits_words(c->n_nodes),
                      &c->bytes_written, err));
    OG_TRY(save_array(dir, ids_file, OG__NPY_U32, c->ids, c->n_ids, &c->bytes_written, err));
    c->bytes_written += strlen(text);
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

static int load_array(const char *dir, const char *file, enum og__npy_type type, void *out,
                      uint64_t n, struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    char *path = og__path_join(dir, file);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    int rc;
    OG_TRY(og__npy_open(&a, path, err));
    if (a.type != type || a.ndim != 1 || (uint64_t)a.shape[0] != n)
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not %s [%llu]", path, og__npy_name(type),
                        (unsigned long long)n));
    OG_TRY(og__npy_load(&a, out, accept_chunk, NULL, err));
out:
    og__npy_close(&a);
    free(path);
    return rc;
}

/* Marks of the nodes, once they are in: nothing beyond the last node, and a list for each. */
static bool marks_are_sound(const struct og_neighbors *c, const struct og_topology *t)
{
    uint64_t ragged = c->n_nodes % 64;
    if (ragged && c->bits[og__bits_words(c->n_nodes) - 1] >> ragged)
        return false;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        if (og__degree(t, (uint32_t)v) == 0)
            return false;
    return true;
}

static int not_ours(const char *dir, const char *why, struct og_err *err)
{
    return og__fail(err, -EINVAL, NULL, "%s: %s", dir, why);
}

static int load(struct og_neighbors *c, const struct og_topology *t, size_t capacity,
                const char *dir, struct og_err *err)
{
    struct og_neighbors_note note = {0};
    int rc = read_note(&note, dir, err);
    if (rc < 0)
        return rc;
    if (note.structure != og__structure_state(&t->disk->of->graph->identity) ||
        note.n_nodes != c->n_nodes || note.n_edges != (uint64_t)t->n_edges)
        return not_ours(dir, "made of other files, or before they were written to", err);
    if (note.capacity != capacity)
        return not_ours(dir, "made for another capacity", err);
    OG_TRY(take_nodes(c, err));
    OG_TRY(load_array(dir, nodes_file, OG__NPY_U64, c->bits, og__bits_words(c->n_nodes), err));
    if (!marks_are_sound(c, t))
        OG_TRY(not_ours(dir, "its nodes are not of this graph", err));
    count_marked(c, t);
    if (c->n_lists != note.n_lists || c->n_ids != note.n_ids ||
        fixed_bytes(c->n_nodes) + (c->n_lists + c->n_ids) * 4 > capacity)
        OG_TRY(not_ours(dir, "its nodes do not have the lists that it declares", err));
    OG_TRY(take_lists(c, t, err));
    OG_TRY(load_array(dir, ids_file, OG__NPY_U32, c->ids, c->n_ids, err));
    const struct og_neighbors_note found = describe(c, t, capacity);
    if (memcmp(&found, &note, sizeof(note)) != 0)
        OG_TRY(not_ours(dir, "its checksums do not match", err));
    if (!og__ids_below(c->ids, c->n_ids, c->n_nodes))
        OG_TRY(not_ours(dir, "it holds ids out of range", err));
out:
    return rc;
}

/* ---- its folder ---- */

const struct og_persistent_cache_kind og__neighbors_kind = {"neighbors-",
                                                            {note_file, nodes_file, ids_file}};

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

char *og__neighbors_folder(const char *under, const struct og_relation *r)
{
    char *place = realpath(r->graph->path, NULL);
    char *path = NULL;
    if (place && asprintf(&path, "%s/neighbors-%s", under,
                          og__hex(XXH3_64bits(place, strlen(place))).digits) < 0)
        path = NULL;
    free(place);
    return path;
}

/* ---- opening ---- */

static void start(struct og_neighbors *c, const struct og_topology *t)
{
    og__neighbors_release(c);
    *c = (struct og_neighbors){.n_nodes = (uint64_t)t->n_nodes, .budget = t->budget};
}

static void try_to_save(struct og_neighbors *c, const struct og_topology *t, size_t capacity,
                        const char *dir, const struct og_log *log)
{
    struct og_err why = {0};
    struct og_neighbors_note note = describe(c, t, capacity);
    if (save(c, &note, t->disk->of, dir, &why) < 0)
        og__say(log, OG__WARN, "%s; the neighbour cache will be built again next time",
                why.message);
}

int og__neighbors_open(struct og_neighbors *c, const struct og_topology *t, size_t capacity,
                       const char *dir, const struct og_log *log, struct og_err *err)
{
    struct og_err why = {0};
    *c = (struct og_neighbors){0};
    capacity = og__neighbors_bytes(t->disk->of, capacity);
    if (capacity == 0)
        return 0;
    start(c, t);
    int rc;
    OG_TRY(dir ? load(c, t, capacity, dir, &why) : -ENOENT);
    return 0;
out:
    if (rc == -ENOENT)
        og__say(log, OG__INFO, "building the neighbour cache");
    else if (rc != -ENOMEM)
        og__say(log, OG__WARN, "%s; building the neighbour cache again", why.message);
    else
        og__fail(err, rc, why.hint, "%s", why.message);
    start(c, t);
    if (rc != -ENOMEM)
        rc = build(c, t, capacity, err);
    if (rc < 0)
        og__neighbors_release(c);
    else if (dir)
        try_to_save(c, t, capacity, dir, log);
    return rc;
}
