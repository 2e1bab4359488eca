/* Feature rows of nodes, dense or sparse (docs/reference/formats.md). */
#include "arrays.h"
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPARSE = 20, MOST_DIM = 130 }; /* SPARSE: percent */

static int entry_bytes(enum og_element dtype, const struct entries *form)
{
    static const int bytes[] = {
        [OG_ELEMENT_F32] = 4, [OG_ELEMENT_F16] = 2, [OG_ELEMENT_BF16] = 2, [OG_ELEMENT_U8] = 1};
    return 2 + (form->ones ? 0 : bytes[dtype]);
}

/* Rows are not larger than dense ones of four bytes a number. */
void draw_entries(struct entries *form, struct draw *d, int dim, enum og_element dtype)
{
    *form = (struct entries){.room = draw_chance(d, SPARSE) ? 4 * draw_from(d, 1, 8) : 0,
                             .ones = draw_chance(d, 40)};
    while (form->room > 0 && 8 + form->room * entry_bytes(dtype, form) > 4 * dim)
        form->room -= 4;
}

bool is_sparse(const struct graph *g)
{
    bool some = g->n_types == 0 && g->entries.room > 0;
    for (int t = 0; t < g->n_types; t++)
        some |= g->type[t].dim > 0 && g->type[t].entries.room > 0;
    return some;
}

/* Columns that ascend; returns how many. Rarely all of them. */
static int draw_columns(struct draw *d, int dim, int most, uint16_t *column)
{
    const int chance = draw_chance(d, 6) ? 100 : draw_from(d, 0, 30);
    int n = 0;
    for (int c = 0; c < dim && n < most; c++)
        if (draw_chance(d, chance))
            column[n++] = (uint16_t)c;
    return n;
}

/* Room for n entries, of which `here` are there. */
static void put_entries(FILE *columns, FILE *values, struct draw *d, const uint16_t *column,
                        int here, int n, enum og_element dtype, const struct entries *form)
{
    const int bytes = entry_bytes(dtype, form) - 2;
    for (int i = 0; i < n; i++)
        fwrite(i < here ? &column[i] : &(uint16_t){0}, 2, 1, columns);
    for (int i = 0; i < n; i++) {
        if (bytes > 0 && i < here)
            put_feature(values, dtype, 0.25f + draw_unit(d) * 1.75f);
        else
            fwrite(&(uint32_t){0}, 1, (size_t)bytes, values);
    }
}

/* Entries beyond the room are in feature_rest.npy: all columns, then all values. */
static void write_sparse_rows(struct draw *d, const char *folder, const char *end, int n, int dim,
                              enum og_element dtype, struct entries *form)
{
    char name[64];
    char *columns = NULL, *values = NULL;
    size_t column_bytes, value_bytes;
    uint16_t column[MOST_DIM];
    FILE *more_columns = open_memstream(&columns, &column_bytes);
    FILE *more_values = open_memstream(&values, &value_bytes);
    snprintf(name, sizeof(name), "features%s.npy", end);
    FILE *f = array_open(folder, name, "|u1", n, 8 + form->room * entry_bytes(dtype, form),
                         draw_chance(d, 30) ? 128 : 4096);
    uint32_t at = 0;
    for (int i = 0; i < n; i++) {
        const int all = draw_columns(d, dim, dim, column);
        const int here = all < form->room ? all : form->room;
        fwrite((uint32_t[]){(uint32_t)all, at}, 4, 2, f);
        put_entries(f, f, d, column, here, form->room, dtype, form);
        put_entries(more_columns, more_values, d, column + here, all - here, all - here, dtype,
                    form);
        at += (uint32_t)(all - here);
        form->most = all > form->most ? all : form->most;
    }
    file_close(f);
    file_close(more_columns);
    file_close(more_values);
    snprintf(name, sizeof(name), "feature_rest%s.npy", end);
    if (at > 0) {
        f = array_open(folder, name, "|u1", (int)(column_bytes + value_bytes), 0, 128);
        fwrite(columns, 1, column_bytes, f);
        fwrite(values, 1, value_bytes, f);
        file_close(f);
    }
    free(columns);
    free(values);
}

void write_rows(struct draw *d, const char *folder, const char *end, int n, int dim,
                enum og_element dtype, struct entries *form)
{
    char name[64];
    if (form->room > 0) {
        write_sparse_rows(d, folder, end, n, dim, dtype, form);
        return;
    }
    snprintf(name, sizeof(name), "features%s.npy", end);
    FILE *f = array_open(folder, name, stored_as(dtype), n, dim, draw_chance(d, 30) ? 128 : 4096);
    for (int i = 0; i < n * dim; i++)
        put_feature(f, dtype, 0.0625f + draw_unit(d) * 2);
    file_close(f);
}

const char *rows_word(enum og_element dtype, const struct entries *form)
{
    return form->room > 0 && form->ones ? "one" : dtype_word(dtype);
}

void write_entries_meta(const struct entries *form, FILE *f)
{
    if (form->room > 0)
        fprintf(f, ", \"feature_entries\": %d, \"feature_entries_most\": %d", form->room,
                form->most);
}
