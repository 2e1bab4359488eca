#include "report/timeline.h"

#include "base/file.h"
#include "base/plain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STAGES = 16 };

struct og_timeline {
    struct og_newfile file;
    FILE *text;
    double origin;
    pthread_mutex_t lock;
    /* guarded by lock */
    const char *stage[MAX_STAGES]; /* one row of the timeline each */
    int n_stages;
    bool any;
};

int og__timeline_open(struct og_timeline **out, const char *path, struct og_err *err)
{
    *out = NULL;
    struct og_timeline *t = calloc(1, sizeof(*t));
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int rc;
    OG_TRY(og__newfile_open(&t->file, path, err));
    if (!(t->text = fdopen(t->file.fd, "w")))
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", path));
out:
    if (rc < 0) {
        og__newfile_abandon(&t->file);
        free(t);
        return rc;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->origin = og__now();
    fputs("[", t->text);
    *out = t;
    return 0;
}

static int row_of(struct og_timeline *t, const char *stage)
{
    for (int i = 0; i < t->n_stages; i++)
        if (strcmp(t->stage[i], stage) == 0)
            return i;
    if (t->n_stages == MAX_STAGES)
        return MAX_STAGES - 1;
    t->stage[t->n_stages] = stage;
    return t->n_stages++;
}

void og__timeline_add(struct og_timeline *t, const char *stage, uint64_t item, double start,
                      double end)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    const locale_t before = og__plain_begin();
    fprintf(t->text,
            "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.1f,\"dur\":%.1f,"
            "\"args\":{\"batch\":%llu}}",
            t->any ? "," : "", stage, row_of(t, stage), 1e6 * (start - t->origin),
            1e6 * (end - start), (unsigned long long)item);
    og__plain_end(before);
    t->any = true;
    pthread_mutex_unlock(&t->lock);
}

void og__timeline_discard(struct og_timeline *t)
{
    if (!t)
        return;
    int fd = dup(t->file.fd); /* as below */
    fclose(t->text);
    t->file.fd = fd;
    og__newfile_abandon(&t->file);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int og__timeline_close(struct og_timeline *t, struct og_err *err)
{
    if (!t)
        return 0;
    for (int i = 0; i < t->n_stages; i++)
        fprintf(t->text,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
                "\"args\":{\"name\":\"%s\"}}",
                i, t->stage[i]);
    fputs("\n]\n", t->text);
    int rc = 0;
    if (fflush(t->text) != 0 || ferror(t->text))
        rc = og__fail_errno(err, errno ? -errno : -EIO, NULL, "%s: cannot write", t->file.path);
    /* the stream and the new file share one descriptor: the file keeps a copy */
    int fd = rc == 0 ? dup(t->file.fd) : -1;
    fclose(t->text);
    t->file.fd = fd;
    if (rc == 0)
        rc = og__newfile_commit(&t->file, err);
    else
        og__newfile_abandon(&t->file);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return rc;
}
