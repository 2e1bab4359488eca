#include "cli.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLERS = 64, DIGITS = 9 };

static const struct og_option own[] = {
    OWN_TEXT("checkpoint", "FILE", "safetensors file of the model"),
    OWN_NUMBER("callers", "N", "4", "requests that are answered at the same time", 1, MOST_CALLERS),
    {0},
};

struct serving {
    struct og_predictor *predictor;
    json_t *about;   /* the first line of the output; */
    json_t *classes; /* its names of classes, or NULL */
    pthread_mutex_t reading, writing;
    json_int_t lines; /* read so far */
    bool failed;      /* to write */
};

/* ---- a line ---- */

/* What a line requests: rows of nodes, or of edges. */
struct asked {
    bool edges;
    size_t n;
    int64_t *ids;         /* [n], or [n][2] */
    const char **names;   /* likewise, in the place of ids; NULL: ids are given */
    float *own;           /* [n][width] features of edges; NULL: none */
    const char *relation; /* of the edges; NULL: none was named */
    int64_t *times;       /* [n]; NULL: none */
    bool wrong_times;     /* they are not whole numbers, one for each */
};

/* Ids, or names; all of the request are of one kind. */
static bool read_nodes(const json_t *list, struct asked *a, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = json_string_value(one);
        if (first + i == 0 && name)
            a->names = calloc(2 * a->n + 1, sizeof(*a->names));
        if (a->names ? !name : !json_is_integer(one))
            return false;
        if (a->names)
            a->names[first + i] = name;
        else
            a->ids[first + i] = json_integer_value(one);
    }
    return true;
}

static bool read_numbers(const json_t *list, int64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        if (!json_is_integer(one))
            return false;
        out[i] = json_integer_value(one);
    }
    return true;
}

/* Rows of `width` numbers; NULL if these are none, or memory is short. */
static float *read_features(const json_t *rows, size_t n, size_t width)
{
    float *made = json_array_size(rows) == n ? malloc((n * width + 1) * sizeof(*made)) : NULL;
    for (size_t i = 0; made && i < n * width; i++) {
        const json_t *row = json_array_get(rows, i / width);
        const json_t *one = json_array_get(row, i % width);
        if (!json_is_number(one) || json_array_size(row) != width) {
            free(made);
            return NULL;
        }
        made[i] = (float)json_number_value(one);
    }
    return made;
}

static bool read_times(const json_t *list, struct asked *a)
{
    a->times = json_array_size(list) == a->n ? malloc((a->n + 1) * sizeof(*a->times)) : NULL;
    return a->times && read_numbers(list, a->times, a->n);
}

static bool read_ends(const json_t *list, struct asked *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const json_t *ends = json_array_get(list, i);
        if (json_array_size(ends) != 2 || !read_nodes(ends, a, 2 * i, 2))
            return false;
    }
    return true;
}

/* A key that no request of this kind has; NULL: there is none. */
static const char *unknown_key(const json_t *root)
{
    static const char *const of_nodes[] = {"id", "nodes", "input_time", NULL};
    static const char *const of_edges[] = {"id",       "edges",           "edge_attr",
                                           "relation", "edge_label_time", NULL};
    const char *const *known = json_object_get(root, "edges") ? of_edges : of_nodes;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return key;
    }
    return NULL;
}

/* Reads a request; false if it is none, or memory is short. */
static bool read_request(const struct serving *s, const json_t *root, struct asked *a)
{
    const json_t *edges = json_object_get(root, "edges");
    const json_t *features = json_object_get(root, "edge_attr");
    const json_t *relation = json_object_get(root, "relation");
    const json_t *times = json_object_get(root, edges ? "edge_label_time" : "input_time");
    const json_t *nodes = json_is_object(root) ? json_object_get(root, "nodes") : root;
    const json_t *list = edges ? edges : nodes;
    if (!json_is_array(list) || (edges && nodes) || (relation && !json_is_string(relation)))
        return false;
    a->relation = json_string_value(relation);
    a->edges = edges != NULL;
    a->n = json_array_size(list);
    a->ids = malloc((2 * a->n + 1) * sizeof(*a->ids));
    if (!a->ids || !(edges ? read_ends(edges, a) : read_nodes(list, a, 0, a->n)))
        return false;
    a->wrong_times = times && !read_times(times, a);
    if (a->wrong_times)
        return false;
    if (features)
        a->own = read_features(features, a->n, (size_t)og_predictor_edge_features(s->predictor));
    return !features || a->own;
}

static json_t *rows_json(const float *rows, size_t n, size_t columns)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (size_t k = 0; k < columns; k++)
            json_array_append_new(row, json_real((double)rows[i * columns + k]));
        json_array_append_new(all, row);
    }
    return all;
}

/* Names of the largest scores; of equal ones the first. */
static json_t *classes_json(const struct serving *s, const float *rows, size_t n, size_t columns)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        for (size_t k = 1; k < columns; k++)
            best = rows[i * columns + k] > rows[i * columns + best] ? k : best;
        json_array_append_new(all,
                              json_string(json_string_value(json_array_get(s->classes, best))));
    }
    return all;
}

/* {"rows":[...]}, with "classes" if they have names; or {"code","error","hint"} */
static json_t *answer_request(const struct serving *s, const json_t *request)
{
    struct og_err err = {0};
    struct asked a = {0};
    const char *unknown = unknown_key(request);
    const bool good = !unknown && read_request(s, request, &a);
    const struct og_predictor_request more = {
        .size = sizeof(more), .own = a.own, .times = a.times, .relation = a.relation};
    const size_t columns = (size_t)(a.edges ? og_predictor_edge_columns(s->predictor)
                                            : og_predictor_columns(s->predictor));
    float *rows = good ? calloc(a.n * columns + 1, sizeof(*rows)) : NULL;
    json_t *root;
    int rc = 0;
    if (unknown)
        rc = failure(&err, -EINVAL,
                     "nodes have input_time; edges have edge_attr, edge_label_time and relation",
                     "%.100s: no key of this request", unknown);
    else if (a.wrong_times)
        rc = failure(&err, -EINVAL, "give as many whole numbers as nodes or edges",
                     "%s: not a time for each", a.edges ? "edge_label_time" : "input_time");
    else if (!rows)
        rc = failure(
            &err, -EINVAL,
            "[1, 2, 3] or [\"a\", \"b\"] or {\"id\": 7, \"nodes\": [1, 2, 3]} or {\"edges\": "
            "[[1, 2], [3, 4]]}",
            "not a request: ids or names of nodes or edges expected");
    else if (a.names)
        rc = og_predictor_find(s->predictor, a.names, (int64_t)a.n, a.edges, &more, a.ids, &err);
    else
        rc = og_predictor_check_numbers(s->predictor, a.ids, (int64_t)a.n, a.edges, &more, &err);
    if (rc == 0 && a.edges)
        rc = og_predictor_edges_with(s->predictor, a.ids, (int64_t)a.n, &more, rows, &err);
    else if (rc == 0)
        rc = og_predictor_rows_with(s->predictor, a.ids, (int64_t)a.n, &more, rows, &err);
    root = rc < 0 ? error_json(&err) : json_pack("{s:o}", "rows", rows_json(rows, a.n, columns));
    if (rc == 0 && s->classes)
        json_object_set_new(root, "classes", classes_json(s, rows, a.n, columns));
    free(a.names);
    free(rows);
    free(a.times);
    free(a.own);
    free(a.ids);
    return root;
}

static void answer_line(struct serving *s, const char *line, json_int_t number)
{
    json_t *asked = json_loads(line, 0, NULL);
    json_t *id = json_is_object(asked) ? json_object_get(asked, "id") : NULL;
    json_t *root = answer_request(s, asked);
    if (!root)
        root = json_pack("{s:i s:s s:s}", "code", -ENOMEM, "error", "out of memory", "hint", "");
    json_object_set_new(root, "id", id ? json_incref(id) : json_integer(number));
    pthread_mutex_lock(&s->writing);
    if (!root || json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) < 0 ||
        putchar('\n') == EOF || fflush(stdout) != 0)
        s->failed = true;
    pthread_mutex_unlock(&s->writing);
    json_decref(root);
    json_decref(asked);
}

static void *answer_lines(void *arg)
{
    struct serving *s = arg;
    char *line = NULL;
    size_t size = 0;
    for (;;) {
        pthread_mutex_lock(&s->reading);
        const ssize_t n = s->failed ? -1 : getline(&line, &size, stdin);
        const json_int_t number = ++s->lines;
        pthread_mutex_unlock(&s->reading);
        if (n < 0)
            break;
        if (line[strspn(line, " \t\r\n")])
            answer_line(s, line, number);
    }
    free(line);
    return NULL;
}

/* ---- the command ---- */

/* The first line, when requests may come. */
static int say_ready(struct serving *s, struct og_err *err)
{
    char *text = NULL;
    const int rc = og_predictor_info(s->predictor, &text, err);
    if (rc < 0)
        return rc;
    s->about = json_loads(text, 0, NULL);
    free(text);
    if (!s->about)
        return no_result(err);
    s->classes = json_object_get(s->about, "class_names");
    json_dumpf(s->about, stdout, JSON_COMPACT);
    putchar('\n');
    return fflush(stdout) == 0 ? 0 : failure(err, -EIO, NULL, "cannot write to standard output");
}

static int answer_all(struct serving *s, int callers, struct og_err *err)
{
    pthread_t thread[MOST_CALLERS];
    int n = 0;
    while (n < callers - 1 && pthread_create(&thread[n], NULL, answer_lines, s) == 0)
        n++;
    answer_lines(s);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    return s->failed ? failure(err, -EIO, NULL, "cannot write to standard output") : 0;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct serving s = {.reading = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER};
    const char *checkpoint = own_text(in, "checkpoint");
    int callers, rc;
    if (!checkpoint)
        return usage_error(err, NULL, "serve: --checkpoint FILE expected");
    TRY(own_number(in, "callers", &callers, err));
    TRY(og_predictor_open(&s.predictor, in->arg[0], checkpoint, in->options,
                          screen_observer(in->screen, 0), err));
    signal(SIGINT, SIG_DFL); /* waiting for a line, it ends at once */
    signal(SIGTERM, SIG_DFL);
    TRY(say_ready(&s, err));
    rc = answer_all(&s, callers, err);
out:
    json_decref(s.about);
    og_predictor_close(s.predictor);
    return rc;
}

const struct command cmd_serve = {
    .name = "serve",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "answer requests for predictions of a few nodes",
    .text =
        "Reads requests from standard input, a line each: [1, 2, 3], [\"ann\", \"bob\"] or "
        "{\"id\": "
        "7, \"nodes\": [1, 2, 3]}. Each answer is a line {\"id\": 7, \"rows\": [[...], ...]} with "
        "the logits, and \"classes\": [...] if classes have names, or {\"id\": 7, \"error\": ..., "
        "\"hint\": ...}. Without an id it is the number of the line. "
        "Answers come as they are ready. The first line of the output has \"columns\" and other "
        "properties.\n\nNeighbourhoods are whole, as in `outgrow predict`, unless --fanout is "
        "given. Then a node's neighbours follow from --seed alone. --sampler ladies is then "
        "refused. With --sampler walk each hop has its own walks. --memory bounds all: half is "
        "for topology and model, half for requests. Nodes are names, where the dataset has some, "
        "or ids of the source as text; else numbers, which count as in train.npy.\n\nA model of "
        "edges "
        "takes {\"edges\": [[1, 2], ...]}, with \"edge_attr\": [[...], ...] if it reads features "
        "of edges. With a model of links the answers are scores of pairs. \"relation\": \"NAME\" "
        "decides those of decoders with vectors of relations.\n\nA model of "
        "--time takes \"input_time\": [...], one a node, or \"edge_label_time\" of edges: no edge "
        "of "
        "their neighbourhoods is later. Without it, nodes have their own times.",
    .own = own,
    .training = true,
    .often = WORDS("memory", "fanout", "batch"),
    .without = WORDS("workers"),
    .run = run,
};
