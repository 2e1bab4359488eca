/* Inference over the whole graph, against a dense computation in double that is written to be read.
 * Also against itself with other memory. */
#include "dataset/import/options.h"
#include "infer/infer_fixture.h"
#include "options/fields.h"

/* ==== a model whose every parameter matters ==== */

struct dense {
    struct og_model_config c;
    struct og_model *m;
    int64_t n;
    struct og_topology t;
    const float *weight; /* of t's edges; NULL = all 1 */
};

/* The file as PyTorch would have written it. */
static void forget_metadata(void)
{
    struct og_tensors t;
    char *bytes = whole_tensors(checkpoint, &t);
    size_t n = t.n_metadata;
    t.n_metadata = 0;
    assert_int_equal(og__tensors_write(checkpoint, &t, NULL), 0);
    t.n_metadata = n;
    og__tensors_release(&t);
    free(bytes);
}

/* ==== the same in double ==== */

/* The parameter convs.<l>.<name>, or NULL. */
static const float *param(const struct dense *d, const char *module, int l, const char *name)
{
    char full[96];
    size_t n;
    const struct og_param *p = og__model_params(d->m, &n);
    snprintf(full, sizeof(full), "%s.%d.%s", module, l, name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, full) == 0)
            return p[i].value;
    return NULL;
}

/* y += scale * (W x), W [out, in] */
static void add_product(double *y, const float *w, const double *x, int out, int in, double scale)
{
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++)
            y[o] += scale * (double)w[(size_t)o * (size_t)in + (size_t)i] * x[i];
}

static void add_bias(double *y, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += (double)b[i];
}

/* relu(W x + b) of every node */
static double *all_relu(const struct dense *d, const float *w, const float *b, const double *x,
                        int out, int in)
{
    double *t = calloc((size_t)d->n * (size_t)out, sizeof(*t));
    for (int64_t v = 0; v < d->n; v++) {
        double *y = t + v * out;
        add_product(y, w, x + v * in, out, in, 1);
        for (int o = 0; o < out; o++)
            y[o] = fmax(y[o] + (b ? (double)b[o] : 0), 0);
    }
    return t;
}

/* Sources of v: its neighbours, or, with `loop`, those that are not v, and v once. */
static int64_t sources(const struct dense *d, int64_t v, bool loop, uint32_t *out)
{
    int64_t n = 0;
    for (int64_t e = d->t.indptr[v]; e < d->t.indptr[v + 1]; e++) {
        uint32_t u = og__neighbor(&d->t, e);
        if (!loop || u != v)
            out[n++] = u;
    }
    if (loop)
        out[n++] = (uint32_t)v;
    return n;
}

static double root_degree(const struct dense *d, int64_t v)
{
    int64_t n = 1;
    for (int64_t e = d->t.indptr[v]; e < d->t.indptr[v + 1]; e++)
        n += og__neighbor(&d->t, e) != v;
    return sqrt((double)n);
}

static bool attends(const struct dense *d)
{
    return d->c.kind == OG_MODEL_GAT || d->c.kind == OG_MODEL_GATV2;
}

static double leaky(double x)
{
    return x > 0 ? x : 0.2 * x;
}

/* The score of an edge: z_u . a_src + z_v . a_dst through a leaky ReLU. GATv2 adds `own`, the
 * product of v, to z_u before the ReLU, and multiplies the outcome by a. Elements [first, end). */
static double score_of(const struct dense *d, int l, const double *z, const double *own, int first,
                       int end)
{
    const bool pairs = d->c.kind == OG_MODEL_GATV2;
    const float *src = param(d, "convs", l, pairs ? "att" : "att_src");
    const float *dst = param(d, "convs", l, "att_dst");
    double score = 0;
    for (int j = first; j < end; j++)
        score += pairs ? (double)src[j] * leaky(z[j] + own[j])
                       : (double)src[j] * z[j] + (double)dst[j] * own[j];
    return pairs ? score : leaky(score);
}

static void attend(const struct dense *d, int l, const uint32_t *from, int64_t n, const double *own,
                   const double *z, double *y, int out, bool last)
{
    int heads = d->c.heads, width = last ? out : out / heads, all = heads * width;
    double *alpha = calloc((size_t)n, sizeof(*alpha));
    for (int h = 0; h < heads; h++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += alpha[i] =
                exp(score_of(d, l, z + (int64_t)from[i] * all, own, h * width, (h + 1) * width));
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < width; j++)
                y[last ? j : h * width + j] +=
                    alpha[i] / sum * z[from[i] * all + h * width + j] / (last ? heads : 1);
    }
    free(alpha);
}

/* What sources pass before they go along the edges, [n, *mid]; NULL: nothing. */
static double *passed_first(const struct dense *d, int l, const double *x, int in, int out,
                            int *mid)
{
    const struct og_model_config *c = &d->c;
    *mid = in;
    if (c->kind == OG_MODEL_SAGE && c->aggregator == OG_AGGREGATOR_MAX)
        return all_relu(d, param(d, "convs", l, "lin.weight"), param(d, "convs", l, "lin.bias"), x,
                        in, in);
    if (c->kind == OG_MODEL_PINSAGE) {
        *mid = c->hidden;
        return all_relu(d, param(d, "convs", l, "lin_q.weight"), param(d, "convs", l, "lin_q.bias"),
                        x, *mid, in);
    }
    if (!attends(d))
        return NULL;
    *mid = l == c->layers - 1 ? c->heads * out : out;
    const bool pairs = c->kind == OG_MODEL_GATV2;
    double *t = calloc((size_t)d->n * (size_t)*mid, sizeof(*t));
    for (int64_t v = 0; v < d->n; v++) {
        add_product(t + v * *mid, param(d, "convs", l, pairs ? "lin_l.weight" : "lin.weight"),
                    x + v * in, *mid, in, 1);
        if (pairs)
            add_bias(t + v * *mid, param(d, "convs", l, "lin_l.bias"), *mid);
    }
    return t;
}

/* What the row of a destination is multiplied to, for its scores. */
static void score_own(const struct dense *d, int l, const double *x, const double *t, double *own,
                      int in, int mid)
{
    if (d->c.kind != OG_MODEL_GATV2) {
        memcpy(own, t, (size_t)mid * sizeof(*own));
        return;
    }
    memset(own, 0, (size_t)mid * sizeof(*own));
    add_product(own, param(d, "convs", l, "lin_r.weight"), x, mid, in, 1);
    add_bias(own, param(d, "convs", l, "lin_r.bias"), mid);
}

/* Sum, mean or maximum over the sources of v, into a[mid]. */
static void aggregate(const struct dense *d, int64_t v, const uint32_t *from, int64_t n,
                      const double *z, int mid, double *a)
{
    bool max = d->c.kind == OG_MODEL_SAGE && d->c.aggregator == OG_AGGREGATOR_MAX;
    bool weighed = d->weight && d->c.kind == OG_MODEL_PINSAGE;
    memset(a, 0, (size_t)mid * sizeof(*a));
    double sum = 0;
    for (int64_t e = d->t.indptr[v]; weighed && e < d->t.indptr[v + 1]; e++)
        sum += (double)d->weight[e];
    for (int64_t i = 0; i < n; i++) {
        const double *u = z + (int64_t)from[i] * mid;
        double w = d->c.kind == OG_MODEL_GIN ? 1 : 1 / (double)n;
        if (d->c.kind == OG_MODEL_GCN)
            w = 1 / (root_degree(d, v) * root_degree(d, from[i]));
        if (weighed)
            w = (double)d->weight[d->t.indptr[v] + i] / sum;
        for (int j = 0; j < mid; j++)
            a[j] = max ? fmax(a[j], u[j]) : a[j] + w * u[j];
    }
}

static void perceptron(const struct dense *d, int l, double *a, const double *x, double *y, int in,
                       int out)
{
    int hidden = d->c.hidden;
    double eps = (double)*param(d, "convs", l, "eps"), *s = calloc((size_t)hidden, sizeof(*s));
    for (int j = 0; j < in; j++)
        a[j] += (1 + eps) * x[j];
    add_product(s, param(d, "convs", l, "nn.0.weight"), a, hidden, in, 1);
    add_bias(s, param(d, "convs", l, "nn.0.bias"), hidden);
    for (int j = 0; j < hidden; j++)
        s[j] = fmax(s[j], 0);
    add_product(y, param(d, "convs", l, "nn.2.weight"), s, out, hidden, 1);
    add_bias(y, param(d, "convs", l, "nn.2.bias"), out);
    free(s);
}

/* y of a node from what was aggregated, of models that do not attend. x: its own row */
static void multiply(const struct dense *d, int l, double *a, int mid, const double *x, double *y,
                     int in, int out)
{
    const float *self = param(d, "convs", l, "lin_r.weight");
    if (d->c.kind == OG_MODEL_GIN) {
        perceptron(d, l, a, x, y, in, out);
        return;
    }
    bool gcn = d->c.kind == OG_MODEL_GCN;
    add_product(y, param(d, "convs", l, gcn ? "lin.weight" : "lin_l.weight"), a, out, mid, 1);
    add_bias(y, param(d, "convs", l, gcn ? "bias" : "lin_l.bias"), out);
    if (self)
        add_product(y, self, x, out, in, 1);
}

static void add_residual(const struct dense *d, int l, const double *x, double *y, int in, int out)
{
    if (d->c.residual && in != out)
        add_product(y, param(d, "skips", l, "weight"), x, out, in, 1);
    for (int j = 0; d->c.residual && in == out && j < out; j++)
        y[j] += x[j];
}

static void convolve(const struct dense *d, int l, const double *x, double *rows, int in, int out)
{
    int mid;
    bool gat = attends(d);
    bool loop = gat || d->c.kind == OG_MODEL_GCN ||
                (d->c.kind == OG_MODEL_SAGE && d->c.aggregator == OG_AGGREGATOR_GCN);
    double *t = passed_first(d, l, x, in, out, &mid);
    uint32_t *from = calloc((size_t)d->t.n_edges + 1, sizeof(*from));
    double *a = calloc((size_t)mid, sizeof(*a));
    for (int64_t v = 0; v < d->n; v++) {
        int64_t n = sources(d, v, loop, from);
        double *y = rows + v * out;
        if (gat) {
            score_own(d, l, x + v * in, t + v * mid, a, in, mid);
            attend(d, l, from, n, a, t, y, out, l == d->c.layers - 1);
            add_bias(y, param(d, "convs", l, "bias"), out);
        } else {
            aggregate(d, v, from, n, t ? t : x, mid, a);
            multiply(d, l, a, mid, x + v * in, y, in, out);
        }
        add_residual(d, l, x + v * in, y, in, out);
    }
    free(a);
    free(t);
    free(from);
}

static void normalize(const struct dense *d, int l, double *y, int n)
{
    const float *w = param(d, "norms", l, "weight"), *b = param(d, "norms", l, "bias");
    const float *mean = param(d, "norms", l, "running_mean"),
                *var = param(d, "norms", l, "running_var");
    double m = 0, s = 0;
    for (int j = 0; j < n; j++)
        m += y[j] / n;
    for (int j = 0; j < n; j++)
        s += (y[j] - m) * (y[j] - m) / n;
    for (int j = 0; j < n; j++) {
        double centre = mean ? (double)mean[j] : m, spread = var ? (double)var[j] : s;
        y[j] = (y[j] - centre) / sqrt(spread + 1e-5) * (double)w[j] + (double)b[j];
    }
}

/* The end of a hidden layer. */
static void end_row(const struct dense *d, int l, double *y, int n)
{
    double length = 0;
    if (d->c.norm != OG_NORM_NONE)
        normalize(d, l, y, n);
    for (int j = 0; j < n; j++) {
        y[j] = y[j] > 0 ? y[j] : attends(d) ? exp(y[j]) - 1 : 0;
        length += y[j] * y[j];
    }
    for (int j = 0; d->c.kind == OG_MODEL_PINSAGE && length > 0 && j < n; j++)
        y[j] /= sqrt(length);
}

/* Logits, and the input of the last layer. */
static double *dense_logits(const struct dense *d, const float *features, double **last_input)
{
    double *x = calloc((size_t)d->n * (size_t)d->c.in_dim, sizeof(*x));
    for (int64_t i = 0; i < d->n * d->c.in_dim; i++)
        x[i] = (double)features[i];
    *last_input = NULL;
    for (int l = 0; l < d->c.layers; l++) {
        bool last = l == d->c.layers - 1;
        int in = l ? d->c.hidden : d->c.in_dim, out = last ? d->c.n_classes : d->c.hidden;
        double *y = calloc((size_t)d->n * (size_t)out, sizeof(*y));
        convolve(d, l, x, y, in, out);
        for (int64_t v = 0; !last && v < d->n; v++)
            end_row(d, l, y + v * out, out);
        if (last)
            *last_input = x;
        else
            free(x);
        x = y;
    }
    return x;
}

/* ==== running it ==== */

static float *read_rows(const char *path, int64_t rows, int64_t cols)
{
    struct og_npy a;
    float *out = calloc((size_t)(rows * cols), sizeof(*out));
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    assert_int_equal(a.type, OG__NPY_F32);
    assert_int_equal(a.shape[0], rows);
    assert_int_equal(a.shape[1], cols);
    assert_int_equal(og__npy_read(&a, 0, rows, out, NULL), 0);
    og__npy_close(&a);
    return out;
}

static void assert_near(const float *found, const double *wanted, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - wanted[i]) < 1e-4 * fmax(1, fabs(wanted[i]))))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, (double)found[i],
                     wanted[i]);
}

static void open_dense(struct dense *d, struct og_graph **ds)
{
    *d = (struct dense){0};
    assert_int_equal(og__graph_open(graph, ds, NULL), 0);
    assert_int_equal(og__checkpoint_shape(checkpoint, &d->c, NULL), 0);
    assert_int_equal(
        og__model_create(&d->m, &og__ops_cpu, &d->c, OG_OPTIMIZER_SGD, 0, NULL, NULL, NULL), 0);
    assert_int_equal(og__checkpoint_load(checkpoint, d->m, NULL), 0);
    assert_int_equal(og__topology_load(*ds, OG__NO_WEIGHTS, NULL, &d->t, NULL), 0);
    d->n = (*ds)->n_nodes;
}

static void close_dense(struct dense *d, struct og_graph *ds)
{
    og__topology_release(&d->t);
    og__model_free(d->m);
    og__graph_close(ds);
}

/* Predictions against a dense computation. */
static void compare_files(const struct dense *d, const struct og_graph *ds, bool embedded,
                          const char *what)
{
    double *last_input;
    float *x = read_rows(ds->group->rows.path, d->n, d->c.in_dim);
    double *wanted = dense_logits(d, x, &last_input);
    float *found = read_rows(logits, d->n, d->c.n_classes);
    assert_near(found, wanted, d->n * d->c.n_classes, what);
    free(found);
    if (embedded) {
        assert_non_null(last_input);
        found = read_rows(embeddings, d->n, d->c.hidden);
        assert_near(found, last_input, d->n * d->c.hidden, what);
        free(found);
    }
    free(last_input);
    free(wanted);
    free(x);
}

/* The model at `checkpoint` on the dataset at `graph`. */
static void compare_with_dense(const char *what)
{
    struct og_graph *ds;
    struct dense d;
    open_dense(&d, &ds);
    bool embedded = d.c.layers > 1 && d.c.task != OG_TASK_LINK;
    must_predict("1G", embedded ? embeddings : NULL, NULL);
    compare_files(&d, ds, embedded, what);
    close_dense(&d, ds);
}

static void every_model_equals_a_dense_computation(void **state)
{
    (void)state;
    static const struct {
        int layers, hidden;
    } shapes[] = {{1, HIDDEN}, {2, HIDDEN}, {3, 40}};
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(models); i++)
        for (size_t s = 0; s < OG_COUNT(shapes); s++) {
            struct og_model_config c = shaped(i, shapes[s].layers, shapes[s].hidden);
            write_model(&c);
            compare_with_dense(models[i].name);
        }
}

/* They are wider than the dataset has classes: as wide as the embeddings that a decoder is given.
 */
static struct og_model_config linked(int decoder)
{
    struct og_model_config c = shaped(2, 2, HIDDEN);
    c.task = OG_TASK_LINK;
    c.decoder = decoder;
    c.n_classes = HIDDEN;
    return c;
}

static void models_of_links_give_embeddings(void **state)
{
    (void)state;
    make_awkward_graph();
    for (int decoder = OG_DECODER_DOT; decoder <= OG_DECODER_MLP; decoder++) {
        struct og_model_config c = linked(decoder);
        struct og_options opt;
        struct og_err err = {0};
        char *text;
        write_model(&c);
        compare_with_dense("links");
        assert_int_equal(predict("1G", embeddings, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.hint, "--out"));
        err = (struct og_err){0};
        og__options_init(&opt);
        assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, NULL, &text, &err), 0);
        assert_non_null(strstr(text, "\"auc\""));
        free(text);
        og__options_release(&opt);
    }
}

/* A decoder that has no parameters leaves no name in a file of PyTorch's. Its rows
 * are the same for either task. */
static void a_task_that_no_file_tells_is_an_option(void **state)
{
    (void)state;
    struct og_model_config c = linked(OG_DECODER_DOT);
    struct og_options opt;
    struct og_err err = {0};
    make_awkward_graph();
    write_model(&c);
    forget_metadata();
    remove_outputs();
    assert_int_equal(predict("1G", NULL, NULL, NULL), 0);
    float *plain = read_rows(logits, N, HIDDEN);
    og__options_init(&opt);
    assert_int_equal(og_options_set(&opt, "task", "link", NULL), 0);
    remove_outputs();
    if (og_predict(graph, checkpoint, logits, NULL, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    float *linked_rows = read_rows(logits, N, HIDDEN);
    assert_memory_equal(plain, linked_rows, sizeof(float) * N * HIDDEN);
    free(plain);
    free(linked_rows);
    og__options_release(&opt);
}

static void cora_equals_a_dense_computation(void **state)
{
    (void)state;
    const char *data = getenv("OUTGROW_DATA");
    char source[LONGEST_PATH];
    snprintf(source, sizeof(source), "%s/cora", data ? data : "../shared/data");
    if (access(source, R_OK) != 0)
        skip();
    struct og_import import;
    og__import_init(&import);
    import.symmetrize = true;
    import.feature_dtype = OG_F32;
    og__remove_tree(graph);
    assert_int_equal(og_import("npy", source, graph, &import, NULL, NULL), 0);
    struct og_graph *ds;
    assert_int_equal(og__graph_open(graph, &ds, NULL), 0);
    for (size_t i = 0; i < OG_COUNT(models); i++) {
        struct og_model_config c = shaped(i, 2, 16);
        if (c.residual || c.aggregator == OG_AGGREGATOR_MAX) /* the slowest, and shown above */
            continue;
        c.in_dim = ds->group->dim;
        c.n_classes = ds->n_classes;
        write_model(&c);
        compare_with_dense(models[i].name);
    }
    og__graph_close(ds);
}

/* ==== neighbours by walks ==== */

static void predict_walking(const char *topology, const char *neighbors, const char *restart)
{
    struct og_options opt;
    struct og_err err = {0};
    og__options_init(&opt);
    test_set(&opt, "memory", "1G");
    test_set(&opt, "sampler", "walk");
    test_set(&opt, "topology", topology);
    test_set(&opt, "neighbors", neighbors);
    test_set(&opt, "walk-restart", restart);
    remove_outputs();
    if (og_predict(graph, checkpoint, logits, embeddings, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
}

static const size_t walkers[] = {PINSAGE, PINSAGE + 1, SAGE, GCN};

/* Two and two nodes feed each other. Every walk of three steps from v goes to w, v, w: of its
 * visits two are w's, one is v's, whatever is drawn. */
static void make_pairs(void)
{
    int64_t indptr[N + 1];
    int32_t indices[N];
    char path[LONGEST_PATH];
    make_awkward_graph();
    for (int v = 0; v <= N; v++)
        indptr[v] = v;
    for (int v = 0; v < N; v++)
        indices[v] = v ^ 1;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s.npy", graph, i ? "indptr" : "indices");
        assert_int_equal(unlink(path), 0);
    }
    write_array("indptr", OG__NPY_I64, N + 1, 1, indptr);
    write_array("indices", OG__NPY_I32, N, 1, indices);
    write_meta(N);
}

static void visits_are_weights(void **state)
{
    (void)state;
    static int64_t indptr[N + 1];
    static int32_t indices[2 * N];
    static float weight[2 * N];
    make_pairs();
    for (size_t i = 0; i < OG_COUNT(walkers); i++)
        for (int most = 1; most <= 2; most++) { /* the most visited alone; both */
            struct og_model_config c = shaped(walkers[i], 2, HIDDEN);
            struct og_graph *ds;
            struct dense d;
            write_model(&c);
            predict_walking("memory", most == 1 ? "1" : "2", "0");
            open_dense(&d, &ds);
            for (int v = 0; v < N; v++) {
                indptr[v + 1] = (int64_t)(v + 1) * most;
                for (int k = 0; k < most; k++) {
                    indices[v * most + k] = k ? v : v ^ 1;
                    weight[v * most + k] = k ? 1 : 2;
                }
            }
            og__topology_release(&d.t);
            d.t = (struct og_topology){
                .n_nodes = N, .n_edges = indptr[N], .indptr = indptr, .indices32 = indices};
            d.weight = weight;
            compare_files(&d, ds, true, models[walkers[i]].name);
            d.t = (struct og_topology){0};
            close_dense(&d, ds);
        }
}

/* The same by the sampler itself, from one node at a time: neighbourhoods are a node's own. */
struct lists {
    int64_t indptr[N + 1];
    int32_t indices[N * 5];
    float weight[N * 5];
};

static void walk_from_each(const struct og_topology *t, struct lists *out)
{
    const struct og_sampling how = {
        .kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5};
    const int neighbors = 5;
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, t, &neighbors, 1, 1, NULL, NULL), 0);
    assert_int_equal(og__sampler_choose(s, &how, NULL), 0);
    for (uint32_t v = 0; v < N; v++) {
        assert_int_equal(
            og__sample(s, &v, 1,
                       &(struct og_sample_key){.stream = OG__STREAM_EVAL, .epoch = 0, .batch = 0},
                       &m, NULL),
            0);
        const struct og_block *b = &m.batch.hop[0];
        for (uint64_t e = 0; e < b->n_edges; e++) {
            out->indices[out->indptr[v] + (int64_t)e] = (int32_t)m.batch.ids[b->src[e]];
            out->weight[out->indptr[v] + (int64_t)e] = b->weight[e];
        }
        out->indptr[v + 1] = out->indptr[v] + (int64_t)b->n_edges;
    }
    og__sampler_close(s);
    og__batch_release(&m);
}

static void each_node_walks_for_itself(void **state)
{
    (void)state;
    static struct lists walked;
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(walkers); i++) {
        struct og_model_config c = shaped(walkers[i], 2, HIDDEN);
        struct og_graph *ds;
        struct dense d;
        size_t n;
        write_model(&c);
        predict_walking("memory", "5", "0.5");
        char *bytes = file_bytes(logits, &n);
        predict_walking("disk", "5", "0.5");
        assert_same_logits(bytes, n);
        free(bytes);
        open_dense(&d, &ds);
        walk_from_each(&d.t, &walked);
        og__topology_release(&d.t);
        d.t = (struct og_topology){.n_nodes = N,
                                   .n_edges = walked.indptr[N],
                                   .indptr = walked.indptr,
                                   .indices32 = walked.indices};
        d.weight = walked.weight;
        compare_files(&d, ds, true, models[walkers[i]].name);
        d.t = (struct og_topology){0};
        close_dense(&d, ds);
    }
    assert_int_equal(left_behind(), 0);
}

/* A model trained on walks is predicted by walks. Other walks, or none, are used where they are
 * given. */
static void the_checkpoint_tells_of_walks(void **state)
{
    (void)state;
    static const char *const given[][2] = {
        {NULL, NULL}, {"neighbors", "5"}, {"sampler", "uniform"}};
    struct og_model_config c = shaped(PINSAGE, 2, HIDDEN);
    struct og_options trained;
    char *wanted[OG_COUNT(given)];
    size_t n[OG_COUNT(given)];
    make_awkward_graph();
    og__options_init(&trained);
    test_set(&trained, "sampler", "walk");
    test_set(&trained, "neighbors", "3");
    test_set(&trained, "walk-restart", "0.25");
    write_model(&c);
    predict_walking("memory", "3", "0.25");
    wanted[0] = file_bytes(logits, &n[0]);
    predict_walking("memory", "5", "0.25");
    wanted[1] = file_bytes(logits, &n[1]);
    must_predict("1G", embeddings, NULL);
    wanted[2] = file_bytes(logits, &n[2]);
    write_model_of(&c, &trained);
    for (size_t i = 0; i < OG_COUNT(given); i++) {
        struct og_options opt;
        og__options_init(&opt);
        test_set(&opt, "memory", "1G");
        if (given[i][0])
            test_set(&opt, given[i][0], given[i][1]);
        remove_outputs();
        assert_int_equal(og_predict(graph, checkpoint, logits, NULL, &opt, NULL, NULL, NULL), 0);
        assert_same_logits(wanted[i], n[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(wanted[k], wanted[i], n[i]);
        og__options_release(&opt);
    }
    for (size_t i = 0; i < OG_COUNT(given); i++)
        free(wanted[i]);
    og__options_release(&trained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_equals_a_dense_computation),
        cmocka_unit_test(models_of_links_give_embeddings),
        cmocka_unit_test(a_task_that_no_file_tells_is_an_option),
        cmocka_unit_test(cora_equals_a_dense_computation),
        cmocka_unit_test(visits_are_weights),
        cmocka_unit_test(each_node_walks_for_itself),
        cmocka_unit_test(the_checkpoint_tells_of_walks),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
