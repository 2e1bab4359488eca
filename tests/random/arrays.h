/* Files of a dataset: .npy arrays, written a number at a time. Who cannot write ends the program.
 */
#ifndef OG_RANDOM_ARRAYS_H
#define OG_RANDOM_ARRAYS_H

#include <outgrow/outgrow.h>

#include <stdint.h>
#include <stdio.h>

/* A new file; the caller closes it with file_close. */
FILE *file_open(const char *folder, const char *name);
void file_close(FILE *f);

/* Writes a header of version 1.0 that is `padded` bytes long. That is NumPy's length, or a page as
 * ours are. `columns` 0: the array has one dimension. */
FILE *array_open(const char *folder, const char *name, const char *descr, int rows, int columns,
                 int padded);
void put_int64(FILE *f, int64_t x);
void put_f32(FILE *f, float x);

/* A feature in [0, 2] as `dtype` stores it. */
void put_feature(FILE *f, enum og_element dtype, float x);
const char *stored_as(enum og_element dtype); /* in .npy headers; static */
const char *dtype_word(enum og_element dtype);

#endif
