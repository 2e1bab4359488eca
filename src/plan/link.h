/* link: how fast rows come to a device, as it was measured (train/measure_link.c). */
#ifndef OG_LINK_H
#define OG_LINK_H

/* Between the host and a device, either way as fast as the other. */
struct og_link_rates {
    double bandwidth; /* bytes a second; 0: not known, nothing is told of it */
    double latency;   /* seconds a batch beside */
    double collect;   /* bytes a second, of rows that the device has: the kernel that collects */
};

#endif
