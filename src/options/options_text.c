/* Options as JSON and YAML, and from YAML. Reading is strict: one flat mapping of names to values,
 * each name once. Anything else is an error with its line. */
#include "base/file.h"
#include "base/plain.h"
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_CONFIG = 1 << 20 };

/* ---- values as text ---- */

static const void *field_of(const struct og_options *opt, const struct og_row *row)
{
    return (const char *)opt + row->offset;
}

/* The shortest text that reads back as the same number. */
static void real_text(double x, char out[32])
{
    const locale_t before = og__plain_begin();
    int digits = 15;
    do
        snprintf(out, 32, "%.*g", digits, x);
    while (og__plain_number(out, NULL) != x && ++digits <= 17);
    og__plain_end(before);
}

static void amount_text(const struct og_amount *a, char out[32])
{
    if (a->unit == OG_UNSET)
        out[0] = 0;
    else
        real_text(a->value, out);
    if (a->unit == OG_PERCENT)
        snprintf(out + strlen(out), 32 - strlen(out), "%%");
}

/* ---- JSON ---- */

static json_t *amount_json(const struct og_amount *a)
{
    char text[32];
    if (a->unit == OG_UNSET)
        return json_null();
    if (a->unit == OG_BYTES)
        return json_integer((json_int_t)a->value);
    amount_text(a, text);
    return json_string(text);
}

static json_t *fanout_json(const struct og_options *opt)
{
    json_t *list = json_array();
    for (int i = 0; i < opt->n_fanout; i++)
        list = og__json_append(list, json_integer(opt->fanout[i]));
    return list;
}

static const char *split_text(const struct og_option *row, const struct og_executor_split *split,
                              char buf[32])
{
    if (split->samplers == 0 && split->trainers == 0)
        return row->choices[0];
    if (split->samplers == 0)
        snprintf(buf, 32, "%d", split->trainers);
    else
        snprintf(buf, 32, "%d:%d", split->samplers, split->trainers);
    return buf;
}

static json_t *split_json(const struct og_option *row, const struct og_executor_split *split)
{
    char text[32];
    return json_string(split_text(row, split, text));
}

static json_t *value_json(const struct og_options *opt, const struct og_row *row)
{
    const struct og_option *option = &row->option;
    const void *field = field_of(opt, row);
    switch (option->type) {
    case OG_OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case OG_OPTION_INT:
        if (option->choices && *(const int *)field <= 0)
            return json_string(option->choices[-*(const int *)field]);
        return json_integer(*(const int *)field);
    case OG_OPTION_INT64:
        return json_integer(*(const int64_t *)field);
    case OG_OPTION_REAL:
        return json_real(*(const double *)field);
    case OG_OPTION_AMOUNT:
        return amount_json(field);
    case OG_OPTION_CHOICE:
        return json_string(option->choices[*(const int *)field]);
    case OG_OPTION_LIST:
        return fanout_json(opt);
    case OG_OPTION_TEXT:
        return *(char *const *)field ? json_string(*(char *const *)field) : json_null();
    case OG_OPTION_SPLIT:
        return split_json(option, field);
    }
    return NULL;
}

json_t *og__options_json(const struct og_options *opt)
{
    const struct og_row *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = og__option_row(i)); i++)
        object = og__json_with(object, row->option.name, value_json(opt, row));
    return object;
}

/* Was the option given, by itself or as part of another? --fanout may have relations, --device
 * numbers. */
static bool is_requested(const struct og_options *opt, size_t i, const struct og_row *row)
{
    const bool fanouts = row->offset == offsetof(struct og_options, relation_fanout);
    const bool devices = row->offset == offsetof(struct og_options, devices);
    return og__option_set_has(&opt->given, i) ||
           (fanouts && opt->relation_fanout && og_options_given(opt, "fanout")) ||
           (devices && opt->devices && og_options_given(opt, "device"));
}

json_t *og__options_requested(const struct og_options *opt)
{
    const struct og_row *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = og__option_row(i)); i++)
        if (is_requested(opt, i, row))
            object = og__json_with(object, row->option.name, value_json(opt, row));
    return object;
}

json_t *og__options_deciding(const struct og_options *opt, enum og_decides least)
{
    const struct og_row *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = og__option_row(i)); i++)
        if (row->option.decides >= (int)least)
            object = og__json_with(object, row->option.name, value_json(opt, row));
    return object;
}

/* ---- comparing ---- */

static int report_other(const char *name, const json_t *there, const json_t *here, const char *what,
                        const char *hint, struct og_err *err)
{
    const size_t how = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);
    char *theirs = og__json_print(there, how);
    char *ours = og__json_print(here, how);
    int rc = og__fail(err, -EINVAL, hint, "%s another --%s (%.60s, this run has %.60s)", what, name,
                      theirs ? theirs : "none", ours ? ours : "?");
    free(theirs);
    free(ours);
    return rc;
}

/* Whether the fanout has this option's effect. A walk's --neighbors is part of the resolved fanout,
 * limited by the visits of all walks. */
static bool is_named_elsewhere(const struct og_option *row)
{
    return strcmp(row->name, "neighbors") == 0;
}

/* The options at their defaults. Files older than --edge-weights and --edge-features are of runs
 * without them. */
static json_t *usual_deciding(enum og_decides least)
{
    struct og_options usual;
    og__options_init(&usual);
    usual.edge_weights = OG_EDGE_WEIGHTS_OFF;
    usual.edge_features = OG_EDGE_FEATURES_OFF;
    json_t *all = og__options_deciding(&usual, least);
    og__options_release(&usual);
    return all;
}

/* Files older than an option were made with its default. */
int og__options_match(const struct og_options *opt, const json_t *theirs, enum og_decides least,
                      const char *what, const char *hint, struct og_err *err)
{
    const struct og_option *option;
    json_t *ours = og__options_deciding(opt, least);
    json_t *usual = usual_deciding(least);
    int rc;
    OG_TRY(ours && usual ? 0 : og__fail_errno(err, -ENOMEM, NULL, "options"));
    OG_TRY(json_is_object(theirs)
               ? 0
               : og__fail(err, -EINVAL, hint, "%s options that are not recorded", what));
    for (size_t i = 0; (option = og_option(i)); i++) {
        const json_t *said = json_object_get(theirs, option->name);
        const json_t *there = said ? said : json_object_get(usual, option->name);
        const json_t *here = json_object_get(ours, option->name);
        if (here && og__option_counts(opt, option) && !is_named_elsewhere(option) &&
            !json_equal(there, here))
            OG_TRY(report_other(option->name, there, here, what, hint, err));
    }
out:
    json_decref(usual);
    json_decref(ours);
    return rc;
}

/* ---- writing YAML ---- */

static bool emit(yaml_emitter_t *out, yaml_event_t *event, int made)
{
    return made && yaml_emitter_emit(out, event);
}

static bool emit_word(yaml_emitter_t *out, const char *word)
{
    yaml_event_t e;
    return emit(out, &e,
                yaml_scalar_event_initialize(&e, NULL, NULL, (const yaml_char_t *)word, -1, 1, 1,
                                             YAML_ANY_SCALAR_STYLE));
}

static bool emit_list(yaml_emitter_t *out, const struct og_options *opt)
{
    yaml_event_t e;
    bool ok = emit(
        out, &e, yaml_sequence_start_event_initialize(&e, NULL, NULL, 1, YAML_FLOW_SEQUENCE_STYLE));
    for (int i = 0; ok && i < opt->n_fanout; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", opt->fanout[i] ? opt->fanout[i] : 1); /* as read */
        ok = emit_word(out, number);
    }
    return ok && emit(out, &e, yaml_sequence_end_event_initialize(&e));
}

/* Text of a value, except of a list; "" if unset. */
static const char *value_text(const struct og_options *opt, const struct og_row *row, char buf[32])
{
    const struct og_option *option = &row->option;
    const void *field = field_of(opt, row);
    switch (option->type) {
    case OG_OPTION_FLAG:
        return *(const bool *)field ? "true" : "false";
    case OG_OPTION_INT:
        if (option->choices && *(const int *)field <= 0)
            return option->choices[-*(const int *)field];
        snprintf(buf, 32, "%d", *(const int *)field);
        return buf;
    case OG_OPTION_INT64:
        snprintf(buf, 32, "%lld", (long long)*(const int64_t *)field);
        return buf;
    case OG_OPTION_REAL:
        real_text(*(const double *)field, buf);
        return buf;
    case OG_OPTION_AMOUNT:
        amount_text(field, buf);
        return buf;
    case OG_OPTION_CHOICE:
        return option->choices[*(const int *)field];
    case OG_OPTION_TEXT:
        return *(char *const *)field ? *(char *const *)field : "";
    case OG_OPTION_SPLIT:
        return split_text(option, field, buf);
    case OG_OPTION_LIST:
        break;
    }
    return "";
}

const char *og__option_text(const struct og_options *opt, const char *name, char buf[32])
{
    const struct og_row *row = og__option_named(name);
    return row ? value_text(opt, row, buf) : "";
}

/* Text of both options, "10,10;cites=15,10". */
static char *fanout_text(const struct og_options *opt)
{
    enum { LONGEST = OG_MAX_HOPS * 12 };
    const char *more = opt->relation_fanout ? opt->relation_fanout : "";
    char numbers[LONGEST] = "";
    char *text;
    size_t used = 0;
    for (int i = 0; i < opt->n_fanout; i++)
        used +=
            (size_t)snprintf(numbers + used, LONGEST - used, "%s%d", i ? "," : "", opt->fanout[i]);
    return asprintf(&text, "%s%s%s", numbers, *more ? ";" : "", more) < 0 ? NULL : text;
}

int og_options_get(const struct og_options *opt, const char *name, char **out, struct og_err *err)
{
    const struct og_row *row = og__option_named(name);
    char buf[32];
    *out = NULL;
    if (!row)
        return og__option_unknown(name, err);
    const bool list = row->option.type == OG_OPTION_LIST;
    *out = list ? fanout_text(opt) : strdup(value_text(opt, row, buf));
    return *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "options");
}

static bool emit_option(yaml_emitter_t *out, const struct og_options *opt, const struct og_row *row)
{
    const char *name = row->option.name;
    char buf[32];
    if (strcmp(name, "run") == 0 || strcmp(name, "resume") == 0)
        return true;
    if (row->option.type == OG_OPTION_LIST)
        return emit_word(out, name) && emit_list(out, opt);
    const char *text = value_text(opt, row, buf);
    return !*text || (emit_word(out, name) && emit_word(out, text));
}

static bool emit_all(yaml_emitter_t *out, const struct og_options *opt)
{
    const struct og_row *row;
    yaml_event_t e;
    bool ok =
        emit(out, &e, yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING)) &&
        emit(out, &e, yaml_document_start_event_initialize(&e, NULL, NULL, NULL, 1)) &&
        emit(out, &e,
             yaml_mapping_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    for (size_t i = 0; ok && (row = og__option_row(i)); i++)
        ok = emit_option(out, opt, row);
    return ok && emit(out, &e, yaml_mapping_end_event_initialize(&e)) &&
           emit(out, &e, yaml_document_end_event_initialize(&e, 1)) &&
           emit(out, &e, yaml_stream_end_event_initialize(&e));
}

char *og__options_yaml(const struct og_options *opt)
{
    char *text = NULL;
    size_t len;
    yaml_emitter_t out;
    FILE *f = open_memstream(&text, &len);
    bool ok = f && yaml_emitter_initialize(&out);
    if (ok) {
        yaml_emitter_set_unicode(&out, 1);
        yaml_emitter_set_output_file(&out, f);
        ok = emit_all(&out, opt);
        yaml_emitter_delete(&out);
    }
    if (f && fclose(f) != 0)
        ok = false;
    if (ok)
        return text;
    free(text);
    return NULL;
}

int og__options_write_yaml(const struct og_options *opt, const char *path, struct og_err *err)
{
    char *text = og__options_yaml(opt);
    if (!text)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int rc = og__write_text(path, text, strlen(text), err);
    free(text);
    return rc;
}

/* ---- reading YAML ---- */

struct reader {
    yaml_parser_t yaml;
    const char *name; /* of the file */
    struct og_err *err;
};

static int refuse(struct reader *r, const yaml_mark_t *at, const char *why)
{
    return og__fail(r->err, -EINVAL, "write one option a line, as in `hidden: 256`", "%s:%zu: %s",
                    r->name, at->line + 1, why);
}

/* Gets the next event, of one of the two types. */
static int take(struct reader *r, yaml_event_t *e, yaml_event_type_t a, yaml_event_type_t b,
                const char *otherwise)
{
    int parsed = yaml_parser_parse(&r->yaml, e);
    if (!parsed && r->yaml.error == YAML_MEMORY_ERROR)
        return og__fail_errno(r->err, -ENOMEM, NULL, "%s", r->name);
    if (!parsed) {
        const char *why = r->yaml.problem ? r->yaml.problem : "not YAML";
        return refuse(r, &r->yaml.problem_mark, why);
    }
    if (e->type == a || e->type == b)
        return 0;
    int rc = refuse(r, &e->start_mark, otherwise);
    yaml_event_delete(e);
    return rc;
}

static const char *word_of(const yaml_event_t *e)
{
    return (const char *)e->data.scalar.value;
}

/* [10, 10] becomes the text "10,10". */
static int read_list(struct reader *r, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (;;) {
        yaml_event_t e;
        int rc = take(r, &e, YAML_SCALAR_EVENT, YAML_SEQUENCE_END_EVENT, "a list of numbers only");
        if (rc < 0)
            return rc;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        if (!end && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", word_of(&e));
        if (used >= size)
            rc = refuse(r, &e.start_mark, "the list is too long");
        yaml_event_delete(&e);
        if (end || rc < 0)
            return rc;
    }
}

/* Former options, which old files may have. */
static const char *find_removed(const char *name)
{
    static const char *const removed[] = {"early-reads"};
    for (size_t i = 0; i < OG_COUNT(removed); i++)
        if (strcmp(removed[i], name) == 0)
            return removed[i];
    return NULL;
}

static int set_option(struct reader *r, struct og_options *opt, const yaml_event_t *key,
                      const char *value)
{
    const char *removed = find_removed(word_of(key));
    if (removed) {
        opt->removed = removed;
        return 0;
    }
    struct og_err why = {0};
    int rc = og_options_set(opt, word_of(key), value, &why);
    if (rc == 0)
        return 0;
    const struct og_row *row = og__option_named(word_of(key));
    if (row && !why.hint[0] && row->option.type == OG_OPTION_FLAG)
        snprintf(why.hint, sizeof(why.hint), "write true, or leave the line out");
    else if (row && !why.hint[0])
        snprintf(why.hint, sizeof(why.hint), "without this line it is %s",
                 *row->option.standard ? row->option.standard : "chosen by the run");
    return og__fail(r->err, rc, why.hint, "%s:%zu: %s", r->name, key->start_mark.line + 1,
                    why.message);
}

static int read_option(struct reader *r, struct og_options *opt, const yaml_event_t *key)
{
    yaml_event_t e;
    char list[OG_MAX_HOPS * 24];
    int rc = take(r, &e, YAML_SCALAR_EVENT, YAML_SEQUENCE_START_EVENT,
                  "a value or a list of numbers expected");
    if (rc < 0)
        return rc;
    if (strlen(word_of(key)) != key->data.scalar.length)
        rc = refuse(r, &key->start_mark, "a NUL character in the name");
    else if (e.type == YAML_SCALAR_EVENT && strlen(word_of(&e)) != e.data.scalar.length)
        rc = refuse(r, &e.start_mark, "a NUL character in the value");
    else if (e.type == YAML_SCALAR_EVENT)
        rc = set_option(r, opt, key, word_of(&e));
    else if ((rc = read_list(r, list, sizeof(list))) == 0)
        rc = set_option(r, opt, key, list);
    yaml_event_delete(&e);
    return rc;
}

/* Sets a file's option separately, to distinguish it from explicit ones. `seen` finds duplicate
 * names. */
static int read_entry(struct reader *r, struct og_options *opt, const yaml_event_t *key,
                      struct og_option_set *seen)
{
    const struct og_option_set given = opt->given;
    opt->given = (struct og_option_set){0};
    int rc;
    OG_TRY(read_option(r, opt, key));
    if (og__option_sets_meet(&opt->given, seen))
        OG_TRY(og__fail(r->err, -EINVAL, "leave one of the lines out",
                        "%s:%zu: %.100s: the option was given before in this file", r->name,
                        key->start_mark.line + 1, word_of(key)));
out:
    og__option_set_join(seen, &opt->given);
    og__option_set_join(&opt->given, &given);
    return rc;
}

static int read_mapping(struct reader *r, struct og_options *opt)
{
    struct og_option_set seen = {0};
    for (;;) {
        yaml_event_t key;
        int rc = take(r, &key, YAML_SCALAR_EVENT, YAML_MAPPING_END_EVENT, "a name expected");
        if (rc < 0)
            return rc;
        const bool end = key.type == YAML_MAPPING_END_EVENT;
        rc = end ? 0 : read_entry(r, opt, &key, &seen);
        yaml_event_delete(&key);
        if (end || rc < 0)
            return rc;
    }
}

static int read_stream(struct reader *r, struct og_options *opt)
{
    yaml_event_t e;
    int rc = take(r, &e, YAML_STREAM_START_EVENT, YAML_NO_EVENT, "not YAML");
    if (rc < 0)
        return rc;
    yaml_event_delete(&e);
    rc = take(r, &e, YAML_DOCUMENT_START_EVENT, YAML_STREAM_END_EVENT, "not YAML");
    if (rc < 0)
        return rc;
    bool empty = e.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&e);
    if (empty)
        return 0;
    rc = take(r, &e, YAML_MAPPING_START_EVENT, YAML_NO_EVENT, "`name: value` lines expected");
    if (rc < 0)
        return rc;
    yaml_event_delete(&e);
    OG_TRY(read_mapping(r, opt));
    for (int i = 0; i < 2; i++) {
        OG_TRY(take(r, &e, i ? YAML_STREAM_END_EVENT : YAML_DOCUMENT_END_EVENT, YAML_NO_EVENT,
                    "one document only"));
        yaml_event_delete(&e);
    }
out:
    return rc;
}

int og__options_parse(struct og_options *opt, const char *text, size_t len, const char *name,
                      struct og_err *err)
{
    struct reader r = {.name = name, .err = err};
    if (!yaml_parser_initialize(&r.yaml))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
    int rc = read_stream(&r, opt);
    yaml_parser_delete(&r.yaml);
    return rc;
}

int og_options_load(struct og_options *opt, const char *path, struct og_err *err)
{
    char *text;
    size_t len;
    int rc = og__read_text(path, MAX_CONFIG, &text, &len, err);
    if (rc < 0)
        return rc;
    rc = og__options_parse(opt, text, len, path, err);
    free(text);
    return rc;
}
