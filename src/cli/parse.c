/* The command line, parsed by argp with the command's own options and the library's (og_option).
 * Training options are collected first and set last, so that they override --config in any
 * position. */
#include "cli.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list of a command's options ---- */

static const char output_group[] = "Output";

static const struct og_option config_option = OWN_TEXT(
    "config", "FILE", "YAML file of options, such as config.yaml of a run; explicit options win");
static const struct og_option json_option = OWN_FLAG("json", "print only the result, as JSON");
static const struct og_option quiet_option = OWN_FLAG("quiet", "no progress");
static const struct og_option help_option = OWN_FLAG("help", "show this and exit");

static void add_row(struct shown_option *o, const struct og_option *row, const char *group)
{
    *o = (struct shown_option){row->name, row->arg, group, "", row->joins};
    int used = snprintf(o->help, sizeof(o->help), "%s", row->help);
    bool choice = row->type == OG_OPTION_CHOICE;
    for (int i = 0; choice && row->choices[i] && used < (int)sizeof(o->help); i++)
        used += snprintf(o->help + used, sizeof(o->help) - (size_t)used, "%s %s", i ? "," : ":",
                         row->choices[i]);
    if (*row->standard && row->arg && used < (int)sizeof(o->help))
        snprintf(o->help + used, sizeof(o->help) - (size_t)used, " [%s]", row->standard);
}

const struct og_option *own_row(const struct command *command, size_t i)
{
    const struct og_option *row = command->own ? &command->own[i] : NULL;
    return command->takes ? command->takes(i) : row && row->name ? row : NULL;
}

/* Index of the option, or -1. */
static int find_own(const struct command *command, const char *name)
{
    const struct og_option *row;
    for (int i = 0; (row = own_row(command, (size_t)i)); i++)
        if (strcmp(row->name, name) == 0)
            return i;
    return -1;
}

/* Whether the command has its own option of this name, instead of the common one. */
static bool has_own(const struct command *command, const char *name)
{
    return find_own(command, name) >= 0;
}

/* Whether the command excludes this training option. */
static bool is_left_out(const struct command *command, const char *name)
{
    for (size_t i = 0; command->without && command->without[i]; i++)
        if (strcmp(command->without[i], name) == 0)
            return true;
    return false;
}

/* Sorts by group, in the order of the groups' first options. */
static void sort_by_group(struct shown_option *list, size_t n)
{
    for (size_t end = 0, i = 0; i < n; i++) {
        size_t at = end;
        for (size_t k = i; k < n; k++) {
            if (strcmp(list[k].group, list[i].group) != 0)
                continue;
            const struct shown_option one = list[k];
            memmove(&list[at + 1], &list[at], (k - at) * sizeof(*list));
            list[at++] = one;
        }
        end = at;
        i = at - 1;
    }
}

/* argp's keys are indices of this list. */
struct shown_option *list_options(const struct command *command, size_t *count)
{
    enum { MAX_SHOWN = 256 };
    struct shown_option *list = calloc(MAX_SHOWN, sizeof(*list));
    const struct og_option *row;
    const char *group = output_group;
    size_t n = 0;
    if (!list)
        abort();
    for (size_t i = 0; (row = own_row(command, i)); i++)
        add_row(&list[n++], row, row->group);
    if (n > MAX_OWN)
        abort(); /* also a test, which lists all */
    for (size_t i = 0; command->training && n < MAX_SHOWN - 4 && (row = og_option(i)); i++) {
        group = row->group;
        if (has_own(command, row->name) || is_left_out(command, row->name))
            continue;
        add_row(&list[n], row, group);
        list[n++].hidden |= !og_option_used(command->name, i);
    }
    for (size_t i = 0; command->training && (row = own_row(&cmd_train, i)); i++)
        if (!has_own(command, row->name)) { /* accepted, so that a command serves as its plan */
            add_row(&list[n], row, group);
            list[n++].hidden = true;
        }
    if (command->training) /* read here, not passed on; listed with the run's options */
        add_row(&list[n++], &config_option, group);
    if (!has_own(command, json_option.name))
        add_row(&list[n++], &json_option, output_group);
    add_row(&list[n++], &quiet_option, output_group);
    add_row(&list[n++], &help_option, output_group);
    sort_by_group(list, n);
    *count = n;
    return list;
}

/* ---- argp ---- */

enum { KEY_FIRST = 0x1000, MAX_GIVEN = 256 };

struct parsing {
    struct invocation *in;
    struct og_err *err;
    const struct shown_option *list;
    size_t n;
    const char *config;
    struct {
        const char *name, *value;
    } given[MAX_GIVEN]; /* training options in the order given */
    int n_given;
    int rc;
};

static size_t count_aliases(void)
{
    size_t n = 0;
    while (og_option_alias(n))
        n++;
    return n;
}

/* argp's table of a list. */
static struct argp_option *argp_table(const struct shown_option *list, size_t n)
{
    const struct og_option_alias *a;
    struct argp_option *table = calloc(n + count_aliases() + 1, sizeof(*table));
    size_t t = 0;
    if (!table)
        abort();
    for (size_t i = 0; i < n; i++) {
        table[t++] = (struct argp_option){
            .name = list[i].name,
            .key = strcmp(list[i].name, "help") == 0 ? 'h' : KEY_FIRST + (int)i,
            .arg = list[i].arg};
        for (size_t k = 0; (a = og_option_alias(k)); k++)
            if (strcmp(a->name, list[i].name) == 0)
                table[t++] = (struct argp_option){.name = a->alias, .flags = OPTION_ALIAS};
    }
    return table;
}

/* Finds an option by name or alias, without dashes. */
static const struct shown_option *find_shown(const struct parsing *p, const char *name)
{
    const struct og_option_alias *a;
    for (size_t i = 0; (a = og_option_alias(i)); i++)
        if (strcmp(a->alias, name) == 0)
            name = a->name;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->list[i].name, name) == 0)
            return &p->list[i];
    return NULL;
}

/* All names and aliases; the first p->n are those of the list. The caller frees them. */
static const char **list_names(const struct parsing *p, size_t *count)
{
    const size_t n = count_aliases();
    const char **names = calloc(p->n + n, sizeof(*names));
    if (!names)
        abort();
    for (size_t i = 0; i < p->n; i++)
        names[i] = p->list[i].name;
    for (size_t i = 0; i < n; i++)
        names[p->n + i] = og_option_alias(i)->alias;
    *count = p->n + (p->in->command->training ? n : 0);
    return names;
}

/* "did you mean --hidden? width of the hidden layers [256]" */
static int refuse_unknown(const struct parsing *p, const char *name, const char *bare)
{
    char hint[sizeof(p->list->help) + 128] = "";
    size_t similar = 0;
    size_t n;
    const char **names = list_names(p, &n);
    for (size_t i = 0; i < n; i++)
        similar += strncmp(names[i], bare, strlen(bare)) == 0;
    const char *nearest = similar > 1 ? NULL : og_nearest_word(names, n, bare);
    const struct shown_option *meant = nearest ? find_shown(p, nearest) : NULL;
    free(names);
    if (similar > 1)
        return usage_error(p->err, "use the whole name", "%s: several options begin with it", name);
    if (meant)
        snprintf(hint, sizeof(hint), "did you mean --%s%s%s? %s", meant->name,
                 meant->arg ? " " : "", meant->arg ? meant->arg : "", meant->help);
    return usage_error(p->err, hint, "%s: no such option", name);
}

/* Explains why getopt refused `word`, which it does not report. */
static int refuse_word(struct parsing *p, const char *word)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    const char *bare = name + strspn(name, "-");
    const struct shown_option *exact = find_shown(p, bare);
    if (exact && exact->arg)
        return usage_error(p->err, NULL, "%s: needs a value, %s", name, exact->arg);
    if (exact)
        return usage_error(p->err, NULL, "%s: takes no value", name);
    if (is_left_out(p->in->command, bare))
        return usage_error(p->err, "leave it out", "%s: no option of `outgrow %s`", name,
                           p->in->command->name);
    return refuse_unknown(p, name, bare);
}

/* Says of an option that is given again which value counts: the last. */
static void say_again(const char *name, const char *before, const char *value)
{
    if (before && value && strcmp(before, value) != 0)
        fprintf(stderr, "outgrow: --%s is given twice: '%s' counts, '%s' does not\n", name, value,
                before);
}

static const char *given_before(const struct parsing *p, const char *name)
{
    for (int i = p->n_given; i > 0; i--)
        if (strcmp(p->given[i - 1].name, name) == 0)
            return p->given[i - 1].value;
    return NULL;
}

static int take_option(struct parsing *p, const struct shown_option *o, const char *value)
{
    struct invocation *in = p->in;
    const int own = find_own(in->command, o->name);
    if (own >= 0 && value && strncmp(value, "~/", 2) == 0)
        return usage_error(p->err, "write the path of your home folder for ~",
                           "--%s: '%.100s' given: the shell left the ~ as it is", o->name, value);
    if (own >= 0) {
        say_again(o->name, in->value[own], value);
        in->value[own] = value ? value : "";
    } else if (o->name == json_option.name) {
        in->json = true;
    } else if (o->name == quiet_option.name) {
        in->quiet = true;
    } else if (o->name == config_option.name) {
        say_again(o->name, p->config, value);
        p->config = value;
    } else if (has_own(&cmd_train, o->name)) {
        fprintf(stderr, "outgrow: --%s has no effect in `outgrow %s`\n", o->name,
                in->command->name);
    } else if (p->n_given < MAX_GIVEN) {
        say_again(o->name, given_before(p, o->name), value);
        p->given[p->n_given].name = o->name;
        p->given[p->n_given++].value = value ? value : "true";
    } else {
        return usage_error(p->err, NULL, "more than %d options", MAX_GIVEN);
    }
    return 0;
}

static bool takes_list(const char *name)
{
    const struct og_option *o;
    for (size_t i = 0; (o = og_option(i)); i++)
        if (strcmp(o->name, name) == 0)
            return o->type == OG_OPTION_LIST;
    return false;
}

/* --fanout 10 10 leaves the second number alone. */
static int refuse_argument(struct parsing *p, const char *word)
{
    char hint[96] = "";
    const bool number = word[strspn(word, "-0123456789,")] == 0;
    for (int i = 0; number && i < p->n_given; i++)
        if (takes_list(p->given[i].name))
            snprintf(hint, sizeof(hint), "write commas, no blanks, between the numbers of --%s",
                     p->given[i].name);
    return usage_error(p->err, hint, "%s: one argument too many", word);
}

static int take_argument(struct parsing *p, const char *word)
{
    struct invocation *in = p->in;
    if (in->n_args >= in->command->max_args)
        return refuse_argument(p, word);
    in->arg[in->n_args++] = word;
    return 0;
}

static error_t on_key(int key, char *value, struct argp_state *state)
{
    struct parsing *p = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        p->rc = take_argument(p, value);
        return p->rc ? EINVAL : 0;
    case ARGP_KEY_ERROR: /* ours or getopt's: then the word is the one before next */
        if (p->rc == 0)
            p->rc = refuse_word(p, state->argv[state->next - 1]);
        return 0;
    case 'h':
        p->in->help = true;
        return 0;
    default:
        if (key < KEY_FIRST || key >= KEY_FIRST + (int)p->n)
            return ARGP_ERR_UNKNOWN;
        p->rc = take_option(p, &p->list[key - KEY_FIRST], value);
        return p->rc ? EINVAL : 0;
    }
}

/* Resets options that this command does not take; the config.yaml of a run has them. */
static int drop_left_out(struct parsing *p)
{
    const char *const *name = p->in->command->without;
    const struct og_option *row;
    int rc = 0;
    for (; rc == 0 && name && *name; name++)
        for (size_t i = 0; rc == 0 && (row = og_option(i)); i++)
            if (strcmp(row->name, *name) == 0)
                rc = og_options_set(p->in->options, *name, row->standard, p->err);
    return rc;
}

/* Config file first, then explicit options. A wrong option is wrong usage, a wrong file is not. */
static int set_training_options(struct parsing *p)
{
    struct og_options *opt = p->in->options;
    int rc = p->config ? og_options_load(opt, p->config, p->err) : 0;
    TRY(rc < 0 ? rc : p->config ? drop_left_out(p) : 0);
    for (int i = 0; i < p->n_given; i++) {
        struct og_err why = {0};
        if (og_options_set(opt, p->given[i].name, p->given[i].value, &why) < 0)
            return usage_error(p->err, why.hint, "--%s", why.message);
    }
out:
    return rc;
}

static int finish_parsing(struct parsing *p)
{
    const struct command *command = p->in->command;
    if (p->in->n_args < command->min_args)
        return usage_error(p->err, NULL, "%s: %s expected", command->name, command->args);
    return set_training_options(p);
}

/* Says of each option that was given by its former name how it is called now. */
static void say_former_names(int argc, char **argv)
{
    const struct og_option_alias *a;
    for (size_t k = 0; (a = og_option_alias(k)); k++) {
        const size_t n = strlen(a->alias);
        for (int i = 1; i < argc && a->former; i++)
            if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, a->alias, n) == 0 &&
                (argv[i][2 + n] == '\0' || argv[i][2 + n] == '='))
                fprintf(stderr, "outgrow: --%s is now --%s\n", a->alias, a->name);
    }
}

int parse_command_line(struct invocation *in, int argc, char **argv, struct og_err *err)
{
    struct parsing p = {.in = in, .err = err};
    struct shown_option *list = list_options(in->command, &p.n);
    struct argp_option *table = argp_table(list, p.n);
    struct argp argp = {.options = table, .parser = on_key};
    p.list = list;
    argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p);
    int rc = p.rc < 0 || in->help ? p.rc : finish_parsing(&p);
    if (rc == 0 && !in->quiet)
        say_former_names(argc, argv);
    free(table);
    free(list);
    return rc;
}

/* ---- a command's own options ---- */

const char *own_text(const struct invocation *in, const char *name)
{
    const int i = find_own(in->command, name);
    return i < 0 ? NULL : in->value[i];
}

bool own_flag(const struct invocation *in, const char *name)
{
    return own_text(in, name) != NULL;
}

int own_number(const struct invocation *in, const char *name, int *out, struct og_err *err)
{
    const struct og_option *row = own_row(in->command, (size_t)find_own(in->command, name));
    const char *given = own_text(in, name);
    const char *text = given ? given : row->standard;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    const bool plain = *text && strspn(text, "-0123456789") == strlen(text) && !*end && !errno;
    if (!plain || (double)value < row->min || (double)value > row->max)
        return usage_error(err, NULL,
                           "--%s: '%.100s' given, a whole number from %.0f to %.0f expected", name,
                           text, row->min, row->max);
    *out = (int)value;
    return 0;
}

int own_real(const struct invocation *in, const char *name, double *out, struct og_err *err)
{
    const struct og_option *row = own_row(in->command, (size_t)find_own(in->command, name));
    const char *given = own_text(in, name);
    const char *text = given ? given : row->standard;
    char *end;
    const double value = strtod(text, &end);
    const bool plain = *text && strspn(text, "+-.0123456789eE") == strlen(text) && !*end;
    if (!plain || !(value >= row->min && value <= row->max))
        return usage_error(err, NULL, "--%s: '%.100s' given, a number from %g to %g expected", name,
                           text, row->min, row->max);
    *out = value;
    return 0;
}

int own_set(const struct invocation *in, set_option *set, void *to, struct og_err *err)
{
    const struct og_option *row;
    for (size_t i = 0; (row = own_row(in->command, i)); i++) {
        struct og_err why = {0};
        const char *value = row->arg ? in->value[i] : "true";
        if (in->value[i] && set(to, row->name, value, &why) < 0)
            return usage_error(err, why.hint, "--%s", why.message);
    }
    return 0;
}

/* ---- training options ---- */

char *option_text(const struct invocation *in, const char *name)
{
    char *text;
    if (og_options_get(in->options, name, &text, NULL) < 0)
        abort();
    if (*text)
        return text;
    free(text);
    return NULL;
}

long long option_number(const struct invocation *in, const char *name)
{
    char *text = option_text(in, name);
    const long long value = text ? strtoll(text, NULL, 10) : 0;
    free(text);
    return value;
}

bool option_is_set(const struct invocation *in, const char *name)
{
    char *text = option_text(in, name);
    const bool is = text != NULL;
    free(text);
    return is;
}

bool option_flag(const struct invocation *in, const char *name)
{
    char *text = option_text(in, name);
    const bool is = text && strcmp(text, "true") == 0;
    free(text);
    return is;
}
