/* link: how fast rows come to a device, as it was measured (choose/measure_link.c). */
#ifndef OG_LINK_H
#define OG_LINK_H

/* Between the host and a device, either way as fast as the other; or of several side by side, which
 * have a batch each. */
struct og_link_rates {
    double bandwidth; /* bytes a second; 0: not known, nothing is told of it */
    double latency;   /* seconds a batch beside; of several, by which it makes an epoch longer */
    double collect;   /* bytes a second, of rows that the device has: the kernel that collects */
};

#endif
