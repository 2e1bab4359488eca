/* Groups of virtual devices: how pieces go between processes of one machine, as they would between
 * devices (virtual_group.c). */
#ifndef OG_VIRTUAL_GROUP_H
#define OG_VIRTUAL_GROUP_H

#include "comm/comm.h"
#include "device/device.h"

/* As many as an exchange's pieces are kept of while it waits for its turn. */
enum { OG__VIRTUAL_GROUP = OG__MOST_ARGS / (2 * sizeof(struct og_message)) };

void og__virtual_identify(unsigned char id[OG__DEVICE_ID], int number);
OG_MUST_CHECK int og__virtual_group_id(unsigned char id[OG__GROUP_ID], struct og_err *err);
/* Streams to all others; -ENOTSUP where they are not to be found, as on other machines. */
OG_MUST_CHECK int og__virtual_meet(struct og_comm **out, const unsigned char *id, int rank, int n,
                                   struct og_err *err);

#endif
