/* The page of `outgrow report`: its tables (report_results.c) and all the rest (cmd_report.c). */
#ifndef OG_REPORT_H
#define OG_REPORT_H

#include "cli.h"

struct report_run {
    const char *folder;
    json_t *summary;
};

struct report_page {
    FILE *file;
    struct report_run run[MAX_ARGS];
    size_t n;
    bool several; /* lines and bars name their run */
};

/* Bytes of a run's folder that a title shows. */
int report_folder_length(const struct report_run *run);
/* A number of a JSON object; NaN: it has none. */
double report_number(const json_t *object, const char *key);
/* The sum of a key over a run's epochs. */
double report_sum(const json_t *summary, const char *key);

/* A table has a row per item, and a column per run. */
void table_begin(const struct report_page *p, const char *title, const char *what);
void table_end(const struct report_page *p);
void table_row(const struct report_page *p, const char *name, bool marked);
void table_cell(const struct report_page *p, const char *text);
void table_row_end(const struct report_page *p);

void report_results(const struct report_page *p);
void report_classes(const struct report_page *p);

#endif
