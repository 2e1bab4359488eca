/* The command. It stands on the public API alone: whatever it can do, a program can.
 *
 *   main.c      finds the command, runs it, says what went wrong
 *   parse.c     command line -> struct invocation, by glibc's argp and the table of options
 *   help.c      the list of commands, the options of each
 *   screen.c    progress, messages, signals
 *   show.c      results: JSON as it came, or as aligned text
 *   manual.c    man page and shell completion, from the same tables as --help
 *   lost_file.c mapped files that can no longer be read
 *   output.c    files that appear when they are complete
 *   figure.c    figures, as SVG
 *   plot.c      files of figures
 *   guess.c     which format files are in
 *   runs.c      a model trained several times
 *   cmd_*.c     one subcommand each */
#ifndef OG_CLI_H
#define OG_CLI_H

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <stdio.h>

enum { MAX_OWN = 24, MAX_ARGS = 8 };

/* What a command returns beside 0 and the library's negative codes. */
enum {
    CLI_FOUND = 1,     /* it ran, and what it found means exit status 1 */
    CLI_USAGE = -5000, /* wrong usage; err says which */
};

/* What failed goes to the label `out`, where an int `rc` is returned after what was taken has been
 * given back: the library's OG_TRY, which is not public. */
#define TRY(expr)     \
    do {              \
        rc = (expr);  \
        if (rc < 0)   \
            goto out; \
    } while (0)

/* ---- commands ---- */

/* An option that only this command has, or that it understands in its own way: as one of the
 * library's. own_text, own_flag and own_number ask for it. */
#define OWN(name, arg, standard, help, choices, type, min, max)                                \
    {                                                                                          \
        sizeof(struct og_option), name, arg, standard, "Options", 0, help, choices, type, min, \
            max, NULL, false                                                                   \
    }
#define OWN_TEXT(name, arg, help) OWN(name, arg, "", help, NULL, OG_OPTION_TEXT, 0, 0)
#define OWN_FLAG(name, help)      OWN(name, NULL, "", help, NULL, OG_OPTION_FLAG, 0, 0)
#define OWN_NUMBER(name, arg, standard, help, min, max) \
    OWN(name, arg, standard, help, NULL, OG_OPTION_INT, min, max)

struct invocation;

struct command {
    const char *name;
    const char *group; /* heading in the list of commands */
    const char *args;  /* "FORMAT SRC OUT" */
    int min_args, max_args;
    const char *summary; /* one line */
    const char *text;    /* what more there is to say, in help and manual; and behind it */
    bool (*paragraph)(size_t i, char *out,
                      size_t size);             /* number i, false behind the last; or NULL */
    const struct og_option *own;                /* ends with a NULL name; may be NULL */
    const struct og_option *(*takes)(size_t i); /* or those of a call, as og_option; or NULL */
    bool training;                              /* takes the training options, */
    const char *const *often; /* of which help shows these, NULL at the end, and --all the rest, */
    const char *const *without; /* but for these; may be NULL */
    int (*run)(struct invocation *in, struct og_err *err);
};

extern const struct command cmd_generate, cmd_import, cmd_export, cmd_info, cmd_verify, cmd_sample,
    cmd_pack, cmd_simulate, cmd_plan, cmd_train, cmd_eval, cmd_predict, cmd_bench, cmd_cache,
    cmd_report, cmd_doctor, cmd_stripe;
extern const struct command *const commands[]; /* ends with NULL, by group; main.c */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- one command line (parse.c) ---- */

struct screen;

struct invocation {
    const struct command *command;
    struct og_options *options; /* given back by main */
    const char *value[MAX_OWN]; /* of own_row, "" for a flag; NULL = not given */
    const char *arg[MAX_ARGS];
    int n_args;
    bool json, quiet, help;
    struct screen *screen;
    char **argv; /* as main has it */
};

/* argv[0] is the command's name, argv[-1] the program's. CLI_USAGE when it makes no sense. */
int parse_command_line(struct invocation *in, int argc, char **argv, struct og_err *err);

/* Number i of the command's own options, or of those of its call; NULL = no more. */
const struct og_option *own_row(const struct command *command, size_t i);
/* An own option as text, NULL = not given; whether it is given; the number it is, or else is. */
const char *own_text(const struct invocation *in, const char *name);
bool own_flag(const struct invocation *in, const char *name);
int own_number(const struct invocation *in, const char *name, int *out, struct og_err *err);
/* Hands what was given of a call's options to `set`, a flag as "true". */
typedef int set_option(void *to, const char *name, const char *value, struct og_err *err);
int own_set(const struct invocation *in, set_option *set, void *to, struct og_err *err);

/* A training option: as a number, or as text to be freed, NULL = unset. */
long long option_number(const struct invocation *in, const char *name);
char *option_text(const struct invocation *in, const char *name);
bool option_flag(const struct invocation *in, const char *name);
bool option_is_set(const struct invocation *in, const char *name);

/* `code` with a message, as the library's own failures have it. */
int failure(struct og_err *err, int code, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define usage_error(err, hint, ...) failure(err, CLI_USAGE, hint, __VA_ARGS__)

/* Every option of a command, in the order of help and manual. Free() the list. `help` ends with
 * the choices and, in square brackets, the default. */
struct shown_option {
    const char *name, *arg, *group;
    char help[400];
    bool hidden; /* it is understood, but told elsewhere */
};
struct shown_option *list_options(const struct command *command, size_t *count);
/* argp's table of them, with a heading before each group. Free it. */
struct argp_option *argp_table(const struct shown_option *list, size_t n);

/* ---- help (help.c) ---- */

void print_commands(FILE *out);
/* The command's own options and the training options it is often given; with `all` every one. */
void print_help(const struct command *command, bool all);

/* ---- talking (screen.c) ---- */

struct screen *screen_open(bool quiet, bool is_train);
void screen_close(struct screen *s);
/* What to hand to the library. From here on SIGINT, SIGTERM and SIGUSR1 ask it to stop; the
 * second kills. */
const struct og_observer *screen_observer(struct screen *s, int epochs);
void say_error(const struct og_err *err);

/* ---- results (show.c) ---- */

/* Text of a result, freed here: printed as it is with --json, else handed to `human`. */
int deliver(const struct invocation *in, char *text, void (*human)(const json_t *root),
            struct og_err *err);

/* Prints `root`, whose reference is taken; NULL is a want of memory. */
int print_json(json_t *root, struct og_err *err);
/* Says that there was no memory to show the result, and returns its code. */
int no_result(struct og_err *err);

void show_any(const json_t *root); /* whatever keys there are */
void show_dataset(const json_t *root);
void show_training(const json_t *root);
/* Do metrics of a task tell a share that is right? Percents are for those; others, on scales of
 * their own, go by their names. */
bool tell_share(const json_t *metrics);
/* The metrics of the test in a summary, or where there was none those of validation. */
const json_t *final_metrics(const json_t *summary);

/* "12.3 MiB", "81.23 %", "1,234,567", by what the key is called. Returns buf. */
enum { SHOWN_MAX = 128 };
const char *show_value(char buf[SHOWN_MAX], const char *key, const json_t *value);
/* "12.3 M edges/s"; of "bytes" "34.50 MiB/s". Returns buf. */
const char *show_rate(char buf[SHOWN_MAX], double per_second, const char *unit);
/* How many of the text's first `most` bytes are whole characters of UTF-8. */
int whole_characters(const char *text, int most);
/* The line of an epoch's JSON object. */
void epoch_line(char *out, size_t size, const json_t *epoch, int epochs);

/* ---- files beside the result ---- */

/* A file that appears under its name when it is complete. */
struct output {
    char *path, *temporary;
    FILE *file; /* NULL = none */
    bool replaces;
};
int output_open(struct output *o, const char *path, struct og_err *err); /* none is there yet */
int output_replace(struct output *o, const char *path, struct og_err *err);
int output_commit(struct output *o, struct og_err *err);
void output_abandon(struct output *o); /* also after commit */

/* ---- guess.c ---- */

/* The format of what is at `src`, and the file that shows it (static storage). Negative where it is
 * none: err says what is missing, and what to call files that look like it. */
int guess_format(const char *src, const char **format, const char **file, struct og_err *err);
bool is_format(const char *word);

/* ---- runs.c ---- */

/* So many runs in folders of their own below --run, and summary.json of all of them there. */
int train_many(struct invocation *in, int runs, struct og_err *err);

/* ---- lost_file.c ---- */

/* From here on a mapped file that cannot be read is told, and ends the process with status 1. */
void tell_lost_files(void);

/* ---- manual.c ---- */

void print_manual(void);
void print_completion_bash(void);
void print_completion_zsh(void);
void print_completion_fish(void);

#endif
