#include "base/choices.h"

#include <stddef.h>

const char *const og__dtype_words[] = {"f32", "f16", "bf16", "u8", "i8", "e4m3", NULL};
const char *const og__plain_dtype_words[] = {"f32", "f16", "bf16", "u8", NULL};
