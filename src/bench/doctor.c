/* Checks what makes training slow or impossible on this machine, with a remedy each. For a dataset
 * it also predicts the effect of several sizes of memory. Changes nothing and measures nothing that
 * takes more than a moment. */
#include "bench/bench.h"
#include "comm/comm.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/places.h"
#include "dataset/graph.h"
#include "device/device.h"
#include "io/io.h"
#include "nn/device/kernels.h"
#include "run/plan_json.h"

#include <fcntl.h>
#include <liburing.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum verdict { FINE, NOTE, STOPS };

struct doctor {
    json_t *checks;    /* NULL after running out of memory */
    const char *place; /* folder on the disk to read: the dataset, or the current one */
    bool stops;
};

static void OG_PRINTF(5, 6) say(struct doctor *d, const char *name, enum verdict v,
                                const char *advice, const char *fmt, ...)
{
    static const char *const words[] = {"fine", "note", "stops"};
    char found[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(found, sizeof(found), fmt, ap);
    va_end(ap);
    d->stops |= v == STOPS;
    d->checks =
        og__json_append(d->checks, json_pack("{s:s, s:s, s:o, s:o}", "check", name, "verdict",
                                             words[v], "found", og__json_text(found), "advice",
                                             og__json_text(v == FINE ? "" : advice)));
}

/* ---- reading ---- */

static void check_uring(struct doctor *d)
{
    struct io_uring ring;
    char why[64];
    int rc = io_uring_queue_init(8, &ring, 0);
    if (rc == 0) {
        io_uring_queue_exit(&ring);
        say(d, "io_uring", FINE, "", "available");
        return;
    }
    say(d, "io_uring", NOTE,
        rc == -EPERM ? "start docker with --security-opt seccomp=unconfined; else `sysctl -w "
                       "kernel.io_uring_disabled=0`"
                     : "use Linux 5.6 or newer",
        "refused (%s): threads read files instead, which takes more CPU time",
        strerror_r(-rc, why, sizeof(why)));
}

/* Any file of the disk will do; an unnamed one leaves nothing. */
static void check_direct(struct doctor *d)
{
    int fd = open(d->place, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    int code = fd < 0 ? errno : 0;
    char why[64];
    if (fd >= 0)
        close(fd);
    char *path = fd < 0 ? og__path_join(d->place, "features.npy") : NULL;
    int file = path ? open(path, O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    free(path);
    if (file >= 0)
        close(file);
    if (fd >= 0 || file >= 0)
        say(d, "direct reads", FINE, "", "supported by the file system of %s", d->place);
    else
        say(d, "direct reads", NOTE, "put the dataset on a local disk with ext4 or xfs",
            "not supported by the file system of %s (%s): reads go through the page cache",
            d->place, strerror_r(code, why, sizeof(why)));
}

/* The command that measures the disk of a folder. */
struct advice {
    char text[512];
};

static struct advice to_measure(const char *folder, const char *when)
{
    struct advice a;
    snprintf(a.text, sizeof(a.text), "run `outgrow bench io --path '%s'` %s", folder, when);
    return a;
}

static void check_profile(struct doctor *d)
{
    struct og_disk_profile p;
    char rate[32];
    og__profile_load(d->place, &p);
    og__human_bytes(rate, p.bandwidth);
    if (p.measured && p.others > OG__DISK_BUSY)
        say(d, "disk profile", NOTE,
            to_measure(d->place, "again when nothing else uses the disk").text,
            "%.0f small reads and %s a second, but other programs used the disk meanwhile", p.iops,
            rate);
    else if (p.measured)
        say(d, "disk profile", FINE, "", "%.0f small reads and %s a second, as measured", p.iops,
            rate);
    else
        say(d, "disk profile", NOTE, to_measure(d->place, "once").text,
            "the disk of %s is not measured: plans assume a common NVMe disk", d->place);
}

/* Runs, checkpoints and by default scratch are written there; the dataset is only read. */
static void check_free_disk(struct doctor *d)
{
    static const char runs[] = "runs";
    struct statvfs fs;
    char text[64];
    char *there = og__nearest_there(runs);
    int rc = there ? statvfs(there, &fs) : -1;
    int code = there ? errno : ENOMEM;
    free(there);
    if (rc < 0) {
        say(d, "free disk", NOTE, "train with --run in another folder",
            "unknown for ./%s, the default folder of runs: %s", runs,
            strerror_r(code, text, sizeof(text)));
        return;
    }
    const uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    og__human_bytes(text, (double)left);
    const enum verdict v = left < 64 * OG_MIB ? STOPS : left < OG_GIB ? NOTE : FINE;
    say(d, "free disk", v,
        "free some, or set --run to another folder; runs and checkpoints are written there, and "
        "batches sampled ahead without --scratch",
        "%s for ./%s, the default folder of runs", text, runs);
}

/* Checks a folder of --scratch: speed of its disk, and folders that share the disk. */
static void check_place(struct doctor *d, struct og_places all, uint32_t i)
{
    struct og_disk_profile p;
    char room[32];
    char rate[32];
    char *there = og__nearest_there(all.path[i]);
    uint32_t twin = 0;
    og__profile_load(there ? there : ".", &p);
    og__human_bytes(room, (double)og__disk_free(all.path[i]));
    og__human_bytes(rate, p.write);
    while (twin < i && !og__same_disk(there ? there : ".", all.path[twin]))
        twin++;
    if (twin < i)
        say(d, "scratch", NOTE,
            "name folders on different disks; two folders on one disk are no faster",
            "%s: on the same disk as %s", all.path[i], all.path[twin]);
    else if (p.measured)
        say(d, "scratch", FINE, "", "%s: %s free, written at %s a second", all.path[i], room, rate);
    else
        say(d, "scratch", NOTE, to_measure(all.path[i], "once").text,
            "%s: %s free; its disk is not measured", all.path[i], room);
    free(there);
}

static void check_scratch(struct doctor *d, const char *list)
{
    struct og_places all = {0};
    struct og_err why = {0};
    char room[32];
    int rc = og__places_split(&all, list, "scratch", &why);
    if (rc == 0)
        rc = og__places_check(all, "scratch", &why);
    for (uint32_t i = 0; rc == 0 && i < all.n; i++)
        check_place(d, all, i);
    if (rc < 0)
        say(d, "scratch", STOPS, why.hint, "%s", why.message);
    else if (all.n > 1)
        say(d, "scratch", FINE, "", "%s in all: each gets an equal share",
            og__human_bytes(room, (double)og__places_room(all)));
    og__places_free(&all);
}

/* ---- limits ---- */

static void check_limits(struct doctor *d)
{
    struct rlimit locked;
    struct rlimit files;
    char text[32];
    getrlimit(RLIMIT_MEMLOCK, &locked);
    getrlimit(RLIMIT_NOFILE, &files);
    og__human_bytes(text, (double)locked.rlim_cur);
    if (locked.rlim_cur < 8 * OG_MIB)
        say(d, "locked memory", NOTE, "`ulimit -l unlimited`, or memlock in limits.conf",
            "%s: read buffers may not be registered with the kernel, which then copies more", text);
    else
        say(d, "locked memory", FINE, "", "%s",
            locked.rlim_cur == RLIM_INFINITY ? "no limit" : text);
    if (files.rlim_cur < 128)
        say(d, "open files", STOPS, "`ulimit -n 1024`", "at most %llu",
            (unsigned long long)files.rlim_cur);
    else
        say(d, "open files", FINE, "", "up to %llu", (unsigned long long)files.rlim_cur);
}

static void on_group(void *arg, const char *folder, uint64_t limit)
{
    struct doctor *d = arg;
    char text[32];
    og__human_bytes(text, (double)limit);
    say(d, "memory of a group", NOTE,
        "the default of --memory stays below it; raise it in the container or job",
        "%s is limited to %s", folder, text);
}

static void check_memory(struct doctor *d)
{
    struct sysinfo machine;
    char all[32];
    char left[32];
    sysinfo(&machine);
    og__human_bytes(all, (double)machine.totalram * machine.mem_unit);
    size_t bytes = og__memory_free();
    og__human_bytes(left, (double)bytes);
    say(d, "memory", bytes < 256 * OG_MIB ? NOTE : FINE, "end other programs",
        "%s of %s are free to this process", left, all);
    og__memory_groups_at("", on_group, d);
}

static void check_huge_pages(struct doctor *d)
{
    char *text = NULL;
    size_t len = 0;
    const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    if (og__read_text(path, 4096, &text, &len, NULL) < 0)
        text = NULL;
    if (text && strstr(text, "[never]"))
        say(d, "huge pages", NOTE,
            "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
            "disabled: lookups in large caches are slower");
    else
        say(d, "huge pages", FINE, "", "%s", text ? "available" : "unknown to the kernel");
    free(text);
}

/* ---- computing ---- */

static void check_cpus(struct doctor *d)
{
#if defined(__x86_64__)
    const char *set = __builtin_cpu_supports("avx512f") ? "AVX-512"
                      : __builtin_cpu_supports("avx2")  ? "AVX2"
                                                        : NULL;
#else
    const char *set = "this machine's";
#endif
    const long there = sysconf(_SC_NPROCESSORS_ONLN);
    const int ours = og__cpu_count();
    if (set)
        say(d, "instructions", FINE, "", "%s", set);
    else
        say(d, "instructions", NOTE, "CPUs since 2013 have it; a virtual machine must expose it",
            "no AVX2: products run at a fraction of the speed");
    say(d, "processors", ours < there ? NOTE : FINE,
        "limited by CPU affinity or a control group's quota", "%d of %ld", ours, there);
}

static void check_devices(struct doctor *d)
{
    const struct og_device_ops *cuda;
    struct og_err why = {0};
    if (access("/dev/nvidia0", F_OK) != 0)
        say(d, "CUDA", FINE, "", "no GPU found; the CPU computes");
    else if (og__device_cuda(og__kernels_print(), &cuda, &why) == 0)
        say(d, "CUDA", FINE, "", "there is a GPU; --device cuda computes on it");
    else
        say(d, "CUDA", NOTE, "see docs/guides/gpu.md for the requirements of --device cuda",
            "there is a GPU; %s", why.message);
    if (og__mpi_there())
        say(d, "MPI", FINE, "", "plugin found: mpirun -n N outgrow train ...");
    else
        say(d, "MPI", FINE, "", "no plugin; --workers trains on one machine without it");
}

/* ---- a dataset ---- */

/* Options that plan quickly, without trials. */
static int plan_with(const char *dataset, const char *task, double memory, json_t **plan,
                     struct og_err *err)
{
    struct og_options opt;
    char bytes[32];
    char *text = NULL;
    int rc;
    *plan = NULL;
    og__options_init(&opt);
    snprintf(bytes, sizeof(bytes), "%.0f", memory);
    OG_TRY(og_options_set(&opt, "task", task, err));
    OG_TRY(og_options_set(&opt, "policy", "degree", err));
    OG_TRY(og_options_set(&opt, "layout", "raw", err));
    if (memory > 0)
        OG_TRY(og_options_set(&opt, "memory", bytes, err));
    OG_TRY(og__plan(dataset, &opt, true, NULL, &text, err));
    OG_TRY(og__json_parse(plan, text, strlen(text), "plan", NULL, err));
out:
    free(text);
    og__options_release(&opt);
    return rc;
}

static double in(const json_t *object, const char *part, const char *key)
{
    return json_number_value(json_object_get(json_object_get(object, part), key));
}

static json_t *fit_json(const json_t *plan)
{
    double rows = in(plan, "predicted", "rows");
    return json_pack("{s:I, s:s, s:I, s:f, s:I}", "memory_bytes",
                     (json_int_t)in(plan, "memory", "limit"), "structure",
                     json_string_value(json_object_get(plan, "topology")), "cache_rows",
                     (json_int_t)json_number_value(json_object_get(plan, "cache_rows")), "hit_rate",
                     rows > 0 ? in(plan, "predicted", "hits") / rows : 0.0, "bytes_read",
                     (json_int_t)in(plan, "predicted", "bytes_read"));
}

/* From the minimum to the free memory, or until everything fits. */
static json_t *fits_json(const char *dataset, const char *task, double least, double most)
{
    enum { MOST = 5 };
    json_t *list = json_array();
    bool all = false;
    for (int i = 0; i < MOST && !all; i++) {
        double memory = i == 0 ? least : OG_MIN(least * (1 << 2 * i) / 2, most);
        json_t *plan;
        if (plan_with(dataset, task, memory, &plan, NULL) < 0)
            continue;
        json_t *fit = fit_json(plan);
        all = memory >= most || json_number_value(json_object_get(fit, "hit_rate")) >= 1;
        list = og__json_append(list, fit);
        json_decref(plan);
    }
    return list;
}

/* Plans with all memory, for the dataset's task: links if it has no labels. */
static int plan_first(const char *dataset, const char **task, json_t **plan, struct og_err *err)
{
    struct og_graph *ds;
    OG_DO(og__graph_open(dataset, &ds, err));
    *task = ds->labels.fd >= 0 ? "node" : "link";
    og__graph_close(ds);
    return plan_with(dataset, *task, 0, plan, err);
}

/* Errors are those of `train`. */
static json_t *check_dataset(struct doctor *d, const char *dataset)
{
    struct og_err why = {0};
    json_t *plan = NULL;
    const char *task = NULL;
    if (plan_first(dataset, &task, &plan, &why) < 0) {
        say(d, "dataset", STOPS, why.hint, "%s", why.message);
        return json_array();
    }
    double smallest = in(plan, "memory", "smallest");
    double most = in(plan, "memory", "limit");
    json_decref(plan);
    say(d, "dataset", FINE, "",
        "%s %s --memory %.0fM or more, and less with a smaller --batch, --fanout or --hidden",
        dataset,
        strcmp(task, "link") == 0 ? "has no labels: it trains with --task link and" : "trains with",
        ceil(smallest / (double)OG_MIB));
    return fits_json(dataset, task, smallest, most);
}

int og__doctor(const char *dataset, const char *scratch, bool *stops, char **out,
               struct og_err *err)
{
    struct og_err absent; /* check_dataset says it */
    const bool there = dataset && og__exists(dataset, "meta.json", &absent) > 0;
    struct doctor d = {.checks = json_array(), .place = there ? dataset : "."};
    json_t *root = json_object();
    check_uring(&d);
    check_direct(&d);
    check_profile(&d);
    check_free_disk(&d);
    if (scratch)
        check_scratch(&d, scratch);
    check_memory(&d);
    check_limits(&d);
    check_huge_pages(&d);
    check_cpus(&d);
    check_devices(&d);
    json_t *fits = dataset ? check_dataset(&d, dataset) : json_null();
    root = og__json_with(root, "checks", d.checks);
    root = og__json_with(root, "fits", fits);
    *out = og__json_print(root, JSON_INDENT(2));
    json_decref(root);
    *stops = d.stops;
    return *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "doctor");
}
