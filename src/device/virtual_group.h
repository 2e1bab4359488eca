/* Groups of virtual devices: exchanges pieces between processes of one machine
 * (virtual_group.c). */
#ifndef OG_VIRTUAL_GROUP_H
#define OG_VIRTUAL_GROUP_H

#include "comm/comm.h"
#include "device/device.h"

/* The most ranks whose pieces fit into a queued exchange. */
enum { OG__VIRTUAL_GROUP = OG__MOST_ARGS / (2 * sizeof(struct og_message)) };

void og__virtual_identify(unsigned char id[OG__DEVICE_ID], int number);
OG_MUST_CHECK int og__virtual_group_id(unsigned char id[OG__GROUP_ID], struct og_err *err);
/* Opens streams to all others. -ENOTSUP if they cannot be found, as on other machines. */
OG_MUST_CHECK int og__virtual_synchronize(struct og_comm **out, const unsigned char *id, int rank,
                                          int n, struct og_err *err);

#endif
