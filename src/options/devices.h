/* devices: the numbers of the devices that are used. With several, each is a trainer
 * (learn/trainers.h), and the first has the model's parameters. */
#ifndef OG_DEVICES_H
#define OG_DEVICES_H

#include "options/fields.h"

#include <stdbool.h>

enum { OG__MOST_DEVICES = 16 };
struct og_devices {
    int n;
    int number[OG__MOST_DEVICES];
};

/* Parse "0,1,3", distinct numbers. Returns false if it is not such a list. */
bool og__devices_read(const char *text, struct og_devices *out);
/* The devices of --devices, or device 0 alone. */
struct og_devices og__devices_requested(const struct og_options *opt);

#endif
