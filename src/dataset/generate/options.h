/* The options of a generated dataset (og_generate_set), with their option table. */
#ifndef OG_GENERATE_OPTIONS_H
#define OG_GENERATE_OPTIONS_H

#include "base/choices.h"
#include "base/option_rows.h"

/* Texts are owned by a struct of og_generate_new. */
struct og_generate {
    int model; /* enum og_generator */
    int64_t nodes;
    double degree; /* mean in-degree */
    int dim, classes;
    int dtype;             /* enum og_dtype */
    double train_fraction; /* share of the nodes; valid and test are as large */
    double homophily;      /* planted: share of edges inside a class */
    int64_t seed;
    struct og_amount memory; /* memory limit of generation; unset = as for training */
    int threads;             /* 0 = all */
    /* Node types, planted: "paper:1000:128,author:5000", NAME:NODES[:FEATURES] each. Relations
     * between them: "author:writes:paper:3", SOURCE:NAME:DESTINATION[:DEGREE] each. Labels and
     * splits belong to the first type. NULL = homogeneous */
    char *types, *relations;
};
void og__generate_init(struct og_generate *g); /* the defaults */

#endif
