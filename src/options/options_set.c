/* Sets an option from text: its field, and those that its text sets with it. */
#include "options/options.h"

#include "nn/nn.h"
#include "nn/rates.h"
#include "options/devices.h"
#include "plan/policy.h"
#include "sample/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- parameters: options of some kinds only ---- */

/* Choices whose kinds have parameters, and functions that list them. */
static const struct chooser {
    const char *name;
    bool (*takes)(int kind, const char *option);
    const char *(*colon)(int kind, int place); /* parameters that need no name, in order; or NULL */
} choosers[] = {
    {"policy", og__policy_takes, og__policy_colon},
    {"sampler", og__sampling_takes, NULL},
    {"model", og__model_takes, NULL},
    {"task", og__task_takes, NULL},
    {"lr-schedule", og__rate_takes, og__rate_colon},
    {"optimizer", og__optimizer_takes, NULL},
    {"loss", og__loss_takes, og__loss_colon},
};

static const struct chooser *find_chooser(const char *name)
{
    for (size_t i = 0; i < OG_COUNT(choosers); i++)
        if (strcmp(choosers[i].name, name) == 0)
            return &choosers[i];
    return NULL;
}

static int chosen(const struct og_options *opt, const struct og_row *row)
{
    return *(const int *)((const char *)opt + row->offset);
}

bool og__option_counts(const struct og_options *opt, const struct og_option *option)
{
    return !option->of ||
           find_chooser(option->of)->takes(chosen(opt, og__option_named(option->of)), option->name);
}

int og__edge_weights(const struct og_options *opt)
{
    const bool used = opt->edge_weights != OG_EDGE_WEIGHTS_AUTO;
    return used && og__model_takes(opt->model, "edge-weights") ? opt->edge_weights
                                                               : OG_EDGE_WEIGHTS_OFF;
}

void og__option_takers(const struct og_option *option, char *out, size_t size)
{
    const struct chooser *c = find_chooser(option->of);
    const char *const *word = og__option_named(option->of)->option.choices;
    size_t used = 0;
    *out = 0;
    for (int kind = 0; word[kind] && used < size; kind++)
        if (c->takes(kind, option->name))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", word[kind]);
    char *last = strrchr(out, ',');
    if (!last || used + 4 > size)
        return;
    memmove(last + 4, last + 1, strlen(last));
    memcpy(last, " and", 4);
}

/* ---- setting ---- */

/* The parameter of this name; "epochs" is presc's presc-epochs. */
static const struct og_row *find_parameter(const struct chooser *c, int kind, const char *word,
                                           const char *name)
{
    char longer[64];
    snprintf(longer, sizeof(longer), "%s-%s", word, name);
    const char *const names[] = {name, longer};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        if (c->takes(kind, names[i]))
            return og__option_named(names[i]);
    return NULL;
}

static bool is_parameter(const struct og_option *option, const struct chooser *c, int kind)
{
    return option->of && strcmp(option->of, c->name) == 0 && c->takes(kind, option->name);
}

static bool has_parameters(const struct chooser *c, int kind)
{
    const struct og_option *option;
    for (size_t i = 0; (option = og_option(i)); i++)
        if (is_parameter(option, c, kind))
            return true;
    return false;
}

static int refuse_parameter(const struct chooser *c, int kind, const char *word, const char *name,
                            struct og_err *err)
{
    char hint[160] = "";
    size_t used = 0;
    const struct og_option *option;
    for (size_t i = 0; (option = og_option(i)) && used < sizeof(hint); i++)
        if (is_parameter(option, c, kind))
            used += (size_t)snprintf(hint + used, sizeof(hint) - used, "%s%s",
                                     used ? ", " : "it takes ", option->name);
    return og__fail(err, -EINVAL, used ? hint : NULL, "%s: %s has no parameter '%.40s'", c->name,
                    word, name);
}

/* Sets `name=value`, or the value of the parameter that is number `place` of those without name. */
static int set_parameter(struct og_options *opt, const struct chooser *c, int kind,
                         const char *word, char *piece, int place, struct og_err *err)
{
    const char *bare = c->colon ? c->colon(kind, place) : NULL;
    char *value = strchr(piece, '=');
    if (!value && bare)
        return og_options_set(opt, bare, piece, err);
    if (value)
        *value++ = 0;
    const struct og_row *row = find_parameter(c, kind, word, piece);
    return row && value ? og_options_set(opt, row->option.name, value, err)
                        : refuse_parameter(c, kind, word, piece, err);
}

/* A file's name may have commas and equals signs. */
static bool takes_text(const struct chooser *c, int kind)
{
    const char *bare = c->colon ? c->colon(kind, 0) : NULL;
    return bare && og__option_named(bare)->option.type == OG_OPTION_TEXT;
}

static int set_parameters(struct og_options *opt, const struct chooser *c, int kind,
                          const char *word, char *list, struct og_err *err)
{
    if (takes_text(c, kind))
        return og_options_set(opt, c->colon(kind, 0), list, err);
    int place = 0;
    while (list) {
        char *piece = strsep(&list, ",");
        const bool bare = !strchr(piece, '=');
        int rc = set_parameter(opt, c, kind, word, piece, place, err);
        place += bare;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Sets "hybrid:window=128,update=4", "presc:2" or "step:30,0.1". If a part is refused, nothing
 * changes. */
static int set_with_parameters(struct og_options *opt, const struct og_row *row,
                               const struct chooser *c, const char *value, struct og_err *err)
{
    struct og_options own = {0};
    char *word = strdup(value);
    char *list = word;
    int rc;
    OG_TRY(word ? og__options_copy(&own, opt, err) : og__fail_errno(err, -ENOMEM, NULL, "options"));
    (void)strsep(&list, ":");
    const int kind = og__option_choice(row->option.name, word);
    const bool some = kind >= 0 && has_parameters(c, kind);
    OG_TRY(some ? og__row_read(row, &own, word, err) : og__option_refuse(&row->option, value, err));
    rc = set_parameters(&own, c, kind, word, list, err);
    if (rc < 0 && err) { /* as it was given */
        char why[sizeof(err->message)];
        memcpy(why, err->message, sizeof(why));
        snprintf(err->message, sizeof(why), "%s %.60s: %.300s", row->option.name, value, why);
    }
    OG_TRY(rc);
    const struct og_options before = *opt;
    *opt = own;
    own = before;
out:
    free(word);
    og__options_release(&own);
    return rc;
}

/* Sets "10,10;cites=15,10" as --fanout 10,10 --relation-fanout cites=15,10. The second does not
 * count as explicit; the next --fanout replaces it. */
static int set_fanouts(struct og_options *opt, const char *value, const char *relations,
                       struct og_err *err)
{
    const struct og_row *row = og__option_named("relation-fanout");
    struct og_option_set own = {0};
    char *fanout = strndup(value, (size_t)(relations - value));
    int rc;
    OG_TRY(fanout ? 0 : og__fail_errno(err, -ENOMEM, NULL, "options"));
    if (!relations[1])
        OG_TRY(og__fail(err, -EINVAL, "leave the semicolon out, or put NAME=N,N after it",
                        "fanout: '%.200s': no relation after the semicolon", value));
    OG_TRY(og_options_set(opt, "fanout", fanout, err));
    OG_TRY(og__row_read(row, opt, relations + 1, err));
    og__option_set_add(&own, og__option_number(row));
    og__option_set_keep(&opt->given, &opt->given, &own);
out:
    free(fanout);
    return rc;
}

/* Lists the devices 0 to N - 1 of "virtual:N"; "" if it is invalid. */
static void count_devices(const char *text, char *list, size_t size)
{
    const long n = strspn(text, "0123456789") == strlen(text) ? strtol(text, NULL, 10) : 0;
    size_t used = 0;
    *list = 0;
    for (long i = 0; i < n && n <= OG__MOST_DEVICES && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%ld", i ? "," : "", i);
}

/* Sets "virtual:2" as --device virtual --devices 0,1, and "cuda:0,3" as --device cuda --devices
 * 0,3. The second does not count as explicit; the next --device replaces it. */
static int set_device(struct og_options *opt, const struct og_row *row, const char *value,
                      struct og_err *err)
{
    const struct og_row *devices = og__option_named("devices");
    const char *which = strchr(value, ':') + 1;
    char *word = strndup(value, (size_t)(which - 1 - value));
    const int kind = word ? og__option_choice(row->option.name, word) : -1;
    char list[4 * OG__MOST_DEVICES];
    struct og_devices read;
    struct og_option_set own = {0};
    int rc;
    OG_TRY(word ? 0 : og__fail_errno(err, -ENOMEM, NULL, "options"));
    if (kind == OG_DEVICE_VIRTUAL)
        count_devices(which, list, sizeof(list));
    else
        snprintf(list, sizeof(list), "%s", which);
    if ((kind != OG_DEVICE_VIRTUAL && kind != OG_DEVICE_CUDA) || strlen(which) >= sizeof(list) ||
        !og__devices_read(list, &read))
        OG_TRY(og__fail(
            err, -EINVAL,
            "use --device virtual:2 for two virtual devices, --device cuda:0,3 for the first "
            "and fourth GPU; at most 16, each once",
            "device: '%.60s' given, devices with their numbers expected", value));
    OG_TRY(og__row_read(devices, opt, list, err));
    OG_TRY(og__row_read(row, opt, word, err));
    og__option_set_add(&own, og__option_number(devices));
    og__option_set_keep(&opt->given, &opt->given, &own);
out:
    free(word);
    return rc;
}

/* Drops the relations of an earlier --fanout, or the numbers of an earlier --device. */
static void drop_unless_given(struct og_options *opt, const char *name, char **text)
{
    if (og_options_given(opt, name))
        return;
    free(*text);
    *text = NULL;
}

static int check_devices(const char *value, struct og_err *err)
{
    struct og_devices read;
    return og__devices_read(value, &read)
               ? 0
               : og__fail(err, -EINVAL, "use numbers separated by commas, such as 0,1; at most 16",
                          "devices: '%.60s' given, numbers of devices expected", value);
}

static bool has_choice(const struct og_option *option, const char *value)
{
    size_t i = 0;
    while (option->choices && option->choices[i] && strcmp(option->choices[i], value) != 0)
        i++;
    return option->choices && option->choices[i];
}

/* A refused value may be one of an option with a longer name, as that of --embedding-optimizer. A
 * GPU is a word of other programs, and one letter from `cpu`. */
static void name_other(const struct og_row *row, const char *value, struct og_err *err)
{
    const struct og_option *option;
    if (err && row->offset == offsetof(struct og_options, device) && strcasecmp(value, "gpu") == 0)
        snprintf(err->hint, sizeof(err->hint), "use --device cuda");
    const size_t n = strlen(row->option.name);
    for (size_t i = 0; err && (option = og_option(i)); i++) {
        const size_t longer = strlen(option->name);
        if (longer > n + 1 && option->name[longer - n - 1] == '-' &&
            strcmp(option->name + longer - n, row->option.name) == 0 && has_choice(option, value))
            snprintf(err->hint, sizeof(err->hint), "--%s takes %s", option->name, value);
    }
}

int og_options_set(struct og_options *opt, const char *name, const char *value, struct og_err *err)
{
    const struct og_row *row = og__option_named(name);
    if (!row)
        return og__option_unknown(name, err);
    const bool list = row->option.type == OG_OPTION_LIST;
    const char *relations = list ? strchr(value, ';') : NULL;
    if (relations)
        return set_fanouts(opt, value, relations, err);
    const bool colon = strchr(value, ':');
    const struct chooser *c = colon ? find_chooser(row->option.name) : NULL;
    const bool numbered = colon && strcmp(row->option.name, "device") == 0;
    int rc = strcmp(row->option.name, "devices") == 0 ? check_devices(value, err) : 0;
    if (rc < 0)
        return rc;
    rc = numbered ? set_device(opt, row, value, err)
         : c      ? set_with_parameters(opt, row, c, value, err)
                  : og__row_read(row, opt, value, err);
    if (rc == -EINVAL)
        name_other(row, value, err);
    if (rc < 0)
        return rc;
    og__option_set_add(&opt->given, og__option_number(row));
    if (list)
        drop_unless_given(opt, "relation-fanout", &opt->relation_fanout);
    if (row->offset == offsetof(struct og_options, device) && !numbered)
        drop_unless_given(opt, "devices", &opt->devices);
    return 0;
}
