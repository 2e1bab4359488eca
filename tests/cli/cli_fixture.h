/* The command in a folder of its own: exit status, and what goes to which stream. */
#ifndef OG_CLI_FIXTURE_H
#define OG_CLI_FIXTURE_H

#include "support/folder.h"
#include "support/testing.h"

#include <outgrow/outgrow.h>

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome {
    int status; /* exit status, or 128 + signal */
    char out[1 << 16], err[1 << 14];
};

static char folder[TEST_PATH];

static inline void slurp(const char *name, char *text, size_t size)
{
    FILE *f = fopen(name, "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    unlink(name);
}

/* Runs `outgrow <arguments>` in the scratch folder, through the shell. */
static inline struct outcome *outgrow(const char *arguments)
{
    static struct outcome o;
    char line[2048];
    snprintf(line, sizeof(line), "'%s' %s >out.txt 2>err.txt </dev/null", TEST_COMMAND, arguments);
    int status = system(line);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    slurp("out.txt", o.out, sizeof(o.out));
    slurp("err.txt", o.err, sizeof(o.err));
    return &o;
}

static inline void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static inline json_t *json_of(const char *arguments)
{
    json_error_t why;
    const struct outcome *o = outgrow(arguments);
    if (o->status != 0)
        fail_msg("%s: %d: %s", arguments, o->status, o->err);
    json_t *root = json_loads(o->out, 0, &why);
    if (!root)
        fail_msg("%s: %s in %s", arguments, why.text, o->out);
    return root;
}

static inline void assert_keys(const json_t *object, const char *const *keys)
{
    for (size_t i = 0; keys[i]; i++)
        if (!json_object_get(object, keys[i]))
            fail_msg("no key %s", keys[i]);
}

static inline int enter(void **state)
{
    (void)state;
    return test_folder(folder, "cli") && chdir(folder) == 0 ? 0 : -1;
}

/* With a small dataset, d. */
static inline int enter_with_graph(void **state)
{
    if (enter(state) < 0)
        return -1;
    return outgrow("generate d --nodes 2000 --degree 8 --dim 16 --classes 4 --seed 3 --quiet")
        ->status;
}

static inline int leave(void **state)
{
    (void)state;
    char line[TEST_PATH + 16];
    snprintf(line, sizeof(line), "rm -rf '%s'", folder);
    return chdir("/") == 0 && system(line) == 0 ? 0 : -1;
}

#endif
