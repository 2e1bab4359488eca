/* The disk profile: `outgrow bench io` measures a device once and stores it as JSON.
 *
 *     $XDG_CACHE_HOME/outgrow/disk-<major>-<minor>-<file system id>.json
 *     {"format": 1, "iops": .., "bandwidth": .., "fresh_bandwidth": .., "write_bandwidth": ..,
 *      "depth": .., "fault_threads": .., "other_traffic": .., "measured_under": ".."}
 *
 * The name has the file system's id because device numbers may change at boot. If a file is
 * missing, damaged or implausible, values of a common NVMe disk replace it, marked as not
 * measured. */
#include "base/file.h"
#include "base/json.h"
#include "io/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

static const struct og_disk_profile common_disk = {
    .iops = 140e3,
    .bandwidth = 1.6e9,
    .fresh = 1.6e9,
    .write = 1.2e9,
    .depth = 128,
    .fault_threads = 16,
    .measured = false,
};

/* Name of the profile of the device that holds `path`, malloc'ed; NULL where that is unknown. */
static char *profile_file(const char *path)
{
    struct stat st;
    struct statvfs fs;
    char *file = NULL;
    char *dir = og__cache_dir();
    if (dir && stat(path, &st) == 0 && statvfs(path, &fs) == 0 &&
        asprintf(&file, "%s/disk-%u-%u-%lx.json", dir, major(st.st_dev), minor(st.st_dev),
                 (unsigned long)fs.f_fsid) < 0)
        file = NULL;
    free(dir);
    return file;
}

static bool number_within(const json_t *root, const char *key, double low, double high, double *out)
{
    const json_t *v = json_object_get(root, key);
    *out = json_number_value(v);
    return json_is_number(v) && *out >= low && *out <= high;
}

/* Nor has any disk a request that takes as long as reading a GiB. */
static bool take_numbers(const json_t *root, struct og_disk_profile *p)
{
    double depth;
    double threads;
    *p = (struct og_disk_profile){0};
    if (json_integer_value(json_object_get(root, "format")) != 1 ||
        !number_within(root, "iops", 1, 1e9, &p->iops) ||
        !number_within(root, "bandwidth", 1e3, 1e13, &p->bandwidth) ||
        !number_within(root, "fresh_bandwidth", 1e3, 1e13, &p->fresh) ||
        !number_within(root, "write_bandwidth", 1e3, 1e13, &p->write) ||
        p->bandwidth / p->iops > (double)OG_GIB || !number_within(root, "depth", 1, 4096, &depth) ||
        !number_within(root, "fault_threads", 1, 1024, &threads))
        return false;
    if (!number_within(root, "other_traffic", 0, 1, &p->others)) /* older files lack it */
        p->others = 0;
    p->depth = (int)depth;
    p->fault_threads = (int)threads;
    p->measured = true;
    return true;
}

bool og__profile_parse(const char *text, size_t len, struct og_disk_profile *out)
{
    json_t *root = json_loadb(text, len, 0, NULL);
    bool good = root && take_numbers(root, out);
    json_decref(root);
    return good;
}

void og__profile_load(const char *path, struct og_disk_profile *out)
{
    struct og_disk_profile p;
    char *text = NULL;
    size_t len = 0;
    *out = common_disk;
    char *file = profile_file(path);
    if (file && og__read_text(file, 64 * OG_KIB, &text, &len, NULL) == 0 &&
        og__profile_parse(text, len, &p))
        *out = p;
    free(text);
    free(file);
}

/* ---- several disks ---- */

/* The number of paths on the disk of path i; 0 if an earlier path is on it. */
static int share_of(const char *const *paths, int n, int i)
{
    int share = 1;
    for (int k = 0; k < n; k++) {
        if (k == i || !og__same_disk(paths[k], paths[i]))
            continue;
        if (k < i)
            return 0;
        share++;
    }
    return share;
}

static void take_slower(struct og_disk_profile *sum, const struct og_disk_profile *p, double times)
{
    const bool first = sum->disks == 0;
    sum->iops = first ? p->iops * times : OG_MIN(sum->iops, p->iops * times);
    sum->bandwidth = first ? p->bandwidth * times : OG_MIN(sum->bandwidth, p->bandwidth * times);
    sum->fresh = first ? p->fresh * times : OG_MIN(sum->fresh, p->fresh * times);
    sum->write = first ? p->write * times : OG_MIN(sum->write, p->write * times);
    sum->depth += p->depth;
    sum->fault_threads += p->fault_threads;
    sum->others = OG_MAX(sum->others, p->others);
    sum->measured = p->measured && (first || sum->measured);
    sum->disks++;
}

void og__profile_load_all(const char *const *paths, int n, struct og_disk_profile *out)
{
    struct og_disk_profile sum = {0};
    for (int i = 0; i < n; i++) {
        struct og_disk_profile one;
        const int share = share_of(paths, n, i);
        if (share == 0)
            continue;
        og__profile_load(paths[i], &one);
        take_slower(&sum, &one, (double)n / share);
    }
    *out = sum;
}

/* ---- keeping a profile ---- */

static char *dump(const struct og_disk_profile *p, const char *path)
{
    json_t *root = json_pack("{s:i, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:s}", "format", 1, "iops",
                             p->iops, "bandwidth", p->bandwidth, "fresh_bandwidth", p->fresh,
                             "write_bandwidth", p->write, "depth", p->depth, "fault_threads",
                             p->fault_threads, "other_traffic", p->others, "measured_under", path);
    char *text = og__json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(root);
    return text;
}

int og__profile_save(const char *path, const struct og_disk_profile *p, char **file,
                     struct og_err *err)
{
    int rc;
    char *dir = og__cache_dir();
    char *name = profile_file(path);
    char *text = dump(p, path);
    if (!dir || !name)
        OG_TRY(og__fail(err, -ENOENT, "set HOME or XDG_CACHE_HOME",
                        "disk profile: no folder to store it in"));
    if (!text)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "disk profile"));
    OG_TRY(og__make_dirs(dir, err));
    OG_TRY(og__write_text(name, text, strlen(text), err));
    if (file) {
        *file = name;
        name = NULL;
    }
out:
    free(dir);
    free(name);
    free(text);
    return rc;
}
