/* The table of policies, in the order of enum og_policy_kind. A row names og__policy_<name>, the
 * struct of its traits and functions (policy_ops.h), which is in the policy's file. */
#ifndef OG_POLICIES_H
#define OG_POLICIES_H

/* clang-format off */
#define OG__POLICIES(row) \
    row(NONE, none) \
    row(RANDOM, random) \
    row(DEGREE, degree) \
    row(PRESC, presc) \
    row(PAGERANK, pagerank) \
    row(FREQUENCY, frequency) \
    row(LRU, lru) \
    row(RR, rr) \
    row(BELADY, belady) \
    row(HYBRID, hybrid) \
    row(SWEEP, sweep) \
    row(FILE, file) \
    row(SIEVE, sieve) \
    row(S3FIFO, s3fifo) \
    row(CLOCK, clock) \
    row(TINYLFU, tinylfu)
/* clang-format on */

#endif
