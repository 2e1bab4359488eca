/* What the user left open: presets, auto, percentages. Flags and config files win over a preset. */
#include "train/options.h"
#include "train/session.h"

#include <string.h>

/* A preset is a list of options and values, put where the user gave none. None of them sets what
 * changes numbers. */
static const struct preset_value {
    int preset;
    const char *name, *value;
} preset_values[] = {
    /* features mapped, nothing cached but by the kernel (ginex.txt §5.1) */
    {OG_PRESET_PYG_PLUS, "io", "mmap"},
    {OG_PRESET_PYG_PLUS, "policy", "none"},
    /* everything resident */
    {OG_PRESET_MEMORY, "policy", "degree"},
    {OG_PRESET_MEMORY, "cache", "100%"},
};

static int apply_preset(struct og_options *opt, struct og_err *err)
{
    for (size_t i = 0; i < OG_COUNT(preset_values); i++) {
        const struct preset_value *p = &preset_values[i];
        if (p->preset != opt->preset || og__options_given(opt, p->name))
            continue;
        int rc = og_options_set(opt, p->name, p->value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int settle_layers(struct og_options *opt, struct og_err *err)
{
    if (opt->layers == 0)
        opt->layers = opt->n_fanout;
    if (opt->layers == opt->n_fanout)
        return 0;
    return og__fail(err, -EINVAL, "give --fanout a number for every layer, nearest the seeds first",
                    "--layers %d: --fanout has %d numbers", opt->layers, opt->n_fanout);
}

/* 90 % of what is free, or the share or size asked for. */
static int settle_memory(struct og_options *opt, struct og_err *err)
{
    size_t bytes = og__memory_amount(&opt->memory);
    opt->memory = (struct og_amount){OG_BYTES, (double)bytes};
    if (bytes >= 1)
        return 0;
    return og__fail(err, -EINVAL, "give a size, such as --memory 4G",
                    "--memory: cannot tell how much is free");
}

int og__options_resolve(struct og_options *opt, const struct og_log *log, struct og_err *err)
{
    (void)log;
    int rc = apply_preset(opt, err);
    if (rc == 0)
        rc = settle_layers(opt, err);
    if (rc == 0)
        rc = settle_memory(opt, err);
    if (rc < 0)
        return rc;
    if (opt->threads == 0)
        opt->threads = og__cpu_count();
    if (opt->policy == OG_POLICY_AUTO)
        opt->policy = OG_POLICY_DEGREE;
    return 0;
}
