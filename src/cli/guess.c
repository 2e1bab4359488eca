/* Detection of import formats, from file names and, for a single file, its first line. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Other libraries' names for the files of `import npy`; edges first. */
enum { N_EDGES = 2 };
static const char *const other_names[][2] = {
    {"edge.npy", "edges.npy"},       {"edge.csv", "edges.csv"},   {"features.npy", "feat.npy"},
    {"node_feat.npy", "feat.npy"},   {"labels.npy", "label.npy"}, {"x.csv", "feat.csv"},
    {"features.csv", "feat.csv"},    {"feat.txt", "feat.csv"},    {"y.csv", "label.csv"},
    {"labels.csv", "label.csv"},     {"label.txt", "label.csv"},  {"train.txt", "train.csv"},
    {"valid.txt", "valid.csv"},      {"val.txt", "val.csv"},      {"test.txt", "test.csv"},
    {"node_label.npy", "label.npy"}, {"node.csv", "nodes.csv"},   {"vertices.csv", "nodes.csv"},
    {"nodes.txt", "nodes.csv"},
};

bool is_format(const char *word)
{
    const struct og_import_format *f;
    for (size_t i = 0; (f = og_import_format(i)); i++)
        if (strcmp(f->name, word) == 0)
            return true;
    return false;
}

bool is_there(const char *folder, const char *file)
{
    char *path = NULL;
    bool there = asprintf(&path, "%s/%s", folder, file) >= 0 && access(path, F_OK) == 0;
    free(path);
    return there;
}

/* Is NAME.csv there, or NAME.npy, which has the same? */
static bool has_content(const char *folder, const char *file)
{
    char array[64];
    const size_t n = strcspn(file, ".");
    snprintf(array, sizeof(array), "%.*s.npy", (int)n, file);
    return is_there(folder, file) || is_there(folder, array);
}

/* Hints to rename arrays from other_names[from] on, unless a file has the right name; "" if there
 * are none. */
static void hint_names(char *hint, size_t size, const char *src, size_t from)
{
    size_t used = 0;
    hint[0] = 0;
    for (size_t i = from; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (used < size && is_there(src, other_names[i][0]) && !has_content(src, other_names[i][1]))
            used += (size_t)snprintf(hint + used, size - used, "%s%s to %s",
                                     used ? ", " : "rename ", other_names[i][0], other_names[i][1]);
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Names in a folder, "a, b, c", as many as fit. */
static void list_names(char *names, size_t size, const char *src)
{
    struct dirent **entry = NULL;
    const int n = scandir(src, &entry, visible, alphasort);
    size_t used = 0;
    names[0] = 0;
    for (int i = 0; i < n; i++) {
        const char *name = used + strlen(entry[i]->d_name) + 8 < size ? entry[i]->d_name : "...";
        if (used + 8 < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
        free(entry[i]);
    }
    free(entry);
}

static bool has_end(const char *src, const char *const ends[2])
{
    struct dirent **entry = NULL;
    const int n = scandir(src, &entry, visible, alphasort);
    bool has = false;
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < 2; k++)
            has = has || (ends[k] && ends_with(entry[i]->d_name, ends[k]));
        free(entry[i]);
    }
    free(entry);
    return has;
}

/* The format of a folder; NULL = none. */
static const struct og_import_format *format_by_signs(const char *folder, const char **sign)
{
    const struct og_import_format *f;
    for (size_t i = 0; (f = og_import_format(i)); i++)
        for (size_t k = 0; f->signs[k]; k++)
            if (is_there(folder, f->signs[k])) {
                *sign = f->signs[k];
                return f;
            }
    return NULL;
}

static bool is_called(const char *src, const char *const *ends)
{
    for (; ends && *ends; ends++)
        if (ends_with(src, *ends))
            return true;
    return false;
}

/* Can it be imported by itself, a folder or a file with a format's ending? */
static bool is_source(const char *path)
{
    const struct og_import_format *f;
    const char *sign;
    bool is = format_by_signs(path, &sign);
    for (size_t i = 0; !is && (f = og_import_format(i)); i++)
        is = is_called(path, f->ends);
    return is;
}

/* Hints at what was meant: something in the folder, or the folder that it is in. */
static void hint_nearby(char *hint, size_t size, const char *src)
{
    struct dirent **entry = NULL;
    const int n = scandir(src, &entry, visible, alphasort);
    char path[PATH_MAX];
    hint[0] = 0;
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", src, entry[i]->d_name);
        if (!hint[0] && is_source(path))
            snprintf(hint, size, "give %.300s", path);
        free(entry[i]);
    }
    free(entry);
    snprintf(path, sizeof(path), "%s/..", src);
    if (!hint[0] && is_source(path))
        snprintf(hint, size, "give the folder that it is in");
}

/* Refuses a folder that nearly is one of `import npy`, or needs no import. */
static int refuse_folder(const char *src, struct og_err *err)
{
    char hint[sizeof(err->hint)];
    char names[160];
    if (is_there(src, "meta.json") && is_there(src, "indptr.npy"))
        return failure(err, -EINVAL, "use it directly, or `outgrow export` to convert it",
                       "%.300s: already a dataset", src);
    hint_names(hint, sizeof(hint), src, 0);
    list_names(names, sizeof(names), src);
    if (hint[0])
        return failure(err, -EINVAL, hint, "%.300s: no edges.npy, but other files of `import npy`",
                       src);
    if (is_there(src, "nodes.csv") || is_there(src, "nodes.csv.gz"))
        return failure(err, -EINVAL,
                       "write edges.csv next to it: the line src,dst, then a line an edge; to "
                       "learn from features alone, an edge from each node to itself",
                       "%.300s: nodes.csv, but no edges", src);
    hint_nearby(hint, sizeof(hint), src);
    if (!hint[0] && has_end(src, (const char *const[2]){".csv", ".csv.gz"}))
        snprintf(hint, sizeof(hint),
                 "rename the edges to edges.csv, the table of nodes to nodes.csv, and name columns "
                 "with other names: `outgrow import %.100s graph --id-columns SRC,DST "
                 "--node-id NAME --node-label NAME`",
                 src);
    if (!hint[0] && has_end(src, (const char *const[2]){".parquet", NULL}))
        snprintf(hint, sizeof(hint),
                 "call the files edges.parquet and nodes.parquet; of several types "
                 "edges_<source>__<name>__<destination>.parquet and nodes_<type>.parquet");
    if (!hint[0])
        snprintf(hint, sizeof(hint),
                 "expected edges in edges.npy, edges.csv or edges.parquet; `outgrow help import` "
                 "lists the files of each format, also of tgb and relbench");
    return failure(err, -EINVAL, hint, "%.300s: a folder of no known format: %s", src,
                   names[0] ? names : "it is empty");
}

/* Refuses arrays with other names, which formats with the arrays of `import npy` would ignore. With
 * an explicit format they are ignored. */
static int refuse_left_out(const char *src, const struct og_import_format *f, struct og_err *err)
{
    char hint[sizeof(err->hint)] = "";
    if (f->node_arrays)
        hint_names(hint, sizeof(hint), src, N_EDGES);
    const size_t used = strlen(hint);
    if (used == 0)
        return 0;
    snprintf(hint + used, sizeof(hint) - used, "; or name the format, %s, to import without them",
             f->name);
    return failure(err, -EINVAL, hint,
                   "%.300s: files that `import %s` does not know would be left out", src, f->name);
}

/* Detects by the first bytes or the name; the last format accepts any text. */
static const struct og_import_format *format_of(const char *src, const char *head)
{
    const struct og_import_format *f;
    size_t i = 0;
    while ((f = og_import_format(i)) && !is_called(src, f->ends) &&
           !(f->begins && strncasecmp(head, f->begins, strlen(f->begins)) == 0))
        i++;
    return f;
}

/* Those that the text's reader unpacks or names. */
static bool is_packed(const char *head, size_t n)
{
    static const char *const begins[] = {"\x1f\x8b",
                                         "\xfd"
                                         "7zXZ",
                                         "(\xb5/\xfd", "BZh"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (n > strlen(begins[i]) && memcmp(head, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static int guess_file(const char *src, const char **format, const char **file, struct og_err *err)
{
    char head[16] = "";
    FILE *f = fopen(src, "re");
    size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
    if (f)
        fclose(f);
    if (n > 0 && (head[0] == '{' || head[0] == '['))
        return failure(
            err, -EINVAL,
            "save its arrays with numpy.save in a folder, as edges.npy, feat.npy, label.npy",
            "%.300s: JSON, which is not supported", src);
    if (n > 4 && memcmp(head, "PK\3\4", 4) == 0)
        return failure(err, -EINVAL,
                       "import a folder: unzip it, where its arrays are edges.npy, feat.npy, ...",
                       "%.300s: an archive", src);
    const bool packed = is_packed(head, n);
    const bool wide =
        n > 2 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0);
    const struct og_import_format *shown = format_of(src, head);
    const bool text = shown->begins && !*shown->begins;
    if (text && !packed && !wide && memchr(head, 0, n))
        return failure(err, -EINVAL,
                       "use a folder, or a text file of edges (see `outgrow help import`)",
                       "%.300s: not a text file", src);
    *format = shown->name;
    *file = text ? "its text" : "its first line or its name";
    return 0;
}

int guess_format(const char *src, const char **format, const char **file, struct og_err *err)
{
    struct stat st;
    if (stat(src, &st) < 0)
        return failure(err, -ENOENT, "name a file or folder to import", "%.300s: not there", src);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) /* to open a pipe may wait for ever */
        return failure(err, -EINVAL, "name a file or a folder; write a pipe's text to a file first",
                       "%.300s: not a plain file", src);
    if (!S_ISDIR(st.st_mode))
        return guess_file(src, format, file, err);
    const struct og_import_format *f = format_by_signs(src, file);
    if (!f)
        return refuse_folder(src, err);
    *format = f->name;
    return refuse_left_out(src, f, err);
}
