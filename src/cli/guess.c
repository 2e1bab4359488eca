/* Which format files are in, from their names and, of a file that stands alone, its first line. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first that is there decides. */
static const struct sign {
    const char *file, *format;
} signs[] = {
    {"metadata.yaml", "graphbolt"},
    {"processed/paper___cites___paper/edge_index.npy", "ogb"},
    {"raw/data.npz", "ogb"},
    {"raw/edge.csv.gz", "ogb"},
    {"raw/num-node-dict.csv.gz", "ogb"},
    {"processed/paper__cites__paper/edge_index.npy", "igb"},
    {"edges.npy", "npy"},
    {"graph.mtx", "mtx"},
    {"graph.mtx.gz", "mtx"},
    {"edges.txt", "edgelist"},
    {"edges.tsv", "edgelist"},
    {"edges.csv", "edgelist"},
    {"edges.el", "edgelist"},
    {"edges.txt.gz", "edgelist"},
    {"edges.tsv.gz", "edgelist"},
    {"edges.csv.gz", "edgelist"},
    {"edges.el.gz", "edgelist"},
};
enum { N_SIGNS = sizeof(signs) / sizeof(*signs) };

/* What others call the files of `import npy`. */
static const char *const other_names[][2] = {
    {"edge_index.npy", "edges.npy"}, {"edge.npy", "edges.npy"},
    {"x.npy", "feat.npy"},           {"features.npy", "feat.npy"},
    {"node_feat.npy", "feat.npy"},   {"y.npy", "label.npy"},
    {"labels.npy", "label.npy"},     {"node_label.npy", "label.npy"},
    {"train_idx.npy", "train.npy"},  {"valid_idx.npy", "valid.npy"},
    {"val_idx.npy", "valid.npy"},    {"test_idx.npy", "test.npy"},
};

bool is_format(const char *word)
{
    for (size_t i = 0; i < N_SIGNS; i++)
        if (strcmp(signs[i].format, word) == 0)
            return true;
    return false;
}

static bool is_there(const char *folder, const char *file)
{
    char *path = NULL;
    bool there = asprintf(&path, "%s/%s", folder, file) >= 0 && access(path, F_OK) == 0;
    free(path);
    return there;
}

static int refuse(struct og_err *err, int code, const char *src, const char *why, const char *hint)
{
    *err = (struct og_err){.code = code};
    snprintf(err->message, sizeof(err->message), "%.300s: %s", src, why);
    snprintf(err->hint, sizeof(err->hint), "%s", hint);
    return code;
}

/* A folder that almost is one of `import npy`. */
static int refuse_folder(const char *src, struct og_err *err)
{
    char hint[sizeof(err->hint)] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (is_there(src, other_names[i][0]) && used < sizeof(hint))
            used += (size_t)snprintf(hint + used, sizeof(hint) - used, "%s%s %s",
                                     used ? ", " : "call ", other_names[i][0], other_names[i][1]);
    if (used == 0)
        return refuse(err, -EINVAL, src, "a folder of no format that is known",
                      "`outgrow help import` says which files each format has");
    return refuse(err, -EINVAL, src, "no edges.npy, but other files of `import npy`", hint);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

static int guess_file(const char *src, const char **format, const char **file, struct og_err *err)
{
    char head[16] = "";
    FILE *f = fopen(src, "re");
    size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
    if (f)
        fclose(f);
    bool gzip = n > 2 && memcmp(head, "\x1f\x8b", 2) == 0;
    bool matrix = strncmp(head, "%%MatrixMarket", 14) == 0 || ends_with(src, ".mtx.gz");
    if (!matrix && !gzip && memchr(head, 0, n))
        return refuse(err, -EINVAL, src, "no text",
                      "name a folder, or a file of edges as text: `outgrow help import`");
    *format = matrix ? "mtx" : "edgelist";
    *file = matrix ? "a matrix of Matrix Market" : "text that stands alone";
    return 0;
}

int guess_format(const char *src, const char **format, const char **file, struct og_err *err)
{
    struct stat st;
    if (stat(src, &st) < 0)
        return refuse(err, -ENOENT, src, "not there", "name a file or folder to import");
    if (!S_ISDIR(st.st_mode))
        return guess_file(src, format, file, err);
    for (size_t i = 0; i < N_SIGNS; i++) {
        if (!is_there(src, signs[i].file))
            continue;
        *format = signs[i].format;
        *file = signs[i].file;
        return 0;
    }
    return refuse_folder(src, err);
}
