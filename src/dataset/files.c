#include "dataset/files.h"

#include "dataset/graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_numbered(const char *file, const char *begin, const char *end)
{
    const char *digits = file + strlen(begin);
    if (strncmp(file, begin, strlen(begin)) != 0)
        return false;
    const size_t n = strspn(digits, "0123456789");
    return n > 0 && strcmp(digits + n, end) == 0;
}

static const struct {
    const char *file, *use;
} uses[] = {
    {"meta.json", "all commands"},
    {"indptr.npy", "all commands"},
    {"indices.npy", "all commands"},
    {"weights.npy", "--sampler weighted, --edge-weights"},
    {"edge_features.npy", "train, eval and predict of models that use them, loaders"},
    {"edge_ids.npy", "you: the number that each edge had in the source"},
    {"features.npy", "train, eval, predict, pack, sample --with-features, loaders"},
    {"feature_rest.npy", "what reads sparse features"},
    {"feature_scales.npy", "what reads features of i8 and e4m3; --pack-dtype i8 and e4m3"},
    {"labels.npy", "train and eval of nodes, loaders"},
    {"train.npy", "train, sample, simulate, loaders"},
    {"valid.npy", "train, eval, loaders"},
    {"test.npy", "train, eval, loaders"},
    {"train_edges.npy", "--task link, --task edge"},
    {"valid_edges.npy", "--task link, --task edge"},
    {"test_edges.npy", "--task link, --task edge"},
    {"train_edge_relations.npy", "--task link"},
    {"valid_edge_relations.npy", "--task link"},
    {"test_edge_relations.npy", "--task link"},
    {"train_edge_labels.npy", "--task edge"},
    {"valid_edge_labels.npy", "--task edge"},
    {"test_edge_labels.npy", "--task edge"},
    {"train_edge_rows.npy", "--task edge"},
    {"valid_edge_rows.npy", "--task edge"},
    {"test_edge_rows.npy", "--task edge"},
    {"train_neg_edges.npy", "--negative given"},
    {"train_neg_dst.npy", "--negative given"},
    {"valid_neg_edges.npy", "--task link"},
    {"valid_neg_dst.npy", "--task link"},
    {"test_neg_edges.npy", "--task link"},
    {"test_neg_dst.npy", "--task link"},
    {"order_train.npy", "--order FILE"},
    {"edge_times.npy", "--time edge"},
    {"node_times.npy", "--time node"},
    {"train_times.npy", "--time: the time of each node of the split"},
    {"valid_times.npy", "--time: the time of each node of the split"},
    {"test_times.npy", "--time: the time of each node of the split"},
    {"train_edge_times.npy", "--time with --task link, --task edge"},
    {"valid_edge_times.npy", "--time with --task link, --task edge"},
    {"test_edge_times.npy", "--time with --task link, --task edge"},
    {"node_ids.npy", "you: the id that each node had in the source"},
    {"hop.npy", "predict and eval --full of --model mlp --inputs, you: propagate's rows"},
    {"node_names", "predict, info, export, you: the name that each node had in the source"},
};

static const char *use_of(const char *file)
{
    for (size_t i = 0; i < OG_COUNT(uses); i++)
        if (strcmp(file, uses[i].file) == 0)
            return uses[i].use;
    return NULL;
}

const char *og__file_use(const char *file)
{
    if (is_numbered(file, "features_", ".npy") || strstr(file, "-features-")) /* parts on disks */
        return use_of("features.npy");
    if (is_numbered(file, "feature_rest_", ".npy"))
        return use_of("feature_rest.npy");
    if (is_numbered(file, "feature_scales_", ".npy"))
        return use_of("feature_scales.npy");
    if (strncmp(file, "node_names", 10) == 0)
        return use_of("node_names");
    if (is_numbered(file, "hop", ".npy"))
        return use_of("hop.npy");
    for (enum og__array a = OG__INDPTR; a < OG__RELATION_ARRAYS; a++) {
        char end[32]; /* "_indptr.npy" of a relation, "indptr.npy" of the only one */
        snprintf(end, sizeof(end), "_%s.npy", og__array_name(a));
        if (is_numbered(file, "rel", end))
            return use_of(end + 1);
    }
    return use_of(file);
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int look_at(const char *folder, const char *name,
                   int (*each)(void *arg, const char *name, struct og_err *err), void *arg,
                   struct og_err *err)
{
    struct stat st;
    char *path = og__path_join(folder, name);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    int rc = 0;
    if (stat(path, &st) == 0)
        rc = S_ISREG(st.st_mode) ? each(arg, name, err) : 0;
    else if (errno != ENOENT) /* a dangling link is no file */
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    free(path);
    return rc;
}

int og__dataset_files(const char *path,
                      int (*each)(void *arg, const char *name, struct og_err *err), void *arg,
                      struct og_err *err)
{
    struct dirent **entry = NULL;
    const int n = scandir(path, &entry, is_visible, alphasort);
    int rc = n < 0 ? og__fail_errno(err, -errno, NULL, "%s", path) : 0;
    for (int i = 0; i < n; i++) {
        if (rc >= 0)
            rc = look_at(path, entry[i]->d_name, each, arg, err);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

struct file_search {
    const char *folder;
    const struct stat *wanted;
    bool found;
};

static int compare(void *arg, const char *name, struct og_err *err)
{
    struct file_search *s = arg;
    struct stat st;
    char *path;
    if (!og__file_use(name))
        return 0;
    if (!(path = og__path_join(s->folder, name)))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    s->found |=
        stat(path, &st) == 0 && st.st_dev == s->wanted->st_dev && st.st_ino == s->wanted->st_ino;
    free(path);
    return 0;
}

int og__dataset_has(const char *path, const struct stat *wanted, bool *has, struct og_err *err)
{
    struct file_search s = {.folder = path, .wanted = wanted};
    const int rc = og__dataset_files(path, compare, &s, err);
    *has = s.found;
    return rc;
}
