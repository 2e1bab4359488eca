#include "dataset/others.h"

#include "base/file.h"

#include <dirent.h>
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

static bool is_of_format(const char *file)
{
    static const char *const names[] = {"meta.json",
                                        "indptr.npy",
                                        "indices.npy",
                                        "weights.npy",
                                        "features.npy",
                                        "labels.npy",
                                        "train.npy",
                                        "valid.npy",
                                        "test.npy",
                                        "train_edges.npy",
                                        "valid_edges.npy",
                                        "test_edges.npy",
                                        "node_ids.npy",
                                        "train_edge_relations.npy",
                                        "valid_edge_relations.npy",
                                        "test_edge_relations.npy"};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        if (strcmp(file, names[i]) == 0)
            return true;
    if (strstr(file, "-features-")) /* parts on several disks */
        return true;
    return is_numbered(file, "features_", ".npy") || is_numbered(file, "rel", "_indptr.npy") ||
           is_numbered(file, "rel", "_indices.npy") || is_numbered(file, "rel", "_weights.npy");
}

static int is_candidate(const struct dirent *e)
{
    return e->d_name[0] != '.' && !is_of_format(e->d_name);
}

static int look_at(const char *folder, const char *name,
                   int (*each)(void *arg, const char *name, struct og_err *err), void *arg,
                   struct og_err *err)
{
    struct stat st;
    char *path = og__path_join(folder, name);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    const bool plain = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    return plain ? each(arg, name, err) : 0;
}

int og__dataset_others(const char *path,
                       int (*each)(void *arg, const char *name, struct og_err *err), void *arg,
                       struct og_err *err)
{
    struct dirent **entry = NULL;
    int rc = 0;
    const int n = scandir(path, &entry, is_candidate, alphasort);
    for (int i = 0; i < n; i++) {
        if (rc >= 0)
            rc = look_at(path, entry[i]->d_name, each, arg, err);
        free(entry[i]);
    }
    free(entry);
    return rc;
}
