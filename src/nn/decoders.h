/* Decoders: scores of pairs of embeddings a and b, in the order of enum og_decoder_kind. A row
 * names a struct in decoders.c, og__scoring_<name>.
 *
 *     dot        a . b
 *     mlp        W1 relu(W0 (a b) + b0) + b1, of the element-wise product (links.c)
 *     distmult   sum of a w b element-wise, w the vector of the pair's relation
 *     complex    real part of the sum of a w conj(b); rows have real parts, then imaginary ones
 *     transe     -|a / |a| + w - b / |b||, where |x| is the sum of magnitudes
 *
 * Formulas and defaults are PyTorch Geometric's (torch_geometric.nn.kge). A homogeneous graph
 * has one relation. */
#ifndef OG_NN_DECODERS_H
#define OG_NN_DECODERS_H

#include "nn/nn.h"

/* clang-format off */
#define OG__DECODERS(row) \
    row(DOT, dot) \
    row(MLP, mlp) \
    row(DISTMULT, distmult) \
    row(COMPLEX, complex) \
    row(TRANSE, transe)
/* clang-format on */

/* What a slope is taken by. */
enum og__pair_part { OG__SOURCE_ROW, OG__OTHER_ROW, OG__RELATION_ROW };

struct og_scoring {
    bool perceives; /* an MLP scores pairs; the functions below are NULL */
    bool relates;   /* learns a vector of each relation */
    bool said;      /* checkpoints say it: names of parameters do not */
    int loss;       /* enum og_loss_kind by default; OG_LOSS_AUTO: the task's */
    /* Those vectors are uniform in [-bound, bound] at first. */
    double (*bound)(int relations, int width);
    /* NULL: every width is valid. */
    int (*check)(int width, struct og_err *err);
    /* On the CPU; rows of n. w: the relation's vector, NULL unless it relates. */
    float (*score)(const float *a, const float *b, const float *w, size_t n);
    /* y += g times the slope of the score by a part. By a row it is without `finish`. */
    void (*slope)(float *y, float g, enum og__pair_part by, const float *a, const float *b,
                  const float *w, size_t n);
    /* Slope by the row h, from the sum y of the above; in place. NULL: they are equal. */
    void (*finish)(float *y, const float *h, size_t n);
};
#define OG__SCORING_DECLARED(NAME, name) extern const struct og_scoring og__scoring_##name;
OG__DECODERS(OG__SCORING_DECLARED)

/* A row of the table; NULL: there is no such decoder. */
const struct og_scoring *og__scoring(int decoder);

/* Rows with smaller sums of magnitudes are divided by this one. As PyTorch's normalize. */
#define OG__LEAST_MAGNITUDE 1e-12F

#endif
