/* Man page and shell completion, from the tables of --help, so they always agree with it. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- man page ---- */

/* Escapes what roff treats specially: a leading dot or quote, backslashes, minus signs. An empty
 * line ends a paragraph. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
    }
}

static void roff_line(const char *macro, const char *text)
{
    printf("%s", macro);
    roff(text);
    putchar('\n');
}

static void roff_option(const struct shown_option *o)
{
    fputs(".TP\n.B \\-\\-", stdout);
    roff(o->name);
    if (o->arg) {
        fputs("\\fR=\\fI", stdout);
        roff(o->arg);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    roff_line("", o->help);
}

static void print_training(const struct command *c)
{
    fputs(".PP\nTakes the options of train too", stdout);
    for (size_t i = 0; c->without && c->without[i]; i++)
        printf("%s\n.BR \\-\\-%s ", i ? "," : " but", c->without[i]);
    fputs(";\nthose without effect are ignored.\n", stdout);
}

/* Training options are documented once, under train. */
static void roff_command(const struct command *c)
{
    size_t n;
    struct shown_option *list = list_options(c, &n);
    const struct og_option *row;
    bool tells = strcmp(c->name, "train") == 0;
    printf(".SS outgrow %s ", c->name);
    roff(c->args);
    printf("\n");
    roff_line("", c->summary);
    fputs(".PP\n", stdout);
    roff_line("", c->text);
    char more[1024];
    for (size_t i = 0; c->paragraph && c->paragraph(i, more, sizeof(more)); i++) {
        fputs(".PP\n", stdout);
        roff_line("", more);
    }
    const char *group = NULL;
    for (size_t i = 0; i < n; i++) {
        bool shared = list[i].group != list[0].group || !own_row(c, 0);
        bool training = false;
        for (size_t r = 0; (row = og_option(r)); r++)
            training |= list[i].group == row->group;
        if (list[i].hidden || (shared && !(training && tells)))
            continue;
        if (tells && list[i].group != group) {
            group = list[i].group;
            printf(".PP\n.I %s\n", group);
        }
        roff_option(&list[i]);
    }
    if (c->training && !tells)
        print_training(c);
    free(list);
}

static const char manual_head[] =
    ".SH NAME\noutgrow \\- train graph neural networks on graphs that outgrow memory\n.SH "
    "SYNOPSIS\n.B outgrow\n.I command\n[\\fIoptions\\fR]\n.SH DESCRIPTION\nA dataset is a "
    "folder of plain .npy files. Training samples mini\\-batches, plans which feature rows "
    "to cache and which to read from disk, and reads them while the model computes. One "
    "limit,\n.BR \\-\\-memory ,\ncovers all of it. With the same seed, losses and model are "
    "bit\\-identical for any memory, cache, I/O engine and number of threads.\n.PP\nEvery "
    "command takes\n.B \\-\\-json\n(print only the result, as JSON; simulate writes a "
    "file),\n.B \\-\\-quiet\n(no progress) and\n.BR \\-\\-help .\nSizes are written 512M "
    "(512 * 2^20), 4G or 25%.\n.SH COMMANDS\n";

static const char manual_tail[] =
    ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nfailed; the message has the cause and a "
    "hint, and no file is left half\\-written\n.TP\n.B 2\nwrong usage\n.TP\n.B "
    "130\ninterrupted; resume train, predict and eval \\-\\-full with\n.B \\-\\-resume\n.SH "
    "FILES\nof a run, in the folder\n.BR \\-\\-run :\n.TP\n.I summary.json\noptions and "
    "measurements, epoch by epoch\n.TP\n.I metrics.jsonl\none line per epoch, with "
    "--log-every also per logged batch\n.TP\n.I worker\\-R.log\nmessages of worker R, with "
    "several workers\n.TP\n.I plan.json\nthe plan made before the first batch\n.TP\n.I "
    "config.yaml\nevery option as resolved, an input of\n.B \\-\\-config\n.TP\n.I "
    "checkpoint.safetensors\nthe latest parameters, named as PyTorch Geometric names "
    "them\n.TP\n.I best.safetensors\nthe parameters of the best epoch\n.TP\n.I "
    "resume.safetensors\nstate for\n.B \\-\\-resume\n.PP\n.I $XDG_CACHE_HOME/outgrow\nholds "
    "the profiles of disks that\n.B bench io\nmeasured, and outgrow\\-infer\\-*, the state "
    "of an interrupted eval \\-\\-full.\n.SH EXAMPLES\n.nf\noutgrow generate graph "
    "\\-\\-nodes=1000000 \\-\\-dim=256\noutgrow plan graph \\-\\-memory=512M\noutgrow "
    "simulate graph \\-\\-policy=degree,belady \\-\\-cache=5%,20% "
    "\\-\\-plot=rates.svg\noutgrow train graph \\-\\-memory=512M \\-\\-run=first\noutgrow "
    "sample graph \\-\\-out=samples\noutgrow pack graph \\-\\-samples=samples "
    "\\-\\-preset=diskgnn \\-\\-memory=512M\noutgrow verify samples "
    "\\-\\-dataset=graph\noutgrow train graph \\-\\-samples=samples \\-\\-preset=diskgnn "
    "\\-\\-memory=512M\noutgrow eval graph \\-\\-checkpoint=first/best.safetensors\n.fi\n";

void print_manual(void)
{
    printf(".TH OUTGROW 1 \"\" \"outgrow %s\" \"User Commands\"\n", og_version());
    fputs(manual_head, stdout);
    for (size_t i = 0; commands[i]; i++)
        roff_command(commands[i]);
    fputs(manual_tail, stdout);
}

/* ---- completion ---- */

/* "--layers= --resume ...", as the shells want words. */
static void print_words(const struct command *c)
{
    size_t n;
    struct shown_option *list = list_options(c, &n);
    for (size_t i = 0; i < n; i++)
        if (!list[i].hidden)
            printf("%s--%s%s", i ? " " : "", list[i].name, list[i].arg ? "=" : "");
    free(list);
}

static void print_command_names(void)
{
    for (size_t i = 0; commands[i]; i++)
        printf("%s ", commands[i]->name);
    fputs("help", stdout);
}

/* "--policy) words='none random';;" for every training option with choices. */
static void print_choices(void)
{
    const struct og_option *row;
    for (size_t i = 0; (row = og_option(i)); i++) {
        if (row->type != OG_OPTION_CHOICE || row->joins)
            continue;
        printf("        --%s) words='", row->name);
        for (size_t k = 0; row->choices[k]; k++)
            printf("%s%s", k ? " " : "", row->choices[k]);
        fputs("' ;;\n", stdout);
    }
}

void print_completion_bash(void)
{
    fputs("# bash completion of outgrow, generated from its option table\n"
          "_outgrow() {\n"
          "    local words='' current=${COMP_WORDS[COMP_CWORD]}\n"
          "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    [[ $current == = ]] && current=\n"
          "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        words='",
          stdout);
    print_command_names();
    fputs("'\n    elif [[ $before == --* ]]; then\n        case $before in\n", stdout);
    print_choices();
    fputs("        esac\n    fi\n"
          "    if [[ -z $words && $current == -* ]]; then\n        case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; commands[i]; i++) {
        printf("        %s) words='", commands[i]->name);
        print_words(commands[i]);
        fputs("' ;;\n", stdout);
    }
    fputs("        esac\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
          "    [[ -z $words ]] && compopt -o default\n"
          "    return 0\n}\n"
          "complete -F _outgrow outgrow\n",
          stdout);
}

/* zsh's _arguments wants '--name=[help]:arg:', with brackets and colons of the help escaped. */
static void print_zsh_option(const struct shown_option *o)
{
    printf(" \\\n            '--%s%s[", o->name, o->arg ? "=" : "");
    for (const char *p = o->help; *p; p++) {
        if (strchr("[]:\\", *p))
            putchar('\\');
        if (*p == '\'')
            fputs("'\\'", stdout);
        putchar(*p);
    }
    printf("]%s%s%s'", o->arg ? ":" : "", o->arg ? o->arg : "", o->arg ? ":_files" : "");
}

void print_completion_zsh(void)
{
    fputs("#compdef outgrow\n# generated from the option table of outgrow\n_outgrow() {\n"
          "    if ((CURRENT == 2)); then\n        compadd ",
          stdout);
    print_command_names();
    fputs("\n        return\n    fi\n    local command=${words[2]}\n    shift words\n"
          "    ((CURRENT--))\n    case $command in\n",
          stdout);
    for (size_t i = 0; commands[i]; i++) {
        size_t n;
        struct shown_option *list = list_options(commands[i], &n);
        printf("    %s)\n        _arguments", commands[i]->name);
        for (size_t o = 0; o < n; o++)
            if (!list[o].hidden)
                print_zsh_option(&list[o]);
        fputs(" \\\n            '*:file:_files'\n        ;;\n", stdout);
        free(list);
    }
    fputs("    esac\n}\n_outgrow \"$@\"\n", stdout);
}

/* Text between quotes of fish, in which only these two characters are special. */
static void print_fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void print_fish_choices(const char *name)
{
    const struct og_option *row;
    for (size_t i = 0; (row = og_option(i)); i++) {
        if (strcmp(row->name, name) != 0 || row->type != OG_OPTION_CHOICE)
            continue;
        fputs(" -f -a '", stdout);
        for (size_t k = 0; row->choices[k]; k++)
            printf("%s%s", k ? " " : "", row->choices[k]);
        putchar('\'');
    }
}

static void print_fish_command(const struct command *c)
{
    size_t n;
    struct shown_option *list = list_options(c, &n);
    printf("complete -c outgrow -n __fish_use_subcommand -f -a %s -d ", c->name);
    print_fish_text(c->summary);
    putchar('\n');
    for (size_t i = 0; i < n; i++) {
        if (list[i].hidden)
            continue;
        printf("complete -c outgrow -n '__fish_seen_subcommand_from %s' -l %s %s", c->name,
               list[i].name, list[i].arg ? "-r " : "");
        print_fish_choices(list[i].name);
        fputs(" -d ", stdout);
        print_fish_text(list[i].help);
        putchar('\n');
    }
    free(list);
}

void print_completion_fish(void)
{
    fputs("# fish completion of outgrow, generated from its option table\n", stdout);
    for (size_t i = 0; commands[i]; i++)
        print_fish_command(commands[i]);
}
