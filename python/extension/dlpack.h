/* Structs of the DLPack protocol, both forms, which pass memory between libraries. Defined by the
 * Python array API standard, "Data interchange mechanisms" (dmlc.github.io/dlpack). */
#ifndef OG_DLPACK_H
#define OG_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1 };
enum dl_code { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4 };
enum { DL_FLAG_COPIED = 1 << 1 };

struct dl_device {
    int32_t type, id;
};

struct dl_dtype {
    uint8_t code, bits; /* enum dl_code */
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t n_dims;
    struct dl_dtype dtype;
    int64_t *shape, *strides; /* in elements */
    uint64_t byte_offset;
};

/* In a capsule named "dltensor", which its consumer renames to "used_dltensor". */
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
};

/* Since version 1, in a capsule named "dltensor_versioned". */
struct dl_managed_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

#endif
