/* The command. It uses only the public API: a program can do whatever it does.
 *
 *     main.c       finds the command, runs it, reports errors
 *     parse.c      command line -> struct invocation, by glibc's argp and the table of options
 *     help.c       the list of commands, the options of each
 *     screen.c     progress, messages, signals
 *     show.c       results: the JSON itself, or aligned text
 *     manual.c     man page and shell completion, from the tables of --help
 *     lost_file.c  mapped files that can no longer be read
 *     output.c     files that appear when complete
 *     figure.c     figures, as SVG
 *     plot.c       files of figures
 *     guess.c      detection of import formats
 *     parquet.c    Parquet files and other layouts, by Python
 *     runs.c       several runs with different seeds
 *     explain.c    why a run was slow
 *     cmd_*.c      one subcommand each */
#ifndef OG_CLI_H
#define OG_CLI_H

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <stdio.h>

enum { MAX_OWN = 34, MAX_ARGS = 8 };

/* Return values of a command in addition to 0 and the library's negative codes. */
enum {
    CLI_FOUND = 1,     /* success, but the findings mean exit status 1 */
    CLI_USAGE = -5000, /* wrong usage; err has the reason */
};

/* On failure go to the label `out`, which frees and returns `rc`. It is the library's OG_TRY, which
 * is not public. */
#define TRY(expr)     \
    do {              \
        rc = (expr);  \
        if (rc < 0)   \
            goto out; \
    } while (0)

/* ---- commands ---- */

/* An option of this command only, or one with another meaning than the library's. Read by own_text,
 * own_flag and own_number. */
#define OWN(name, arg, standard, help, choices, type, min, max)                                \
    {                                                                                          \
        sizeof(struct og_option), name, arg, standard, "Options", 0, help, choices, type, min, \
            max, NULL, false                                                                   \
    }
#define OWN_TEXT(name, arg, help) OWN(name, arg, "", help, NULL, OG_OPTION_TEXT, 0, 0)
#define OWN_FLAG(name, help)      OWN(name, NULL, "", help, NULL, OG_OPTION_FLAG, 0, 0)
#define OWN_NUMBER(name, arg, standard, help, min, max) \
    OWN(name, arg, standard, help, NULL, OG_OPTION_INT, min, max)
#define OWN_REAL(name, arg, standard, help, min, max) \
    OWN(name, arg, standard, help, NULL, OG_OPTION_REAL, min, max)

struct invocation;

struct command {
    const char *name;
    const char *group; /* heading in the list of commands */
    const char *args;  /* "FORMAT SRC OUT" */
    int min_args, max_args;
    const char *summary; /* one line */
    const char *text;    /* details, in help and manual; followed by */
    bool (*paragraph)(size_t i, char *out,
                      size_t size);             /* paragraph i, false past the last; or NULL */
    const struct og_option *own;                /* ends with a NULL name; may be NULL */
    const struct og_option *(*takes)(size_t i); /* or options of a call, like og_option; or NULL */
    bool training;                              /* takes the training options */
    bool delivers_files;        /* its result is a file, so with --quiet it prints none */
    const char *const *often;   /* help shows only these of them without --all; ends with NULL */
    const char *const *without; /* training options that it does not take; or NULL */
    int (*run)(struct invocation *in, struct og_err *err);
};

extern const struct command cmd_generate, cmd_import, cmd_export, cmd_info, cmd_verify, cmd_sample,
    cmd_pack, cmd_simulate, cmd_plan, cmd_train, cmd_eval, cmd_predict, cmd_bench, cmd_cache,
    cmd_report, cmd_doctor, cmd_stripe, cmd_serve, cmd_propagate, cmd_smooth, cmd_order;
extern const struct command *const commands[]; /* ends with NULL, by group; main.c */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- one command line (parse.c) ---- */

struct screen;

struct invocation {
    const struct command *command;
    struct og_options *options; /* freed by main */
    const char *value[MAX_OWN]; /* by own_row, "" for a flag; NULL = not given */
    const char *arg[MAX_ARGS];
    int n_args;
    bool json, quiet, help;
    struct screen *screen;
    char **argv; /* as main has it */
};

/* Parse a command line. argv[0] is the command's name, argv[-1] the program's. CLI_USAGE on wrong
 * usage. */
int parse_command_line(struct invocation *in, int argc, char **argv, struct og_err *err);

/* Option i of the command, or of its call; NULL past the last. */
const struct og_option *own_row(const struct command *command, size_t i);
/* An own option: its text, NULL = not given; whether it is given; its number, or the default. */
const char *own_text(const struct invocation *in, const char *name);
bool own_flag(const struct invocation *in, const char *name);
int own_number(const struct invocation *in, const char *name, int *out, struct og_err *err);
int own_real(const struct invocation *in, const char *name, double *out, struct og_err *err);
/* Pass the given options of a call to `set`, a flag as "true". */
typedef int set_option(void *to, const char *name, const char *value, struct og_err *err);
int own_set(const struct invocation *in, set_option *set, void *to, struct og_err *err);

/* A training option: as a number; as text, which the caller frees, NULL = unset. */
long long option_number(const struct invocation *in, const char *name);
char *option_text(const struct invocation *in, const char *name);
bool option_flag(const struct invocation *in, const char *name);
bool option_is_set(const struct invocation *in, const char *name);

/* Fill err with `code` and a message; returns `code`. */
int failure(struct og_err *err, int code, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define usage_error(err, hint, ...) failure(err, CLI_USAGE, hint, __VA_ARGS__)

/* All options of a command, in the order of help and manual. The caller frees the list. `help` ends
 * with the choices and, in brackets, the default. */
struct shown_option {
    const char *name, *arg, *group;
    char help[640];
    bool hidden; /* accepted, but documented elsewhere */
};
struct shown_option *list_options(const struct command *command, size_t *count);

/* ---- help (help.c) ---- */

void print_commands(FILE *out);
/* Print the command's own options and its frequent training options, or all with `all`. */
void print_help(const struct command *command, bool all);

/* ---- progress (screen.c) ---- */

struct screen *screen_open(bool quiet, bool is_train);
void screen_close(struct screen *s);
/* Print each epoch to standard output, a line of JSON. */
void screen_print_epochs(struct screen *s);
/* The observer for library calls. After this call SIGINT, SIGTERM and SIGUSR1 request a stop; a
 * second signal kills. */
const struct og_observer *screen_observer(struct screen *s, int epochs);
void say_error(const struct og_err *err);

/* ---- results (show.c) ---- */

/* Print a result and free it: as it is with --json, else by `human`. */
int deliver(const struct invocation *in, char *text, void (*human)(const json_t *root),
            struct og_err *err);

/* Print and release `root`; NULL means out of memory. */
int print_json(json_t *root, struct og_err *err);
/* An error as an object: `code`, `error`, `hint`. */
json_t *error_json(const struct og_err *err);
/* Fill err with "out of memory" for a result; returns its code. */
int no_result(struct og_err *err);

void show_any(const json_t *root); /* any keys */
void show_dataset(const json_t *root);
void show_training(const json_t *root);
/* Whether the task's metrics include an accuracy, which is shown in percent. Other metrics are
 * shown by name. */
bool tell_share(const json_t *metrics);
/* The test metrics of a summary, else the validation metrics. */
const json_t *final_metrics(const json_t *summary);

/* A member of an object: its number, or 0; its text, or "". */
double number_of(const json_t *object, const char *key);
const char *text_of(const json_t *object, const char *key);
/* The same formatted by the name of its key, or by another key. Valid for the next seven calls. */
const char *shown(const json_t *object, const char *key);
const char *shown_as(const json_t *object, const char *key, const char *unit);
const char *shown_number(const char *key, double x);

/* Format a value by the name of its key: "12.3 MiB", "81.23 %", "1,234,567". Returns buf. */
enum { SHOWN_MAX = 128 };
const char *show_value(char buf[SHOWN_MAX], const char *key, const json_t *value);
/* Format a rate: "12.3 M edges/s"; for "bytes" "34.50 MiB/s". Returns buf. */
const char *show_rate(char buf[SHOWN_MAX], double per_second, const char *unit);
/* Number of the first `most` bytes that form whole UTF-8 characters. */
int whole_characters(const char *text, int most);
/* Format the line of an epoch from its JSON object. */
void epoch_line(char *out, size_t size, const json_t *epoch, int epochs);

/* ---- output files ---- */

/* A file that appears under its name when complete. */
struct output {
    char *path, *temporary;
    FILE *file; /* NULL = none */
    bool replaces;
};
int output_open(struct output *o, const char *path, struct og_err *err); /* must not exist */
int output_replace(struct output *o, const char *path, struct og_err *err);
int output_commit(struct output *o, struct og_err *err);
void output_abandon(struct output *o); /* also after commit */

bool ends_with(const char *name, const char *ending);

/* ---- guess.c ---- */

/* Detect the format of `src`, and the file that identifies it (static storage). Negative if there
 * is none; err has the missing files, or new names for similar ones. */
int guess_format(const char *src, const char **format, const char **file, struct og_err *err);
bool is_format(const char *word);
bool is_there(const char *folder, const char *file);

/* ---- runs.c ---- */

/* Train `runs` times, each in its own folder below --run, and write summary.json of all there. */
int train_many(struct invocation *in, int runs, struct og_err *err);

/* ---- explain.c ---- */

/* Read the summary of a finished run; the caller frees *summary, also on failure. */
int load_summary(json_t **summary, const char *folder, struct og_err *err);
/* The stage that took the largest share of a run, in sentences, and a command that takes less.
 * NULL: out of memory. docs/reference/json.md has the keys. */
json_t *explain_run(const json_t *summary, const char *folder);

/* ---- parquet.c ---- */

/* Does Python read SRC? Parquet files, and layouts of other projects. format NULL: by the files. */
bool is_for_python(const char *format, const char *src);
/* Import arg[0] into arg[1] by the Python package. */
int import_by_python(const struct invocation *in, struct og_err *err);
/* Tables of predictions: to a .csv, and from one. Can `out` be written, and is it not `input`?
 * Without a checkpoint it is "". */
bool is_parquet_file(const char *name);
int read_parquet(const char *parquet, const char *csv, struct og_err *err);
int check_parquet(const struct invocation *in, const char *input, const char *out, const char *csv,
                  struct og_err *err);
int write_parquet(const char *dataset, const char *checkpoint, const char *csv, const char *out,
                  struct og_err *err);
/* The result of a table that was converted: its "out" becomes the file that is there. */
int name_output(char **text, const char *out, struct og_err *err);

/* ---- lost_file.c ---- */

/* From now on, report a mapped file that cannot be read, and exit with status 1. */
void tell_lost_files(void);

/* ---- manual.c ---- */

void print_manual(void);
void print_completion_bash(void);
void print_completion_zsh(void);
void print_completion_fish(void);

#endif
