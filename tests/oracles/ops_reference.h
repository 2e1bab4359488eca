/* Operators as plain loops in double: the oracle for every backend. They ignore the backend that
 * they are given. */
#ifndef OG_ORACLE_OPS_REFERENCE_H
#define OG_ORACLE_OPS_REFERENCE_H

#include "nn/ops.h"

extern const struct og_nn_ops og__ops_reference;

#endif
