/* Neighbour caches that are kept for later runs: a folder of three arrays and a note. */
#include "dataset/neighbors_parts.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "dataset/identity.h"
#include "dataset/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { FORMAT = 1, NOTE_MAX = 32 * 1024 };

static const char part[] = "neighbour cache";
static const char note_file[] = "neighbors.json";
static const char nodes_file[] = "nodes.npy";
static const char ids_file[] = "ids.npy";
static const char weights_file[] = "weights.npy";

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
static uint64_t length_of(const struct og_caching *k, enum array a)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < og__n_lists(k->t); r++)
        n += og__neighbors_lists(k, r) ? piece_of(og__neighbors_cache(k, r), a).n : 0;
    return n;
}

static int checksum_of(const struct og_caching *k, enum array a, uint64_t *sum, struct og_err *err)
{
    const size_t size = og__npy_size(arrays[a].type);
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    XXH3_64bits_reset(state);
    for (uint32_t r = 0; r < og__n_lists(k->t); r++) {
        const struct piece p =
            og__neighbors_lists(k, r) ? piece_of(og__neighbors_cache(k, r), a) : (struct piece){0};
        if (p.n > 0)
            XXH3_64bits_update(state, p.data, p.n * size);
    }
    *sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}

static int count_relation(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_neighbors *c = og__neighbors_cache(k, r);
    struct og_neighbors_note *note = arg;
    (void)err;
    note->n_nodes += c->n_nodes;
    note->n_edges += (uint64_t)og__neighbors_lists(k, r)->n_edges;
    note->n_lists += c->n_lists;
    note->n_ids += c->n_ids;
    return 0;
}

/* Describes a cache in memory, with checksums; a saved one must match. */
static int describe(const struct og_caching *k, struct og_neighbors_note *note, struct og_err *err)
{
    int rc;
    *note = (struct og_neighbors_note){.capacity = k->opt.capacity};
    OG_TRY(og__structure_state(k->g, k->opt.weights, &note->structure, err));
    OG_TRY(og__neighbors_each(k, count_relation, note, err));
    OG_TRY(checksum_of(k, NODES, &note->nodes_checksum, err));
    OG_TRY(checksum_of(k, IDS, &note->ids_checksum, err));
    if (k->opt.weights)
        OG_TRY(checksum_of(k, WEIGHTS, &note->weights_checksum, err));
out:
    return rc;
}

/* ---- saving ---- */

static int save_array(const struct og_caching *k, enum array a, uint64_t *written,
                      struct og_err *err)
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
        const struct piece p =
            og__neighbors_lists(k, r) ? piece_of(og__neighbors_cache(k, r), a) : (struct piece){0};
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

int og__neighbors_write_folder(const struct og_caching *k, uint64_t *written, struct og_err *err)
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

static int load_array(const struct og_caching *k, enum array a, struct og_err *err)
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
        const struct piece p =
            og__neighbors_lists(k, r) ? piece_of(og__neighbors_cache(k, r), a) : (struct piece){0};
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
static int check_marks(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    static const char why[] = "its nodes are not of this graph";
    const struct og_neighbors *c = og__neighbors_cache(k, r);
    const uint64_t ragged = c->n_nodes % 64;
    (void)arg;
    if (ragged && c->bits[og__bits_words(c->n_nodes) - 1] >> ragged)
        return not_ours(k->opt.dir, why, err);
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        if (og__degree(og__neighbors_lists(k, r), (uint32_t)v) == 0)
            return not_ours(k->opt.dir, why, err);
    return 0;
}

static int check_contents(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_neighbors *c = og__neighbors_cache(k, r);
    (void)arg;
    if (!og__ids_below(c->ids, c->n_ids, (uint64_t)og__sources(og__neighbors_lists(k, r))))
        return not_ours(k->opt.dir, "it holds ids out of range", err);
    return c->weights ? og__check_weights(og__neighbors_lists(k, r)->disk->of, c->weights, 0,
                                          c->n_ids, err)
                      : 0;
}

int og__neighbors_read_folder(const struct og_caching *k, struct og_err *err)
{
    const char *dir = k->opt.dir;
    const size_t each = k->opt.weights ? 8 : 4;
    struct og_neighbors_note note = {0}, here = {0}, found;
    OG_DO(read_note(&note, dir, err));
    OG_DO(og__neighbors_each(k, og__neighbors_take_nodes, NULL, err));
    OG_DO(og__neighbors_each(k, count_relation, &here, err));
    OG_DO(og__structure_state(k->g, k->opt.weights, &here.structure, err));
    if (note.structure != here.structure || note.n_nodes != here.n_nodes ||
        note.n_edges != here.n_edges)
        OG_DO(not_ours(dir, "made of other files, or before they were written to", err));
    if (note.capacity != k->opt.capacity)
        OG_DO(not_ours(dir, "made for another capacity", err));
    OG_DO(load_array(k, NODES, err));
    OG_DO(og__neighbors_each(k, check_marks, NULL, err));
    OG_DO(og__neighbors_each(k, og__neighbors_count_marked, NULL, err));
    here = (struct og_neighbors_note){0};
    OG_DO(og__neighbors_each(k, count_relation, &here, err));
    if (here.n_lists != note.n_lists || here.n_ids != note.n_ids ||
        og__neighbors_least_bytes(k->g) + here.n_lists * 4 + here.n_ids * each > k->opt.capacity)
        OG_DO(not_ours(dir, "its nodes do not have the lists that it declares", err));
    OG_DO(og__neighbors_each(k, og__neighbors_take_lists, NULL, err));
    OG_DO(load_array(k, IDS, err));
    if (k->opt.weights)
        OG_DO(load_array(k, WEIGHTS, err));
    OG_DO(describe(k, &found, err));
    if (memcmp(&found, &note, sizeof(note)) != 0)
        OG_DO(not_ours(dir, "its checksums do not match", err));
    return og__neighbors_each(k, check_contents, NULL, err);
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
