/* link: measured transfer rates to a device (choose/measure_link.c). */
#ifndef OG_LINK_H
#define OG_LINK_H

/* Between the host and a device, equal in both directions. Or for several devices in parallel, with
 * a batch each. */
struct og_link_rates {
    double bandwidth; /* bytes per second; 0: unknown, no predictions */
    double latency;   /* additional seconds a batch; of several devices, its share of an epoch */
    double collect;   /* bytes per second of the device's gather kernel */
};

#endif
