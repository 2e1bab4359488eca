/* devices: which of a kind are used. One trains, or several of which each is a trainer
 * (learn/trainers.h): the model's parameters are those of the first. */
#ifndef OG_DEVICES_H
#define OG_DEVICES_H

#include "options/fields.h"

#include <stdbool.h>

enum { OG__MOST_DEVICES = 16 };
struct og_devices {
    int n;
    int number[OG__MOST_DEVICES];
};

/* "0,1,3": each once. False: it is none such. */
bool og__devices_read(const char *text, struct og_devices *out);
/* Of --devices, or the first alone. */
struct og_devices og__devices_asked(const struct og_options *opt);

#endif
