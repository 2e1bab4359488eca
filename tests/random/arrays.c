#include "arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

FILE *file_open(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(2);
    }
    return f;
}

void file_close(FILE *f)
{
    if (ferror(f) | fclose(f)) {
        perror("a random graph");
        exit(2);
    }
}

FILE *array_open(const char *folder, const char *name, const char *descr, int rows, int columns,
                 int padded)
{
    char shape[64];
    char header[256];
    snprintf(shape, sizeof(shape), columns ? "(%d, %d)" : "(%d,)", rows, columns);
    snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
             descr, shape);
    FILE *f = file_open(folder, name);
    unsigned length = (unsigned)padded - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((int)(length & 255), f);
    fputc((int)(length >> 8), f);
    fprintf(f, "%-*s\n", (int)length - 1, header);
    return f;
}

void put_int64(FILE *f, int64_t x)
{
    fwrite(&x, sizeof(x), 1, f);
}

void put_f32(FILE *f, float x)
{
    fwrite(&x, sizeof(x), 1, f);
}

/* x is small and not negative: its sign and exponent need no care. */
static uint16_t half_of(float x)
{
    int exponent;
    float mantissa = frexpf(x, &exponent);
    const int bits = (exponent + 14) << 10 | ((int)(mantissa * 2048) & 1023);
    return (uint16_t)(x == 0 ? 0 : bits);
}

void put_feature(FILE *f, enum og_element dtype, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint16_t upper = (uint16_t)(bits >> 16);
    const uint16_t half = half_of(x);
    const uint8_t byte = (uint8_t)(x * 4);
    switch (dtype) {
    case OG_ELEMENT_F32:
        put_f32(f, x - 1);
        break;
    case OG_ELEMENT_F16:
        fwrite(&half, 2, 1, f);
        break;
    case OG_ELEMENT_BF16:
        fwrite(&upper, 2, 1, f);
        break;
    case OG_ELEMENT_U8:
        fwrite(&byte, 1, 1, f);
        break;
    case OG_ELEMENT_I64: /* no features are */
        break;
    }
}

const char *stored_as(enum og_element dtype)
{
    static const char *const stored[] = {[OG_ELEMENT_F32] = "<f4",
                                         [OG_ELEMENT_F16] = "<f2",
                                         [OG_ELEMENT_BF16] = "<u2",
                                         [OG_ELEMENT_U8] = "|u1"};
    return stored[dtype];
}

const char *dtype_word(enum og_element dtype)
{
    static const char *const words[] = {[OG_ELEMENT_F32] = "f32",
                                        [OG_ELEMENT_F16] = "f16",
                                        [OG_ELEMENT_BF16] = "bf16",
                                        [OG_ELEMENT_U8] = "u8"};
    return words[dtype];
}
