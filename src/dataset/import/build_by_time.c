/* --by-time: sorts written lists by the times of their edges. An edge without a time of its own has
 * that of its source. Equal times stay in the order of sources.
 *
 *   indices, weights, edge_ids, edge_times ──> a run of lists in memory ──> sorted ──> new files
 *
 * Features of edges are written afterwards, by the numbers in edge_ids. */
#include "dataset/import/import.h"

#include "dataset/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 20, LISTS = 8192 }; /* edges and lists of a run, as a rule */

static const char part[] = "import";
static const enum og__array arrays[] = {OG__INDICES, OG__WEIGHTS, OG__EDGE_IDS, OG__EDGE_TIMES};
enum { N_ARRAYS = OG_COUNT(arrays), TIMES = N_ARRAYS - 1 };

struct ordering {
    struct og_importer *imp;
    uint32_t relation;
    struct og_npy indptr, file[N_ARRAYS]; /* fd -1: none */
    struct og_npy_writer *writer[N_ARRAYS];
    const int64_t *node;    /* [sources] times, for edges without */
    int64_t ptr[LISTS + 1]; /* of the run */
    int64_t room;           /* edges */
    struct og_timed *timed; /* [2 room] */
    int64_t *element;       /* [2 room] of an array; then the same in order */
};

/* ---- files ---- */

struct file_name {
    char text[64];
};

static struct file_name file_name(const struct ordering *o, enum og__array array,
                                  const char *prefix)
{
    struct file_name name;
    snprintf(name.text, sizeof(name.text), "%s%s.npy", prefix,
             og__relation_array(&o->imp->graph, o->relation, array).text);
    return name;
}

/* fd -1: it is not there. */
static int open_file(const struct og_importer *imp, const char *name, struct og_npy *out,
                     struct og_err *err)
{
    char *path = og__import_target(imp, name);
    int rc = path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    out->fd = -1;
    if (path && access(path, F_OK) == 0)
        rc = og__npy_open(out, path, err);
    free(path);
    return rc;
}

static int open_files(struct ordering *o, struct og_err *err)
{
    OG_DO(open_file(o->imp, file_name(o, OG__INDPTR, "").text, &o->indptr, err));
    for (int a = 0; a < N_ARRAYS; a++)
        OG_DO(open_file(o->imp, file_name(o, arrays[a], "").text, &o->file[a], err));
    return 0;
}

static int create_files(struct ordering *o, struct og_err *err)
{
    for (int a = 0; a < N_ARRAYS; a++)
        if (o->file[a].fd >= 0)
            OG_DO(og__array_create(&o->writer[a], o->imp->dir.temporary,
                                   file_name(o, arrays[a], "by_time_").text, o->file[a].type, 1, 1,
                                   err));
    return 0;
}

static int take_place(const struct ordering *o, int a, struct og_err *err)
{
    const struct file_name name = file_name(o, arrays[a], "");
    char *from = og__import_target(o->imp, file_name(o, arrays[a], "by_time_").text);
    char *to = og__import_target(o->imp, name.text);
    int rc = from && to ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", name.text);
    if (rc == 0 && rename(from, to) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", to);
    free(from);
    free(to);
    return rc;
}

static int finish_files(struct ordering *o, struct og_err *err)
{
    for (int a = 0; a < N_ARRAYS; a++) {
        if (o->file[a].fd < 0)
            continue;
        OG_DO(og__array_finish(&o->writer[a], file_name(o, arrays[a], "").text, o->imp->checksums,
                               err));
        OG_DO(take_place(o, a, err));
    }
    return 0;
}

/* ---- a run of lists ---- */

static void drop_room(struct ordering *o)
{
    struct og_budget *b = o->imp->budget;
    og__release(b, o->timed, 2 * (size_t)o->room * sizeof(*o->timed), part);
    og__release(b, o->element, 2 * (size_t)o->room * sizeof(*o->element), part);
    o->timed = NULL;
    o->element = NULL;
}

static int take_room(struct ordering *o, int64_t n, struct og_err *err)
{
    struct og_budget *b = o->imp->budget;
    if (n <= o->room)
        return 0;
    drop_room(o);
    o->room = n;
    o->timed = og__alloc(b, 2 * (size_t)n * sizeof(*o->timed), part, err);
    o->element = o->timed ? og__alloc(b, 2 * (size_t)n * sizeof(*o->element), part, err) : NULL;
    return o->element ? 0 : -ENOMEM;
}

/* Edges from o->ptr[0] on, whose times are in o->element. */
static void sort_lists(struct ordering *o, int64_t lists)
{
    const int64_t first = o->ptr[0];
    for (int64_t i = 0; i < o->ptr[lists] - first; i++)
        o->timed[i] = (struct og_timed){o->element[i], (uint32_t)i};
    for (int64_t v = 0; v < lists; v++)
        og__sort_by_time(o->timed + (o->ptr[v] - first), o->timed + o->room,
                         (size_t)(o->ptr[v + 1] - o->ptr[v]));
}

static int read_times(struct ordering *o, int64_t first, int64_t n, struct og_err *err)
{
    const struct og_npy *from = o->node ? &o->file[0] : &o->file[TIMES];
    const int rc = og__npy_read_int64(from, first, n, o->element, err);
    for (int64_t i = 0; rc == 0 && o->node && i < n; i++)
        o->element[i] = o->node[o->element[i]];
    return rc;
}

static int write_array(struct ordering *o, int a, int64_t first, int64_t n, struct og_err *err)
{
    const size_t size = og__npy_size(o->file[a].type);
    const char *from = (const char *)o->element;
    char *to = (char *)(o->element + o->room);
    OG_DO(og__npy_read(&o->file[a], first, n, o->element, err));
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * size, from + o->timed[i].place * size, size);
    return og__npy_append(o->writer[a], to, n, err);
}

static int sort_run(struct ordering *o, int64_t lists, struct og_err *err)
{
    const int64_t first = o->ptr[0], n = o->ptr[lists] - first;
    OG_DO(take_room(o, n, err));
    OG_DO(read_times(o, first, n, err));
    sort_lists(o, lists);
    for (int a = 0; a < N_ARRAYS; a++)
        if (o->file[a].fd >= 0)
            OG_DO(write_array(o, a, first, n, err));
    return 0;
}

static int sort_all(struct ordering *o, struct og_err *err)
{
    const int64_t n_lists = o->indptr.shape[0] - 1;
    int64_t lists;
    OG_DO(take_room(o, OG_MAX(OG_MIN((int64_t)AT_ONCE, o->file[0].shape[0]), (int64_t)1), err));
    for (int64_t v = 0; v < n_lists; v += lists) {
        const int64_t n = OG_MIN(n_lists - v, (int64_t)LISTS);
        OG_DO(og__npy_read_int64(&o->indptr, v, n + 1, o->ptr, err));
        for (lists = 1; lists < n && o->ptr[lists + 1] - o->ptr[0] <= o->room; lists++) {
        }
        OG_DO(sort_run(o, lists, err));
    }
    return 0;
}

/* ---- all relations ---- */

static int sort_relation(struct ordering *o, const int64_t *times, enum og_times_kind *kind,
                         struct og_err *err)
{
    const struct og_relation *r = &o->imp->graph.relation[o->relation];
    int rc;
    OG_TRY(open_files(o, err));
    *kind = o->file[TIMES].fd >= 0 ? OG_TIMES_EDGE : times ? OG_TIMES_NODE : OG_TIMES_OFF;
    if (*kind == OG_TIMES_OFF)
        goto out;
    o->node = *kind == OG_TIMES_NODE ? times + o->imp->graph.group[r->source].first : NULL;
    OG_TRY(create_files(o, err));
    OG_TRY(sort_all(o, err));
    OG_TRY(finish_files(o, err));
out:
    drop_room(o);
    og__npy_close(&o->indptr);
    for (int a = 0; a < N_ARRAYS; a++) {
        og__npy_discard(o->writer[a]);
        og__npy_close(&o->file[a]);
    }
    return rc;
}

static int sort_relations(struct og_importer *imp, const int64_t *times, struct og_err *err)
{
    struct ordering *o = og__alloc(imp->budget, sizeof(*o), part, err);
    json_t *by = json_array();
    bool any = false;
    int rc = o ? 0 : -ENOMEM;
    for (uint32_t r = 0; rc == 0 && r < imp->graph.n_relations; r++) {
        *o = (struct ordering){.imp = imp, .relation = r, .indptr.fd = -1};
        for (int a = 0; a < N_ARRAYS; a++)
            o->file[a].fd = -1;
        enum og_times_kind kind = OG_TIMES_OFF;
        rc = sort_relation(o, times, &kind, err);
        any |= kind != OG_TIMES_OFF;
        by = og__json_append(by, json_string(og__times_words[kind]));
    }
    if (rc == 0 && !any)
        rc = og__fail(err, -EINVAL, "leave out --by-time, or give times of edges or of nodes",
                      "%s: --by-time, but there are no times", imp->src);
    og__release(imp->budget, o, sizeof(*o), part);
    og__import_note(imp, og__by_time_key, by);
    return rc;
}

int og__import_by_time(struct og_importer *imp, struct og_err *err)
{
    const size_t bytes = (size_t)imp->graph.n_nodes * sizeof(int64_t);
    struct og_npy file = {.fd = -1};
    int64_t *times = NULL;
    int rc;
    OG_TRY(open_file(imp, "node_times.npy", &file, err));
    if (file.fd >= 0) {
        times = og__alloc(imp->budget, bytes, part, err);
        OG_TRY(times ? og__npy_read(&file, 0, imp->graph.n_nodes, times, err) : -ENOMEM);
    }
    OG_TRY(sort_relations(imp, times, err));
out:
    og__npy_close(&file);
    og__release(imp->budget, times, bytes, part);
    return rc;
}
