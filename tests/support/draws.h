/* Numbers that look drawn, and what draws are judged by. */
#ifndef OG_TEST_DRAWS_H
#define OG_TEST_DRAWS_H

#include <math.h>
#include <stdint.h>

/* Each x another number, all bits mixed. */
static inline uint32_t test_scramble(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* How likely a chi-square of so many degrees of freedom is at least x (Wilson and Hilferty, 1931).
 */
static inline double test_chi2_p(double x, double dof)
{
    double z = (cbrt(x / dof) - (1 - 2 / (9 * dof))) / sqrt(2 / (9 * dof));
    return 0.5 * erfc(z / sqrt(2));
}

#endif
