/* Files of predictions: .npy, or a table with the source's ids of nodes and the names of classes.
 *
 *     .npy   float32 or float16 [nodes or edges, columns]
 *     .csv   id,class,<a column a class>                 classes
 *            id,<a column each>                          several labels, shares, values, embeddings
 *            id,class_1,score_1,class_2,score_2,...      --top-k
 *
 * In place of the id edges have src,dst; of several relations src,relation,dst. A score is a logit,
 * or with --probabilities what follows from it. */
#ifndef OG_INFER_PREDICTION_FILE_H
#define OG_INFER_PREDICTION_FILE_H

#include "dataset/graph.h"
#include "nn/nn.h"

/* How one is written. */
struct og_prediction_form {
    bool csv, half;
    bool probabilities;
    bool edges, relations; /* rows are of edges; of several relations */
    int top_k;             /* 0: all columns */
    bool labels;           /* columns are classes or labels */
    bool shares;           /* they are shares of classes */
};

struct og_predict_options;
/* The form of `out`. Refuses what does not fit the model, the file's name or the graph. */
OG_MUST_CHECK int og__prediction_form(struct og_prediction_form *form, const char *out,
                                      const struct og_predict_options *how,
                                      const struct og_model_config *model, const struct og_graph *g,
                                      const struct og_log *log, struct og_err *err);
/* The form of the second file, whose rows are embeddings. */
OG_MUST_CHECK int og__embeddings_form(struct og_prediction_form *form, const char *path,
                                      const struct og_predict_options *how, struct og_err *err);
/* Whether it is the rows themselves: float32, .npy. */
static inline bool og__prediction_is_plain(const struct og_prediction_form *form)
{
    return !form->csv && !form->half && !form->probabilities;
}

struct og_prediction_file;

/* Writes to an open file, which stays the caller's; `path` is for messages. Rows have `width`
 * numbers. Graph and model must stay. */
OG_MUST_CHECK int og__prediction_open(struct og_prediction_file **out, int fd, const char *path,
                                      const struct og_prediction_form *form, int width,
                                      const struct og_model_config *model, const struct og_graph *g,
                                      struct og_err *err);
/* Rows of n nodes. They are changed. */
OG_MUST_CHECK int og__prediction_rows(struct og_prediction_file *p, const uint32_t *nodes,
                                      float *rows, uint32_t n, struct og_err *err);
/* Edges of a list, for messages by their numbers in it. */
struct og_predicted_edges {
    const uint32_t *ends;     /* [n][2] */
    const uint32_t *relation; /* [n] of several relations; NULL: of one */
    const uint32_t *number;   /* [n] */
};
OG_MUST_CHECK int og__prediction_edges(struct og_prediction_file *p,
                                       const struct og_predicted_edges *edges, float *rows,
                                       uint32_t n, struct og_err *err);
/* Complete and free it, or only free it if rc is an error. Returns rc or the first error. NULL is
 * ignored. */
OG_MUST_CHECK int og__prediction_end(struct og_prediction_file *p, int rc, struct og_err *err);

#endif
