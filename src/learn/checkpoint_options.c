/* Options that a checkpoint stores: those of the sampler, --fanout, --batch and --compute. For
 * links also what decided which edges were held out. */
#include "learn/checkpoint_parts.h"

#include "dataset/edge_split.h"
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

/* ---- saying them ---- */

/* What decides which edges a run of links holds out. */
static const char *const edge_options[] = {"seed", "edge-split", "relation"};

/* The sampler, its parameters, --edge-weights and --inputs, named and written as on the command
 * line. */
enum { MOST_SAMPLER_OPTIONS = OG__SAID_OPTIONS - OG_COUNT(edge_options) };

static size_t list_sampler_options(const struct og_options *opt,
                                   const char *names[MOST_SAMPLER_OPTIONS])
{
    const struct og_option *o;
    size_t n = 0;
    for (size_t i = 0; (o = og_option(i)) && n < MOST_SAMPLER_OPTIONS; i++) {
        const bool parameter = o->of && strcmp(o->of, "sampler") == 0;
        const bool of_model =
            strcmp(o->name, "edge-weights") == 0 || strcmp(o->name, "inputs") == 0;
        if (strcmp(o->name, "sampler") == 0 ||
            ((parameter || of_model) && og__option_counts(opt, o)))
            names[n++] = o->name;
    }
    return n;
}

static bool is_said(const struct og_options *opt, const char *name)
{
    const struct {
        const char *name;
        bool usual;
    } since[] = {{"draw", opt->draw == OG_DRAW_EACH},
                 {"replace", !opt->replace},
                 {"batch-dependency", opt->batch_dependency == 1},
                 {"layer-dependency", !opt->layer_dependency},
                 {"inputs", !opt->inputs},
                 {"edge-weights", opt->edge_weights == OG_EDGE_WEIGHTS_OFF}};
    for (size_t i = 0; i < OG_COUNT(since); i++)
        if (since[i].usual && strcmp(since[i].name, name) == 0)
            return false;
    return true;
}

/* Those that a file says. It says nothing of a draw in each hop, of one without replacement or
 * dependency, nor of weights that are not used, as files did before there was another way. */
static size_t said_sampler_options(const struct og_options *opt,
                                   const char *names[MOST_SAMPLER_OPTIONS])
{
    size_t n = list_sampler_options(opt, names), said = 0;
    for (size_t i = 0; i < n; i++)
        if (is_said(opt, names[i]))
            names[said++] = names[i];
    return said;
}

/* Adds options by name after what the file says already; texts have room in `text`. */
static void say_options(struct og_tensors *t, const struct og_options *opt,
                        const char *const *names, size_t n, char text[][32])
{
    for (size_t i = 0; i < n; i++)
        t->metadata[t->n_metadata++] =
            (struct og_metadata){(char *)names[i], (char *)og__option_text(opt, names[i], text[i])};
}

void og__checkpoint_say_options(struct og_tensors *t, const struct og_options *trained, bool links,
                                struct og_option_texts *texts)
{
    const char *sampler[MOST_SAMPLER_OPTIONS];
    const size_t n = said_sampler_options(trained, sampler);
    say_options(t, trained, sampler, n, texts->text);
    if (links) /* a relation only where there is one */
        say_options(t, trained, edge_options, OG_COUNT(edge_options) - !trained->relation,
                    texts->text + n);
}

/* ---- the sampler ---- */

/* --inputs 0-2 is given, and the file says "0-2:sym": how its hops were made holds here too. */
static bool says_more(const struct og_options *opt, const char *name, const char *said)
{
    const size_t n = opt->inputs ? strlen(opt->inputs) : 0;
    return n > 0 && strcmp(name, "inputs") == 0 && strncmp(said, opt->inputs, n) == 0 &&
           said[n] == ':';
}

static int take_option(const struct og_tensors *t, const char *name, const char *path,
                       struct og_options *opt, struct og_err *err)
{
    char hint[64];
    struct og_err why = {0};
    const char *said = og__tensors_said(t, name);
    if (!said || (og_options_given(opt, name) && !says_more(opt, name, said)) ||
        og_options_set(opt, name, said, &why) == 0)
        return 0;
    snprintf(hint, sizeof(hint), "give --%s: an explicit value wins", name);
    return og__fail(err, -EINVAL, hint, "%s: metadata: %s", path, why.message);
}

int og__checkpoint_sampler(const char *path, struct og_options *opt, const struct og_log *log,
                           struct og_err *err)
{
    struct og_tensors_file f;
    const int sampler = opt->sampler, edge_weights = opt->edge_weights;
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    const char *names[MOST_SAMPLER_OPTIONS];
    if (!opt->disjoint && opt->time == OG_TIMES_OFF) /* which have a sampler of their own */
        OG_TRY(take_option(&f.all, "sampler", path, opt, err));
    const size_t n = list_sampler_options(opt, names);
    for (size_t i = 0; i < n; i++)
        OG_TRY(take_option(&f.all, names[i], path, opt, err));
    if (opt->edge_weights == OG_EDGE_WEIGHTS_AUTO) /* the file does not name weights */
        opt->edge_weights = OG_EDGE_WEIGHTS_OFF;
    if (opt->sampler != sampler)
        og__say(log, OG__INFO, "%s: trained with --sampler %s, which is taken here as well", path,
                og__option_word("sampler", opt->sampler));
    if (og__edge_weights(opt) != OG_EDGE_WEIGHTS_OFF && opt->edge_weights != edge_weights)
        og__say(log, OG__INFO, "%s: trained with --edge-weights %s, which is taken here as well",
                path, og__option_word("edge-weights", opt->edge_weights));
out:
    og__tensors_close(&f);
    return rc;
}

/* ---- the fanout ---- */

bool og__checkpoint_samples(const struct og_options *opt)
{
    return !og__model_is_alone(opt->model) &&
           !og__sampling_by_visits((enum og_sampler_kind)opt->sampler);
}

static void take_fanout(struct og_options *opt, struct og_options *said)
{
    memcpy(opt->fanout, said->fanout, sizeof(opt->fanout));
    opt->n_fanout = said->n_fanout;
    if (og_options_given(opt, "relation-fanout"))
        return;
    free(opt->relation_fanout);
    opt->relation_fanout = said->relation_fanout;
    said->relation_fanout = NULL;
}

int og__checkpoint_fanout(const char *path, struct og_options *opt, bool *said, struct og_err *err)
{
    struct og_tensors_file f;
    struct og_options own = {0};
    struct og_err why = {0};
    int rc = og__tensors_open(&f, path, err);
    *said = false;
    if (rc < 0)
        return rc;
    const char *text = og__tensors_said(&f.all, "fanout");
    if (!text || og_options_given(opt, "fanout"))
        goto out;
    og__options_init(&own);
    if (og_options_set(&own, "fanout", text, &why) < 0)
        OG_TRY(og__fail(err, -EINVAL, "give --fanout: an explicit value wins", "%s: metadata: %s",
                        path, why.message));
    take_fanout(opt, &own);
    *said = true;
out:
    og__tensors_close(&f);
    og__options_release(&own);
    return rc;
}

int og__checkpoint_option(const char *path, const char *name, struct og_options *opt,
                          const struct og_log *log, struct og_err *err)
{
    struct og_tensors_file f;
    char before[32], now[32];
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    const char *ours = og__option_text(opt, name, before);
    rc = take_option(&f.all, name, path, opt, err);
    const char *text = og__option_text(opt, name, now);
    if (rc == 0 && strcmp(text, ours) != 0)
        og__say(log, OG__INFO, "%s: trained with --%s %s, which is taken here as well", path, name,
                text);
    og__tensors_close(&f);
    return rc;
}

int og__checkpoint_timed(const char *path, bool *timed, struct og_err *err)
{
    struct og_tensors_file f;
    OG_DO(og__tensors_open(&f, path, err));
    const char *time = og__tensors_said(&f.all, "time");
    *timed = time && strcmp(time, "off") != 0;
    og__tensors_close(&f);
    return 0;
}

int og__checkpoint_refuse_times(const char *path, struct og_err *err)
{
    bool timed;
    const int rc = og__checkpoint_timed(path, &timed, err);
    return rc < 0 || !timed
               ? rc
               : og__fail(err, -ENOTSUP, "leave out --time off and --sampler",
                          "%s: trained with --time, but this command would ignore times", path);
}

/* ---- names of classes and columns ---- */

static const char not_ours[] = "is it a checkpoint that was written here?";

/* *value: of a key of the metadata, or NULL where the file has none. */
static int read_json(const char *path, const char *key, json_t **value, struct og_err *err)
{
    struct og_tensors_file f;
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    const char *said = og__tensors_said(&f.all, key);
    if (said)
        rc = og__json_parse(value, said, strlen(said), path, not_ours, err);
    og__tensors_close(&f);
    return rc;
}

/* *names: a list, or NULL where the file has none. */
static int read_names(const char *path, json_t **names, struct og_err *err)
{
    struct og_model_config shape;
    int rc;
    *names = NULL;
    OG_TRY(og__checkpoint_shape(path, &shape, err));
    OG_TRY(read_json(path, OG__CLASS_NAMES, names, err));
    bool fits =
        !*names || (json_is_array(*names) && json_array_size(*names) == (size_t)shape.n_classes);
    for (size_t i = 0; fits && i < json_array_size(*names); i++)
        fits = json_is_string(json_array_get(*names, i));
    if (!fits)
        OG_TRY(og__fail(err, -EINVAL, not_ours, "%s: metadata: %s is no list of %d names", path,
                        OG__CLASS_NAMES, shape.n_classes));
out:
    if (rc < 0) {
        json_decref(*names);
        *names = NULL;
    }
    return rc;
}

int og__checkpoint_classes(const char *path, struct og_graph *g, bool of_edges,
                           const struct og_log *judged, struct og_err *err)
{
    json_t *names;
    int rc = read_names(path, &names, err);
    if (names)
        rc = og__graph_take_classes(g, of_edges, names, judged, err);
    json_decref(names);
    return rc;
}

int og__checkpoint_other_classes(const char *path, const json_t *names, const struct og_log *log,
                                 struct og_err *err)
{
    json_t *theirs;
    const int rc = read_names(path, &theirs, err);
    if (theirs && names && !json_equal(theirs, names))
        og__say(log, OG__WARN,
                "%s: its classes have other names, or another order; what it knows of a class "
                "begins as that of another",
                path);
    json_decref(theirs);
    return rc;
}

int og__checkpoint_columns(const char *path, const struct og_graph *g, const struct og_log *log,
                           struct og_err *err)
{
    json_t *theirs = NULL;
    int rc = read_json(path, OG__COLUMNS, &theirs, err);
    if (rc == 0)
        rc = og__graph_same_columns(g, theirs, log, err);
    json_decref(theirs);
    return rc;
}

/* ---- the edges of links ---- */

/* What the file says of them, as options. */
static int said_edges(const struct og_tensors *t, const char *path, struct og_options *said,
                      struct og_err *err)
{
    struct og_err why = {0};
    og__options_init(said);
    for (size_t i = 0; i < OG_COUNT(edge_options); i++) {
        const char *text = og__tensors_said(t, edge_options[i]);
        if (text && og_options_set(said, edge_options[i], text, &why) < 0)
            return og__fail(err, -EINVAL, "is it a checkpoint that was written here?",
                            "%s: metadata: %s", path, why.message);
    }
    return 0;
}

static bool differ(const struct og_options *opt, const struct og_options *said, const char *name)
{
    char ours[32], theirs[32];
    if (!og_options_given(opt, name) || !og_options_given(said, name))
        return false;
    return !og__edge_split_same(og__option_text(opt, name, ours),
                                og__option_text(said, name, theirs));
}

static int refuse_edges(const struct og_options *opt, const struct og_options *said,
                        const char *name, const char *path, struct og_err *err)
{
    char ours[32], theirs[32], hint[80];
    snprintf(hint, sizeof(hint), "leave out --%s: what the checkpoint says is taken", name);
    return og__fail(
        err, -EINVAL, hint,
        "%s: trained with --%s %.40s: with %.40s it would be tested on edges it was trained on",
        path, name, og__option_text(said, name, theirs), og__option_text(opt, name, ours));
}

/* By lists of the dataset's own no seed decides which edges are held out. */
static int check_edges(const struct og_options *opt, const struct og_options *said,
                       const char *path, struct og_err *err)
{
    bool own = said->edge_split && strcmp(said->edge_split, OG__OWN_EDGES) == 0;
    if (differ(opt, said, "edge-split"))
        return refuse_edges(opt, said, "edge-split", path, err);
    if (differ(opt, said, "relation")) /* of another all were in the structure */
        return refuse_edges(opt, said, "relation", path, err);
    return own || !differ(opt, said, "seed") ? 0 : refuse_edges(opt, said, "seed", path, err);
}

static int take_edges(struct og_options *opt, const struct og_options *said, const char *path,
                      const struct og_log *log, struct og_err *err)
{
    OG_DO(check_edges(opt, said, path, err));
    if (!og_options_given(said, "edge-split"))
        og__say(log, OG__WARN,
                "%s: does not say which edges it was trained on: with another --seed or "
                "--edge-split than it had, some of them are held out now",
                path);
    for (size_t i = 0; i < OG_COUNT(edge_options); i++) {
        const char *name = edge_options[i];
        char ours[32], theirs[32];
        const char *text = og__option_text(said, name, theirs);
        if (og_options_given(opt, name) || !og_options_given(said, name))
            continue;
        if (strcmp(text, og__option_text(opt, name, ours)) != 0)
            og__say(log, OG__INFO, "%s: trained with --%s %s, which is taken here as well", path,
                    name, text);
        OG_DO(og_options_set(opt, name, text, err));
    }
    return 0;
}

int og__checkpoint_edges(const char *path, struct og_options *opt, const struct og_log *log,
                         struct og_err *err)
{
    struct og_tensors_file f;
    struct og_options said = {0};
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    OG_TRY(said_edges(&f.all, path, &said, err));
    OG_TRY(take_edges(opt, &said, path, log, err));
out:
    og__tensors_close(&f);
    og__options_release(&said);
    return rc;
}
