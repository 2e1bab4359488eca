/* Runs asynchronous exchanges for a comm (og__comm_begin). */
#ifndef OG_BESIDE_H
#define OG_BESIDE_H

#include "comm/comm.h"

struct og_beside;

/* NULL: no thread can be had. */
struct og_beside *og__beside_open(struct og_comm *c);
/* First completes an exchange in progress. NULL: nothing. */
void og__beside_close(struct og_beside *b);
/* None is under way. */
void og__beside_begin(struct og_beside *b, const struct og_message *send,
                      const struct og_message *receive);
/* 0 where none is. */
OG_MUST_CHECK int og__beside_end(struct og_beside *b, struct og_err *err);

#endif
