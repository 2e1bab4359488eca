/* Help of the command: a quick start, frequent options, and on request all of them. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A first model in three commands that work as they are. */
static const char begin[] =
    "  outgrow generate graph --nodes 20000           # a test graph; or import yours\n  "
    "outgrow train graph --memory 256M --run first  # within 256 MiB for a graph of any "
    "size\n  outgrow predict graph --checkpoint first/best.safetensors --out logits.npy\n";

void print_commands(FILE *out)
{
    const char *group = "";
    fprintf(out, "%s\nusage: outgrow <command> [options]\n", begin);
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->group, group) != 0)
            fprintf(out, "\n %s\n", commands[i]->group);
        group = commands[i]->group;
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(out, "\n`outgrow help COMMAND` lists the options, `man outgrow` is the manual.\n");
}

/* ---- one command ---- */

static bool is_training(const char *name)
{
    const struct og_option *row;
    for (size_t i = 0; (row = og_option(i)); i++)
        if (strcmp(row->name, name) == 0)
            return true;
    return strcmp(name, "config") == 0;
}

static bool is_own(const struct command *command, const char *name)
{
    const struct og_option *row;
    for (size_t i = 0; (row = own_row(command, i)); i++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

static bool is_often_given(const struct command *command, const char *name)
{
    for (size_t i = 0; command->often && command->often[i]; i++)
        if (strcmp(command->often[i], name) == 0)
            return true;
    return is_own(command, name) || !is_training(name);
}

/* Keeps frequent options; returns their number. */
static size_t keep_often_given(const struct command *command, struct shown_option *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (is_often_given(command, list[i].name))
            list[kept++] = list[i];
    return kept;
}

static size_t count_told(const struct shown_option *list, size_t n)
{
    size_t told = 0;
    for (size_t i = 0; i < n; i++)
        told += !list[i].hidden;
    return told;
}

/* ---- lines: argp_help of glibc misplaces blanks in long texts ---- */

enum { WIDTH = 79, TEXT_AT = 29 };

/* Prints words from column `at` on; further lines begin at `indent`. */
static void print_text(const char *text, int at, int indent)
{
    bool first = true; /* of its line */
    while (*text) {
        const int n = (int)strcspn(text, " \n");
        if (!first && at + 1 + n > WIDTH)
            printf("\n%*s", at = indent, "");
        else if (!first)
            at += printf(" ");
        at += printf("%.*s", n, text);
        text += n + (text[n] == ' ');
        for (first = *text == '\n'; *text == '\n'; text++)
            printf("\n%*s", at = indent, "");
    }
    putchar('\n');
}

static void print_option(const struct shown_option *o)
{
    const bool brief = strcmp(o->name, "help") == 0;
    int at = printf("  %s--%s%s%s", brief ? "-h, " : "    ", o->name, o->arg ? "=" : "",
                    o->arg ? o->arg : "");
    if (at > TEXT_AT + 3)
        at = printf("\n%*s", TEXT_AT, "") - 1;
    else
        at += printf("%*s", at < TEXT_AT ? TEXT_AT - at : 3, "");
    print_text(o->help, at, TEXT_AT);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct shown_option *)a)->name, ((const struct shown_option *)b)->name);
}

/* Prints options of all groups; --help comes last. */
static void print_options(struct shown_option *list, size_t n)
{
    const struct shown_option *help = NULL;
    for (size_t i = 0, end; i < n; i = end) {
        bool any = false;
        for (end = i; end < n && strcmp(list[end].group, list[i].group) == 0; end++)
            any |= !list[end].hidden;
        if (any)
            printf("\n %s\n", list[i].group);
        qsort(list + i, end - i, sizeof(*list), compare);
        for (size_t k = i; k < end; k++)
            if (strcmp(list[k].name, "help") == 0)
                help = &list[k];
            else if (!list[k].hidden)
                print_option(&list[k]);
    }
    putchar('\n');
    if (help)
        print_option(help);
}

void print_help(const struct command *command, bool all)
{
    size_t n;
    char doc[8192];
    struct shown_option *list = list_options(command, &n);
    size_t there = count_told(list, n);
    if (!all)
        n = keep_often_given(command, list, n);
    snprintf(doc, sizeof(doc), "%s\n\n%s", command->summary, command->text);
    char more[2048];
    for (size_t i = 0; command->paragraph && command->paragraph(i, more, sizeof(more)); i++) {
        const size_t used = strlen(doc);
        snprintf(doc + used, sizeof(doc) - used, "\n\n%s", more);
    }
    printf("Usage: outgrow %s [OPTION...]%s%s\n", command->name, *command->args ? " " : "",
           command->args);
    print_text(doc, 0, 0);
    print_options(list, n);
    if (there > count_told(list, n))
        printf("\n%zu more options, those of training: `outgrow help %s --all`\n",
               there - count_told(list, n), command->name);
    free(list);
}
