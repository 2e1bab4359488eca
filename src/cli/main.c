#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct command *const commands[] = {
    &cmd_generate, &cmd_import,    &cmd_export, &cmd_info,    &cmd_verify, /* datasets */
    &cmd_stripe,   &cmd_order,                                             /* datasets */
    &cmd_plan,     &cmd_train,     &cmd_eval,   &cmd_predict, &cmd_report, /* models */
    &cmd_serve,    &cmd_propagate, &cmd_smooth,                            /* of models */
    &cmd_simulate, &cmd_sample,    &cmd_pack,                              /* batches */
    &cmd_doctor,   &cmd_bench,     &cmd_cache,                             /* the machine */
    NULL,
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[32];
    size_t n = 0;
    while (commands[n] && n < sizeof(names) / sizeof(*names)) {
        names[n] = commands[n]->name;
        n++;
    }
    const char *nearest = og_nearest_word(names, n, name);
    fprintf(stderr, "outgrow: %s: no such command\n", name);
    if (nearest)
        fprintf(stderr, "hint: did you mean '%s'?\n", nearest);
    else
        print_commands(stderr);
    return 2;
}

/* help [COMMAND [--all]], and outputs for the build. */
static int run_help(int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : "";
    if (strcmp(topic, "--man") == 0) {
        print_manual();
    } else if (strcmp(topic, "--completion=bash") == 0) {
        print_completion_bash();
    } else if (strcmp(topic, "--completion=zsh") == 0) {
        print_completion_zsh();
    } else if (strcmp(topic, "--completion=fish") == 0) {
        print_completion_fish();
    } else if (!*topic) {
        print_commands(stdout);
    } else {
        const struct command *command = find_command(topic);
        if (!command)
            return unknown_command(topic);
        print_help(command, argc > 2 && strcmp(argv[2], "--all") == 0);
    }
    return 0;
}

/* Only the first of interrupted workers reports it. The others' messages may be lost, as mpirun
 * ends all workers with the first that exits. */
static bool is_told_by_first(const struct command *command, int rc)
{
    return rc == OG_INTERRUPTED && command == &cmd_train;
}

static int exit_status(const struct command *command, int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case CLI_USAGE:
        return 2;
    case OG_INTERRUPTED:
        return is_told_by_first(command, rc) && og_worker() > 0 ? 0 : 130;
    default:
        return rc > 0 ? rc : 1;
    }
}

/* With --json a program reads why: the result is the error. */
static void say_failure(const struct invocation *in, int rc, const struct og_err *err)
{
    struct og_err shown = *err;
    say_error(err);
    shown.code = rc == CLI_USAGE ? -EINVAL : rc;
    if (in->json)
        print_json(error_json(&shown), &shown);
}

/* Whether another worker reports the failure: the failed one, or the first if all have wrong usage.
 */
static bool is_said_elsewhere(const struct command *command, int rc)
{
    const bool all_say = rc == CLI_USAGE || is_told_by_first(command, rc);
    return all_say ? og_worker() > 0 : og_worker() >= 0 && rc == -ECONNABORTED;
}

static bool is_given(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct invocation in = {.command = command, .argv = argv - 1};
    struct og_err err = {0};
    int rc;
    if (is_given(argc, argv, "--help") && is_given(argc, argv, "--all")) {
        print_help(command, true);
        return 0;
    }
    TRY(og_options_new(&in.options, &err));
    TRY(parse_command_line(&in, argc, argv, &err));
    if (in.help) {
        print_help(command, false);
        goto out;
    }
    tell_lost_files();
    if (og_worker() == 0 && command != &cmd_train && !in.quiet)
        fprintf(stderr,
                "outgrow: %s: started as several processes, of which each does all of it; only "
                "train shares work out: start this one without mpirun\n",
                command->name);
    in.screen = screen_open(in.quiet, command == &cmd_train);
    rc = command->run(&in, &err);
    screen_close(in.screen);
out:
    og_options_free(in.options);
    const bool quiet = is_said_elsewhere(command, rc);
    if (rc == CLI_USAGE && command != &cmd_simulate) /* whose --json names a file */
        in.json = is_given(argc, argv, "--json");    /* also after the word that is wrong */
    if (rc < 0 && !quiet)
        say_failure(&in, rc, &err);
    if (rc == CLI_USAGE && !quiet)
        fprintf(stderr, "usage: outgrow %s%s%s [options]; `outgrow help %s` has them\n",
                command->name, *command->args ? " " : "", command->args, command->name);
    return exit_status(command, rc);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("outgrow %s\n", og_version());
        return 0;
    }
    if (strcmp(argv[1], "help") == 0)
        return run_help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return run_help(1, argv);
    const struct command *command = find_command(argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}

/* Refuses arguments that are not UTF-8, because JSON and YAML cannot store them. */
static int refuse_other_text(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        json_t *text = json_string(argv[i]);
        json_decref(text);
        if (text)
            continue;
        fprintf(stderr, "outgrow: argument %d: not UTF-8\nhint: rename what it names\n", i);
        return 2;
    }
    return 0;
}

/* Opens standard streams that the caller closed. Files would get their numbers: messages would be
 * written into a dataset, and requests read from one. */
static void reserve_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            exit(1);
}

/* Reports output that was lost, also in the middle of a long text. */
static int flush_output(int status)
{
    errno = 0;
    const bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost || status != 0)
        return status;
    if (errno != 0)
        perror("outgrow: standard output");
    else
        fputs("outgrow: standard output: not all of it was written\n", stderr);
    return 1;
}

int main(int argc, char **argv)
{
    reserve_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is a normal error */
    og_files_raise();         /* a graph of many relations has thousands of files open */
    int status = refuse_other_text(argc, argv);
    if (status == 0)
        status = run(argc, argv);
    return flush_output(status);
}
