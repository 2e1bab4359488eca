#include "options/devices.h"

#include <stdlib.h>
#include <string.h>

enum { HIGHEST = 255 };

static bool has(const struct og_devices *d, long number)
{
    for (int i = 0; i < d->n; i++)
        if (d->number[i] == number)
            return true;
    return false;
}

bool og__devices_read(const char *text, struct og_devices *out)
{
    struct og_devices d = {0};
    for (const char *at = text;; at++) {
        char *end;
        const bool digit = *at >= '0' && *at <= '9';
        const long number = digit ? strtol(at, &end, 10) : -1;
        if (number < 0 || number > HIGHEST || has(&d, number) || d.n == OG__MOST_DEVICES)
            return false;
        d.number[d.n++] = (int)number;
        at = end;
        if (*at != ',')
            break;
    }
    const bool all = text[strspn(text, "0123456789,")] == 0;
    if (all)
        *out = d;
    return all;
}

struct og_devices og__devices_requested(const struct og_options *opt)
{
    struct og_devices d = {.n = 1};
    if (opt->device != OG_DEVICE_CPU && opt->devices && og__devices_read(opt->devices, &d))
        return d;
    return (struct og_devices){.n = 1};
}
