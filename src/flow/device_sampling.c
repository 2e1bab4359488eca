#include "flow/device_sampling.h"

#include "options/options.h"

int og__device_sampling_check(const struct og_config *config, struct og_err *err)
{
    const struct og_options *opt = &config->opt;
    const struct {
        bool given;
        const char *what, *hint;
    } others[] = {
        {opt->device == OG_DEVICE_CPU, "--device cpu is the host",
         "give --device virtual or --device cuda"},
        {opt->sampler != OG_SAMPLER_UNIFORM, "devices sample with --sampler uniform alone",
         "give --sampler uniform, or leave --sample-on at host"},
        {opt->replace, "a device samples without replacement", "leave --sample-on at host"},
        {opt->topology == OG_TOPOLOGY_DISK, "requires the topology in memory",
         "give --topology memory"},
        {opt->alternate && opt->sample_on == OG_SAMPLE_ON_PINNED,
         "--phased-memory would release lists that the device reads", "give --sample-on device"},
        {opt->samples, "batches of --samples are sampled already", "leave --samples out"},
    };
    for (size_t i = 0; opt->sample_on != OG_SAMPLE_ON_HOST && i < OG_COUNT(others); i++)
        if (others[i].given)
            return og__fail(err, -EINVAL, others[i].hint, "--sample-on %s: %s",
                            og__option_word("sample-on", opt->sample_on), others[i].what);
    return 0;
}

int og__device_sampling_open(struct og_device_sampling *d, const struct og_plan_inputs *p,
                             const struct og_topology *t, struct og_sampler **samplers, int n,
                             struct og_budget *b, struct og_err *err)
{
    if (t->stored)
        return og__fail(err, -ENOTSUP, "leave --sample-on at host",
                        "--sample-on device: the topology is on disk");
    OG_DO(og__nn_find(&d->ops, p->config->opt.device, err));
    OG_DO(d->ops->open(&d->backend, og__devices(p->config).number[0], NULL, b, err));
    OG_DO(d->ops->bound(d->backend, p->workload->bytes.device_sampling, err));
    OG_DO(d->ops->samplers->open(&d->sampler, d->backend, t,
                                 p->config->opt.sample_on == OG_SAMPLE_ON_PINNED, err));
    for (int i = 0; i < n; i++)
        og__sampler_elsewhere(samplers[i], d->ops->samplers->hops(d->sampler));
    return 0;
}

void og__device_sampling_close(struct og_device_sampling *d)
{
    if (d->sampler)
        d->ops->samplers->close(d->sampler);
    if (d->backend)
        d->ops->close(d->backend);
    *d = (struct og_device_sampling){0};
}
