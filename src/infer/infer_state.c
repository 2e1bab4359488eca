#include "infer/infer_state.h"

#include "base/file.h"
#include "base/file_lock.h"
#include "base/hex.h"
#include "base/temporary.h"
#include "infer/infer_passes.h"
#include "options/options.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK "inference rows"

enum { MAX_TRIES = 100, MAX_TEXT = 1 << 20, CHECKED_AT_ONCE = 1 << 20 };

/* ==== the folder ==== */

const struct og_persistent_cache_kind og__infer_kind = {
    "outgrow-infer-", {"state.json", "sources.npy", "layer", "needed_"}};

/* 0, or -EAGAIN if it was removed meanwhile. */
static int lock_folder(struct og_infer_home *h, struct og_err *err)
{
    if (mkdir(h->path, 0700) < 0 && errno != EEXIST)
        return og__fail_errno(err, -errno, NULL, "%s: cannot create folder", h->path);
    int fd = og__folder_open(AT_FDCWD, h->path);
    if (fd < 0 && errno == ENOENT)
        return -EAGAIN;
    if (fd < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", h->path);
    int rc;
    OG_TRY(og__file_lock_named(fd));
    h->lock = fd;
    return 0;
out:
    close(fd);
    return rc == -EBUSY ? og__fail(err, -EBUSY, "wait until it ends, or use another --scratch",
                                   "%s: another process writes the same output", h->path)
                        : -EAGAIN;
}

static int make_folder(struct og_infer_home *h, struct og_err *err)
{
    int rc = -EAGAIN;
    for (int i = 0; rc == -EAGAIN && i < MAX_TRIES; i++)
        rc = lock_folder(h, err);
    return rc < 0 ? og__fail_errno(err, rc, NULL, "%s: cannot make it", h->path) : 0;
}

static int make_folders(struct og_infer_state *s, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->n_homes; i++)
        rc = make_folder(&s->home[i], err);
    return rc;
}

static int make_under(struct og_infer_home *h, const char *under, struct og_err *err)
{
    struct stat st;
    h->under = strdup(under);
    if (!h->under)
        return og__fail_errno(err, -ENOMEM, NULL, "inference");
    h->made_under = stat(under, &st) < 0 && errno == ENOENT;
    return og__make_dirs(under, err);
}

static const struct og_infer_output *last_output(const struct og_infer_state *s)
{
    return s->n_outputs > 0 ? &s->output[s->n_outputs - 1] : NULL;
}

/* Folders of --scratch, else that of the output, else the user's cache. */
static int make_unders(struct og_inference *f, const char *folder, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    struct og_places folders = {0};
    const struct og_infer_output *last = last_output(s);
    char *of_output = last && !folder ? og__folder_of(last->file.path) : NULL;
    int rc;
    OG_TRY(last && !folder && !of_output ? og__fail_errno(err, -ENOMEM, NULL, "inference") : 0);
    OG_TRY(og__scratch_folders(&folders, &f->opt, folder ? folder : of_output, err));
    if (folders.n == 0)
        OG_TRY(
            og__fail(err, -ENOENT, "use --scratch DIR", "activations: no folder to spill them to"));
    while (s->n_homes < folders.n) {
        struct og_infer_home *h = &s->home[s->n_homes];
        OG_TRY(make_under(h, folders.path[s->n_homes++], err));
    }
    f->away = f->profile;
    if (folders.n > 1)
        og__profile_load_all(folders.path, (int)folders.n, &f->away);
out:
    og__places_free(&folders);
    free(of_output);
    return rc;
}

static int name_folders(struct og_inference *f, const char *what, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    char *name = what ? strdup(what) : og__absolute(last_output(s)->file.path);
    bool named = name != NULL;
    for (uint32_t i = 0; named && i < s->n_homes; i++) {
        struct og_infer_home *h = &s->home[i];
        if (asprintf(&h->path, "%s/outgrow-infer-%s", h->under,
                     og__hex(XXH3_64bits(name, strlen(name))).digits) < 0)
            h->path = NULL;
        s->path[i] = h->path;
        named = h->path != NULL;
    }
    named = named && (s->file = og__path_join(s->home[0].path, "state.json"));
    free(name);
    return named ? 0 : og__fail_errno(err, -ENOMEM, NULL, "inference");
}

/* ==== opening and closing ==== */

int og__infer_add_output(struct og_inference *f, const char *path, int step,
                         const struct og_prediction_form *form, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    if (!path)
        return 0;
    struct og_infer_output *o = &s->output[s->n_outputs++];
    *o = (struct og_infer_output){.step = step, .form = form};
    o->is_step = !form || (!f->needed.requested && og__prediction_is_plain(form));
    return og__output_file_name(&o->file, path, f->opt.resume || f->overwrites, err);
}

int og__infer_state_open(struct og_inference *f, const char *folder, const char *what,
                         struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    s->saved = og__now();
    OG_DO(make_unders(f, folder, err));
    if (s->n_outputs > 1)
        OG_DO(og__output_file_differ(&s->output[0].file, &s->output[1].file, err));
    OG_DO(name_folders(f, what, err));
    s->numbers = og__infer_numbers(f, err);
    OG_DO(s->numbers ? 0 : -ENOMEM);
    s->hash = XXH3_createState();
    OG_DO(s->hash ? 0 : og__fail_errno(err, -ENOMEM, NULL, "inference"));
    XXH3_64bits_reset(s->hash);
    OG_DO(make_folders(s, err));
    const size_t extra = og__step_writer_extra_bytes(s->n_homes);
    OG_DO(og__budget_charge(f->budget, extra, CHECK, err));
    s->charged = extra;
    for (int i = 0; i < s->n_outputs; i++)
        OG_DO(og__output_file_lock(&s->output[i].file, err));
    return 0;
}

static void remove_all(const struct og_infer_state *s)
{
    for (int i = 0; i < s->n_outputs; i++)
        og__output_file_remove(&s->output[i].file);
    for (uint32_t i = 0; i < s->n_homes; i++) {
        if (s->home[i].lock > 0)
            og__remove_tree(s->home[i].path);
        if (s->home[i].made_under)
            rmdir(s->home[i].under);
    }
}

static void close_homes(struct og_infer_state *s)
{
    for (uint32_t i = 0; i < s->n_homes; i++) {
        if (s->home[i].lock > 0)
            close(s->home[i].lock);
        free(s->home[i].under);
        free(s->home[i].path);
    }
}

void og__infer_state_close(struct og_inference *f)
{
    struct og_infer_state *s = &f->state;
    const bool kept = s->home[0].lock > 0 && access(s->file, F_OK) == 0;
    for (uint32_t i = 0; kept && i < s->n_homes; i++)
        og__say(&f->log, OG__INFO, "%s: kept for --resume; remove it to start over", s->path[i]);
    if (!kept && s->home[0].lock > 0)
        remove_all(s);
    close_homes(s);
    for (int i = 0; i < s->n_outputs; i++) {
        const struct og_output_file *w = &s->output[i].file;
        if (w->fd > 0)
            close(w->fd);
        free(w->path);
        free(w->part);
    }
    if (s->charged > 0)
        og__budget_uncharge(f->budget, s->charged, CHECK);
    XXH3_freeState(s->hash);
    free(s->file);
    free(s->numbers);
}

/* ==== files of steps ==== */

struct og_infer_output *og__infer_output_at(struct og_inference *f, int step)
{
    struct og_infer_state *s = &f->state;
    for (int i = 0; i < s->n_outputs; i++)
        if (s->output[i].step == step)
            return &s->output[i];
    return NULL;
}

static struct og_output_file *output_at(struct og_inference *f, int step)
{
    struct og_infer_output *o = og__infer_output_at(f, step);
    return o && o->is_step ? &o->file : NULL;
}

static size_t row_bytes_of(const struct og_inference *f, int step)
{
    const struct og_whole_layer s = f->kind->shape(f, step / 2);
    return (size_t)(step % 2 ? s.n_out : s.n_source) * sizeof(float);
}

static uint64_t rows_of(const struct og_inference *f, int step)
{
    return og__infer_nodes(f, step / 2 + step % 2);
}

int og__infer_step_files(struct og_inference *f, int step, struct og_step_files *out,
                         struct og_err *err)
{
    const struct og_infer_state *s = &f->state;
    const struct og_output_file *w = output_at(f, step);
    char name[32];
    if (w)
        return og__step_files_one(out, w->in_place ? w->path : w->part, err);
    snprintf(name, sizeof(name), "layer%d.npy", step / 2 + 1);
    return og__step_files_name(out, (struct og_places){s->n_homes, s->path},
                               step % 2 ? name : "sources.npy", row_bytes_of(f, step), err);
}

void og__infer_drop_step(struct og_inference *f, int step)
{
    struct og_step_files files;
    if (og__infer_output_at(f, step) || og__infer_step_files(f, step, &files, NULL) < 0)
        return;
    og__step_files_remove(&files);
    og__step_files_free(&files);
}

/* Hashes the first `bytes` of these files. */
static bool hash_rows(struct og_infer_state *s, const struct og_step_files *files, size_t row,
                      uint64_t bytes, char *buffer)
{
    struct og_step_reader r;
    bool there = og__step_reader_open(&r, files, row, NULL) == 0;
    XXH3_64bits_reset(s->hash);
    for (uint64_t at = 0; there && at < bytes; at += CHECKED_AT_ONCE) {
        const size_t n = (size_t)OG_MIN(bytes - at, (uint64_t)CHECKED_AT_ONCE);
        there = og__step_reader_read(&r, at, n, buffer, NULL) == 0;
        if (there)
            XXH3_64bits_update(s->hash, buffer, n);
    }
    og__step_reader_close(&r);
    return there;
}

static bool are_rows(struct og_inference *f, int step, uint64_t rows, char *buffer)
{
    struct og_infer_state *s = &f->state;
    const size_t row = row_bytes_of(f, step);
    struct og_step_files files = {0};
    const bool there = og__infer_step_files(f, step, &files, NULL) == 0 &&
                       hash_rows(s, &files, row, rows * row, buffer);
    og__step_files_free(&files);
    return there && XXH3_64bits_digest(s->hash) == s->checksum[step];
}

/* Whether the first `rows` rows of a step are unchanged. An output may have its final name already.
 * Or an inference with another form of the output has left them. */
static bool has_rows(struct og_inference *f, int step, uint64_t rows, char *buffer)
{
    struct og_infer_output *o = og__infer_output_at(f, step);
    bool there = are_rows(f, step, rows, buffer);
    if (there || !o || !o->is_step)
        return there;
    if (f->state.step > step) {
        o->file.in_place = true;
        there = o->file.in_place = are_rows(f, step, rows, buffer);
    }
    if (!there && o->form) {
        o->is_step = false;
        there = are_rows(f, step, rows, buffer);
        o->is_step = !there;
    }
    return there;
}

static bool is_whole(struct og_inference *f, int step, char *buffer)
{
    return has_rows(f, step, rows_of(f, step), buffer);
}

/* Whether the current step, or the command after all steps, reads the rows of `step`. */
static bool is_input(struct og_inference *f, int step)
{
    const int now = f->state.step, l = now / 2;
    const bool end = l == f->config.layers;
    if (og__infer_output_at(f, step) || f->hops.labelled ||
        (!end && og__infer_own_step(f, l) == step) || (l > 0 && step == og__combine_step(l - 1)))
        return step % 2 || f->kind->shape(f, step / 2).transforms;
    return !end && now == og__combine_step(l) && step == og__transform_step(l) &&
           f->kind->shape(f, l).transforms;
}

/* Checks all finished steps whose rows are used again, the current one's last: the hash continues
 * from them. */
static bool all_whole(struct og_inference *f, char *buffer)
{
    struct og_infer_state *s = &f->state;
    for (int step = 0; step < s->step; step++)
        if (is_input(f, step) && !is_whole(f, step, buffer))
            return false;
    XXH3_64bits_reset(s->hash);
    return s->step == 2 * f->config.layers || s->rows == 0 || has_rows(f, s->step, s->rows, buffer);
}

/* ==== state.json ==== */

static json_t *checksums_json(const struct og_inference *f)
{
    json_t *list = json_array();
    for (int i = 0; i < 2 * f->config.layers; i++)
        list = og__json_append(list, og__json_hex(f->state.checksum[i]));
    return list;
}

static json_t *folders_json(const struct og_infer_state *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_homes; i++) { /* by absolute name */
        char *whole = realpath(s->path[i], NULL);
        list = og__json_append(list, og__json_text(whole ? whole : s->path[i]));
        free(whole);
    }
    return list;
}

/* Whether the state is in the current folders. A single folder may have another name. */
static bool lies_here(const struct og_infer_state *s, const json_t *root)
{
    const json_t *said = json_object_get(root, "folders");
    json_t *ours = folders_json(s);
    const bool alone = s->n_homes == 1 && json_array_size(said) <= 1;
    const bool same = alone || (ours && json_equal(said, ours));
    json_decref(ours);
    return same;
}

static int save(struct og_inference *f, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    json_t *root = json_pack(
        "{s:s s:o s:i s:I s:o s:O s:I s:I s:I s:f s:I s:I s:I s:f}", "numbers", s->numbers,
        "folders", folders_json(s), "step", s->step, "rows", (json_int_t)s->rows, "checksums",
        checksums_json(f), "layers", f->layers, "reads", (json_int_t)f->counts.reads, "bytes_read",
        (json_int_t)f->counts.bytes, "bytes_written", (json_int_t)f->bytes_written, "layer_seconds",
        og__now() - f->layer_start, "prepare_reads", (json_int_t)f->prepare.reads,
        "prepare_bytes_read", (json_int_t)f->prepare.bytes, "prepare_bytes_written",
        (json_int_t)f->prepare_written, "seconds", og__now() - f->start);
    s->saved = og__now();
    return og__json_deliver(root, s->file, NULL, err);
}

static uint64_t whole_number(const json_t *root, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(root, key));
}

static bool take_checksums(struct og_infer_state *s, int layers, const json_t *list)
{
    const size_t n = 2 * (size_t)layers;
    bool fits = json_array_size(list) == n;
    for (size_t i = 0; fits && i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        s->checksum[i] = text ? strtoull(text, NULL, 16) : 0;
    }
    return fits;
}

/* A place to go on, of a step with so many rows. */
static bool is_place(uint64_t rows, uint64_t most)
{
    return rows == most || (rows < most && rows % OG__WHOLE_ROWS == 0);
}

json_t *og__infer_state_parse(struct og_infer_state *s, int layers, const uint64_t *most,
                              const char *text, size_t len)
{
    json_t *root = json_loadb(text, len, 0, NULL);
    const char *numbers = json_string_value(json_object_get(root, "numbers"));
    const json_t *told = json_object_get(root, "layers");
    json_int_t step = json_integer_value(json_object_get(root, "step"));
    uint64_t rows = whole_number(root, "rows");
    bool fits = og__infer_same_numbers(numbers, s->numbers) && step >= 0 && step <= 2 * layers &&
                is_place(rows, most[step]) && json_is_array(told) &&
                json_array_size(told) == (size_t)step / 2 &&
                take_checksums(s, layers, json_object_get(root, "checksums"));
    s->step = fits ? (int)step : 0;
    s->rows = fits ? rows : 0;
    if (fits)
        return root;
    json_decref(root);
    return NULL;
}

/* Continues the counters. */
static void take_figures(struct og_inference *f, const json_t *root)
{
    json_decref(f->layers);
    f->layers = json_incref(json_object_get(root, "layers"));
    f->counts = (struct og_io_counts){.reads = whole_number(root, "reads"),
                                      .bytes = whole_number(root, "bytes_read")};
    f->bytes_written = whole_number(root, "bytes_written");
    f->layer_start = og__now() - json_number_value(json_object_get(root, "layer_seconds"));
    f->prepare.reads += whole_number(root, "prepare_reads");
    f->prepare.bytes += whole_number(root, "prepare_bytes_read");
    f->prepare_written += whole_number(root, "prepare_bytes_written");
    f->start -= json_number_value(json_object_get(root, "seconds"));
}

/* Returns why the state cannot be resumed, or NULL if it is. */
static const char *go_on(struct og_inference *f, char *buffer)
{
    struct og_infer_state *s = &f->state;
    char *text;
    size_t len;
    if (!f->opt.resume)
        return "the state kept here is not used without --resume; starting over";
    if (og__read_text(s->file, MAX_TEXT, &text, &len, NULL) < 0)
        return "the state kept here cannot be read; starting over";
    uint64_t most[OG__INFER_STEPS + 1] = {0};
    for (int step = 0; step < 2 * f->config.layers; step++)
        most[step] = rows_of(f, step);
    json_t *root = og__infer_state_parse(s, f->config.layers, most, text, len);
    const char *why = NULL;
    if (!root)
        why = "the state is of another checkpoint, dataset or options; starting over";
    else if (!lies_here(s, root))
        why = "the state is of other folders of --scratch, or another order; starting over";
    else if (!all_whole(f, buffer))
        why = "the state kept here is of another form of --out, or damaged; starting over";
    else
        take_figures(f, root);
    json_decref(root);
    free(text);
    return why;
}

static void forget_rows(struct og_infer_state *s)
{
    unlink(s->file); /* first: it refers to the others; og__infer_create truncates these */
    for (int i = 0; i < s->n_outputs; i++)
        s->output[i].file.in_place = false;
    s->step = 0;
    s->rows = 0;
    XXH3_64bits_reset(s->hash);
}

/* Without an interrupted inference --resume replaces nothing. Files that are there may be results.
 */
static int refuse_to_replace(const struct og_inference *f, struct og_err *err)
{
    const struct og_infer_state *s = &f->state;
    const char *there = f->hops.folder && access(f->hops.folder, F_OK) == 0 ? f->hops.folder : NULL;
    for (int i = 0; !there && i < s->n_outputs; i++)
        if (access(s->output[i].file.path, F_OK) == 0)
            there = s->output[i].file.path;
    return !there || f->overwrites || !f->opt.resume
               ? 0
               : og__fail(err, -EEXIST, OG__HOW_TO_REPLACE,
                          "%s: exists already, and --resume finds nothing to continue", there);
}

int og__infer_begin(struct og_inference *f, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    const char *why = "nothing to resume; starting over";
    bool kept = access(s->file, F_OK) == 0;
    f->layer_start = og__now();
    if (kept) {
        char *buffer = og__alloc(f->budget, CHECKED_AT_ONCE, CHECK, err);
        if (!buffer)
            return -ENOMEM;
        why = go_on(f, buffer);
        og__release(f->budget, buffer, CHECKED_AT_ONCE, CHECK);
    }
    OG_DO(why ? refuse_to_replace(f, err) : 0);
    if (why && (kept || f->opt.resume))
        og__say(&f->log, OG__INFO, "%s: %s", s->path[0], why);
    if (why)
        forget_rows(s);
    else
        og__say(&f->log, OG__INFO, "%s: resuming in layer %d of %d at node %" PRIu64, s->path[0],
                OG_MIN(s->step / 2 + 1, f->config.layers), f->config.layers, s->rows);
    return 0;
}

/* ==== a step ==== */

int og__infer_create(struct og_inference *f, int step, struct og_step_writer **w, uint64_t *done,
                     struct og_err *err)
{
    const int64_t cols = (int64_t)(row_bytes_of(f, step) / sizeof(float));
    const struct og_output_file *output = output_at(f, step);
    struct og_step_files files;
    *done = f->state.rows;
    *w = NULL;
    if (output)
        return og__step_writer_over(w, output->fd, output->part, *done, cols, err);
    int rc = og__infer_step_files(f, step, &files, err);
    if (rc < 0)
        return rc;
    rc = og__step_writer_open(w, &files, *done, cols, err);
    og__step_files_free(&files);
    return rc;
}

int og__infer_append(struct og_inference *f, struct og_step_writer *w, const float *rows,
                     uint32_t n, int dim, struct og_err *err)
{
    size_t bytes = n * (size_t)dim * sizeof(float);
    f->bytes_written += bytes;
    XXH3_64bits_update(f->state.hash, rows, bytes);
    return og__step_writer_append(w, rows, n, err);
}

int og__infer_mark(struct og_inference *f, struct og_step_writer *w, uint64_t rows,
                   struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    const volatile sig_atomic_t *stop = f->observer ? f->observer->stop : NULL;
    bool stopped = og__stop_requested(stop);
    int rc = 0;
    if (!stopped && og__now() - s->saved < f->opt.checkpoint_every)
        return 0;
    OG_TRY(og__step_writer_sync(w, err));
    s->rows = rows;
    s->checksum[s->step] = XXH3_64bits_digest(s->hash);
    OG_TRY(save(f, err));
    if (stopped)
        rc = og__fail(err, OG_INTERRUPTED, "resume with --resume", "interrupted");
out:
    return rc;
}

int og__infer_next_step(struct og_inference *f, int next, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    s->checksum[s->step] = XXH3_64bits_digest(s->hash);
    s->step = next;
    s->rows = 0;
    XXH3_64bits_reset(s->hash);
    return save(f, err);
}

/* ==== the end ==== */

/* Renames all outputs or none, unless a file is in the way. */
int og__infer_deliver(struct og_inference *f, struct og_err *err)
{
    struct og_infer_state *s = &f->state;
    bool fresh[OG_MAX_HOPS] = {false};
    int rc = 0, done = 0;
    for (int i = 0; i < s->n_outputs; i++) {
        const struct og_output_file *w = &s->output[i].file;
        fresh[i] = access(w->path, F_OK) < 0;
        OG_TRY(og__output_file_check(w, err));
    }
    for (; done < s->n_outputs; done++)
        OG_TRY(og__output_file_deliver(&s->output[done].file, err));
    if (f->folder)
        OG_TRY(og__newdir_commit(f->folder, err));
    unlink(s->file);
out:
    for (int i = 0; rc < 0 && i < done; i++)
        if (fresh[i])
            (void)!rename(s->output[i].file.path, s->output[i].file.part);
    return rc;
}
