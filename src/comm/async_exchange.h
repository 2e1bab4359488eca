/* Runs asynchronous exchanges for a comm (og__comm_begin). */
#ifndef OG_ASYNC_EXCHANGE_H
#define OG_ASYNC_EXCHANGE_H

#include "comm/comm.h"

struct og_async_exchange;

/* NULL: no thread can be had. */
struct og_async_exchange *og__async_exchange_open(struct og_comm *c);
/* First completes an exchange in progress. NULL: nothing. */
void og__async_exchange_close(struct og_async_exchange *b);
/* None is under way. */
void og__async_exchange_begin(struct og_async_exchange *b, const struct og_message *send,
                              const struct og_message *receive);
/* 0 where none is. */
OG_MUST_CHECK int og__async_exchange_end(struct og_async_exchange *b, struct og_err *err);

#endif
