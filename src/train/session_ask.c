/* What a session is asked for, by its own files while it opens and by all who use it. */
#include "train/session.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- batches ---- */

struct og_trace_options og__session_record(const struct og_session *s)
{
    struct og_trace_options form = s->facts.trace;
    const bool values = og__float_labels(s->facts.ds);
    form.checks = true;
    form.multi_label = values;
    form.label_width = s->facts.seeds.edges ? 0 : values ? s->facts.ds->n_classes : 1;
    return form;
}

struct og_sampling og__session_sampling(const struct og_session *s)
{
    return (struct og_sampling){.kind = (enum og_sampler_kind)s->config.opt.sampler,
                                .walks = s->config.opt.walks,
                                .walk_length = s->config.opt.walk_length,
                                .restart = s->config.opt.walk_restart};
}

int og__session_sampler(const struct og_session *s, struct og_sampler **out, struct og_budget *b,
                        struct og_err *err)
{
    int rc = og__sampler_open(out, &s->topology, s->config.opt.fanout, s->config.opt.n_fanout,
                              (uint64_t)s->config.opt.seed, b, err);
    if (rc < 0)
        return rc;
    struct og_sampling how = og__session_sampling(s);
    if (og__sampling_reads_weights(how.kind) && s->topology.mapped) /* sizes alone are asked for */
        how = (struct og_sampling){0};
    if (s->facts.trace.extras & OG__WITH_DEGREES)
        og__sampler_keep_degrees(*out);
    rc = og__sampler_choose(*out, &how, err);
    if (rc < 0) {
        og__sampler_close(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- disk and memory ---- */

struct og_reader_options og__session_reader(const struct og_session *s)
{
    return (struct og_reader_options){
        .io = s->config.opt.io, .profile = s->facts.profile, .log = &s->config.log};
}

int og__session_scratch(struct og_session *s, const char *run, struct og_err *err)
{
    const char *named = s->config.opt.scratch ? s->config.opt.scratch : run;
    free(s->scratch);
    s->scratch = named ? strdup(named) : og__cache_dir();
    if (named && !s->scratch)
        return og__fail_errno(err, -ENOMEM, NULL, "scratch");
    if (s->scratch)
        og__scratch_sweep(s->scratch);
    return 0;
}

size_t og__session_peak_rss(const struct og_session *s)
{
    size_t peak = og__rss_peak();
    size_t mapped =
        s->config.opt.io == OG_IO_MMAP ? og__rss_file() : 0; /* clean: the kernel's to drop */
    return peak - OG_MIN(peak, s->baseline_rss + mapped);
}

/* ---- the user ---- */

void og__observe(const struct og_observer *seen, const struct og_progress *p)
{
    if (seen && seen->progress)
        seen->progress(seen->arg, p);
}

int og__session_stopped(const struct og_session *s, const char *what, struct og_err *err)
{
    const volatile sig_atomic_t *stop = s->config.seen ? s->config.seen->stop : NULL;
    return og__asked(stop) ? og__fail(err, OG_INTERRUPTED, NULL, "%s", what) : 0;
}
