/* The option table of a generated dataset. A new option is a field in options.h and a row here. */
#include "dataset/generate/options.h"

#include "base/base.h"

#include <stdlib.h>

#define FIELD(f)   offsetof(struct og_generate, f)
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ROW(name, arg, standard, help, choices, type, field, min, max)                          \
    OG_ROW(name, arg, standard, "Options", OG_DECIDES_NOTHING, help, choices, type, field, min, \
           max, OG__NO_PARENT)

/* Formatted by hand: an option, its help, its field. */
/* clang-format off */
static const struct og_row table[] = {
    ROW("model", "KIND", "planted",
        "communities that features and labels follow, or the skewed graph of Graph500",
        NAMES("planted", "rmat"), OG_OPTION_CHOICE, FIELD(model), 0, 0),
    ROW("nodes", "N", "100000", "number of nodes",
        NULL, OG_OPTION_INT64, FIELD(nodes), 1, UINT32_MAX - 2),
    ROW("types", "T,...", "",
        "planted: types of nodes, NAME:NODES[:FEATURES] each; the first one has classes",
        NULL, OG_OPTION_TEXT, FIELD(types), 0, 0),
    ROW("relations", "R,...", "", "between types: SOURCE:NAME:DESTINATION[:DEGREE] each",
        NULL, OG_OPTION_TEXT, FIELD(relations), 0, 0),
    ROW("degree", "D", "15", "mean number of in-neighbours",
        NULL, OG_OPTION_REAL, FIELD(degree), 0, 1e6),
    ROW("dim", "F", "128", "features of a node", NULL, OG_OPTION_INT, FIELD(dim), 1, 1 << 20),
    ROW("classes", "C", "16", "classes of nodes",
        NULL, OG_OPTION_INT, FIELD(classes), 1, 1 << 20),
    ROW("dtype", "TYPE", "f32", "how features are stored",
        og__plain_dtype_words, OG_OPTION_CHOICE, FIELD(dtype), 0, 0),
    ROW("train-fraction", "P", "0.1",
        "share of the nodes to train on; valid and test are as large",
        NULL, OG_OPTION_REAL, FIELD(train_fraction), 0, 1),
    ROW("homophily", "H", "0.8", "planted: share of edges inside a class",
        NULL, OG_OPTION_REAL, FIELD(homophily), 0, 1),
    ROW("seed", "N", "1", "start of every random choice",
        NULL, OG_OPTION_INT64, FIELD(seed), 0, 0x1p63),
    ROW("memory", "SIZE", "", "bound on what generation holds; unless given, 90% of what is free",
        NULL, OG_OPTION_AMOUNT, FIELD(memory), 0x1p20, OG__MOST_BYTES),
    ROW("threads", "N", "0", "CPU threads; 0 = all",
        NULL, OG_OPTION_INT, FIELD(threads), 0, 1024),
};
/* clang-format on */

void og__generate_init(struct og_generate *g)
{
    *g = (struct og_generate){0};
    og__rows_init(table, OG_COUNT(table), g);
}

/* ---- as programs have it ---- */

const struct og_option *og_generate_option(size_t i)
{
    return i < OG_COUNT(table) ? &table[i].option : NULL;
}

int og_generate_new(struct og_generate **out, struct og_err *err)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return og__fail_errno(err, -ENOMEM, NULL, "generate");
    og__generate_init(*out);
    return 0;
}

void og_generate_free(struct og_generate *g)
{
    if (g)
        og__rows_release(table, OG_COUNT(table), g);
    free(g);
}

int og_generate_set(struct og_generate *g, const char *name, const char *value, struct og_err *err)
{
    return og__rows_set(table, OG_COUNT(table), g, name, value, err);
}
