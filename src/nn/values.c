/* All parameters of a model as one vector. */
#include "nn/nn.h"

#include <math.h>

size_t og__model_values(struct og_model *m)
{
    size_t n;
    size_t values = 0;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++)
        values += og__param_count(&params[i]);
    return values;
}

int og__model_fetch_values(struct og_model *m, float *values, struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0, count; i < n; i++, values += count) {
        count = og__param_count(&params[i]);
        OG_DO(og__model_fetch(m, values, params[i].value, count * sizeof(*values), err));
    }
    return 0;
}

int og__model_push_values(struct og_model *m, const float *values, struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0, count; i < n; i++, values += count) {
        count = og__param_count(&params[i]);
        OG_DO(og__model_push(m, params[i].value, values, count * sizeof(*values), err));
    }
    return 0;
}

/* ---- divergence ---- */

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Downloads piece by piece. */
static int look_at(struct og_model *m, const struct og_param *p, bool *finite, struct og_err *err)
{
    enum { PIECE = 4096 };
    float piece[PIECE];
    *finite = true;
    for (size_t first = 0, n; *finite && first < og__param_count(p); first += n) {
        n = OG_MIN(og__param_count(p) - first, (size_t)PIECE);
        OG_DO(og__model_fetch(m, piece, p->value + first, n * sizeof(*piece), err));
        *finite = all_finite(piece, n);
    }
    return 0;
}

int og__model_undefined(struct og_model *m, const char **name, struct og_err *err)
{
    size_t n;
    bool finite = true;
    const struct og_param *params = og__model_params(m, &n);
    *name = NULL;
    for (size_t i = 0; i < n && finite; i++) {
        OG_DO(look_at(m, &params[i], &finite, err));
        *name = finite ? NULL : params[i].name;
    }
    return 0;
}
