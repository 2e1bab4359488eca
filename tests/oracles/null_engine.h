/* The engine that reads nothing. */
#ifndef OG_ORACLE_NULL_ENGINE_H
#define OG_ORACLE_NULL_ENGINE_H

#include "io/engine.h"

extern const struct og_io_ops og__io_null;

#endif
