/* Metrics of a batch: sums, and values computed from them. */
#include "nn/loss_terms.h"
#include "nn/tasks.h"

#include <math.h>

const int og__hits_at[OG__HITS] = {1, 3, 10, 20, 50, 100};

void og__metrics_add(struct og_metrics *sum, const struct og_metrics *part)
{
    og_metrics_add(sum, part);
}

double og__metrics_loss(const struct og_metrics *m)
{
    return m->weight > 0 ? m->loss_sum / m->weight : 0;
}

double og__metrics_r2(const struct og_metrics *m)
{
    double n = (double)m->values;
    double spread = n > 0 ? m->value_squares - m->value_sum * m->value_sum / n : 0;
    return spread > 0 ? 1 - m->squared / spread : 0;
}

double og__metrics_acc(const struct og_metrics *m, const struct og_model_config *config)
{
    return og__task_of(config)->chief(m, NULL);
}

double og__auc(const struct og_metrics *m, const struct og_pass_metrics *pass)
{
    (void)m;
    return pass->auc;
}

double og__ap(const struct og_metrics *m, const struct og_pass_metrics *pass)
{
    (void)m;
    return pass->ap;
}

double og__macro_f1(const struct og_metrics *m, const struct og_pass_metrics *pass)
{
    (void)m;
    return pass->macro_f1;
}

double og__weighted_f1(const struct og_metrics *m, const struct og_pass_metrics *pass)
{
    (void)m;
    return pass->weighted_f1;
}

const char *og__metrics_undefined(const struct og_metrics *m)
{
    if (!isfinite(m->loss_sum))
        return "loss";
    return isfinite(m->reciprocal_ranks) ? NULL : "rank of an edge";
}
