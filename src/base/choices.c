#include "base/choices.h"

#include <stddef.h>

const char *const og__dtype_words[] = {"f32", "f16", "bf16", "u8", NULL};
