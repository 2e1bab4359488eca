/* CSV files and .npz archives: any bytes are refused with a reason, or give rows, as many as
 * promised.   input: | u8: which, and columns | file | */
#include "fuzz.h"
#include "memory_file.h"

#include "dataset/import/table.h"

enum { ROOM = 1 << 20 };

static int open_table(struct og_table **t, uint8_t how, const char *path, struct og_err *err)
{
    if (how & 1)
        return og__table_zip(t, path, "a.npy", err);
    const struct og_csv_use use = {.rows = (enum og_csv_rows)((how >> 2 & 3) % 3),
                                   .ids_only = how & 0x40,
                                   .takes_classes = how & 0x80};
    if (how & 0x10)
        return og__table_csv_by_id(t, path, &use, NULL, err);
    return og__table_csv(t, path, how & 2 ? OG__NPY_I64 : OG__NPY_F64, how >> 2 & 3, NULL, err);
}

static int read_all(struct og_table *t, char *out, struct og_err *err)
{
    int64_t want = OG_MIN((int64_t)(ROOM / OG_MAX(og__table_row_bytes(t), (size_t)1)), 100);
    int64_t total = 0;
    int64_t n;
    int rc;
    while ((rc = og__table_read(t, out, want, &n, err)) == 0 && n > 0)
        total += n;
    if (rc == 0 && want > 0 && t->rows >= 0 && total != t->rows)
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_table *t = NULL;
    char path[32];
    if (size == 0)
        return 0;
    char *out = malloc(ROOM);
    int fd = memory_file(data + 1, size - 1, path);
    int rc = open_table(&t, data[0], path, &err);
    if (rc == 0 && (data[0] & 0x20) && t->rows == 2 && t->columns < ROOM)
        rc = og__table_take_row(t, data[0] >> 6 & 1, &err);
    if (rc == 0)
        rc = read_all(t, out, &err);
    if (rc < 0 && !err.message[0])
        abort();
    og__table_close(t);
    close(fd);
    free(out);
    return 0;
}
