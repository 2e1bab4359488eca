#include "flow/count_work.h"

/* For the batch itself. */
static uint64_t bytes_of(const struct og_work *w)
{
    return w->read.bytes + w->sampled_from.io.bytes + w->trace_read.bytes;
}

/* Work ahead is counted with the batch that waited for it, whatever that is for. */
void og__count_lookahead(struct og_epoch_counters *c, const struct og_lookahead_counts *lookahead)
{
    c->plan_seconds += lookahead->plan_seconds;
    c->gather_seconds += lookahead->gather_seconds;
    c->prefill += lookahead->prefill;
    c->prepare_reads += lookahead->read.reads;
    c->prepare_bytes_read += lookahead->read.bytes;
    c->bytes_written += lookahead->bytes_written;
}

static void count_written(struct og_epoch_counters *c, const struct og_work *w)
{
    c->row_writes += w->wrote.reads;
    c->row_bytes_written += w->wrote.bytes;
}

void og__count_tiers(struct og_tier_counters *c, const struct og_work *w)
{
    c->device_hits += w->tiers.device_hits;
    c->host_hits += w->tiers.host_hits;
    c->victim_hits += w->tiers.victim_hits;
    c->victim_pushed += w->tiers.n_pushed;
    c->victim_dropped += w->tiers.n_dropped;
    c->demoted += w->tiers.n_moves - w->tiers.n_pushed;
    c->link_bytes += w->link_bytes;
    c->link_bytes_back += w->link_bytes_back;
    c->peer_hits += w->peer_hits;
    c->peer_bytes += w->peer_bytes;
}

void og__count_work(struct og_epoch_counters *c, const struct og_work *w)
{
    c->sample_seconds += w->sample_seconds;
    c->plan_seconds += w->plan_seconds;
    c->gather_seconds += w->gather_seconds;
    c->stall_seconds += w->stall_seconds;
    c->rows += w->plan.n;
    c->misses += w->plan.n_misses;
    c->hits += w->plan.n - w->plan.n_misses;
    c->reads += w->read.reads + w->sampled_from.io.reads + w->trace_read.reads;
    c->bytes_read += bytes_of(w);
    c->feature_bytes_read += w->read.bytes;
    c->topology_bytes_read += w->sampled_from.io.bytes;
    c->topology_passes += w->sampled_from.passes;
    c->trace_bytes_read += w->trace_read.bytes;
    c->lists_cached += w->sampled_from.lists_cached;
    c->lists_read += w->sampled_from.lists_read;
    count_written(c, w);
    og__count_lookahead(c, &w->lookahead);
}

void og__count_evaluated(struct og_epoch_counters *c, const struct og_work *w)
{
    c->eval_bytes_read += bytes_of(w);
    count_written(c, w);
    og__count_lookahead(c, &w->lookahead);
}
