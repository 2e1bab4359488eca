/* Help of the command: a quick start, frequent options, and on request all of them. */
#include "cli.h"

#include <argp.h>
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

/* argp ends a help text that fills its line with a line of blanks, which is omitted. */
static void print_lines(const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        size_t n = (size_t)(end - text);
        while (n > 0 && text[n - 1] == ' ')
            n--;
        if (n > 0 || end == text)
            printf("%.*s\n", (int)n, text);
    }
}

static void print_argp(const struct argp *argp, char *name)
{
    const unsigned what = ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) {
        argp_help(argp, stdout, what, name);
        return;
    }
    argp_help(argp, memory, what, name);
    if (fclose(memory) == 0)
        print_lines(text);
    free(text);
}

void print_help(const struct command *command, bool all)
{
    size_t n;
    char doc[8192];
    char name[64];
    struct shown_option *list = list_options(command, &n);
    size_t there = count_told(list, n);
    if (!all)
        n = keep_often_given(command, list, n);
    struct argp_option *table = argp_table(list, n);
    snprintf(doc, sizeof(doc), "%s\n\n%s", command->summary, command->text);
    char more[2048];
    for (size_t i = 0; command->paragraph && command->paragraph(i, more, sizeof(more)); i++) {
        const size_t used = strlen(doc);
        snprintf(doc + used, sizeof(doc) - used, "\n\n%s", more);
    }
    snprintf(name, sizeof(name), "outgrow %s", command->name);
    struct argp argp = {.options = table, .args_doc = command->args, .doc = doc};
    print_argp(&argp, name);
    if (there > count_told(list, n))
        printf("\n%zu more options, those of training: `outgrow help %s --all`\n",
               there - count_told(list, n), command->name);
    free(table);
    free(list);
}
