/* Expected rows and group reads, against requests counted over drawn batches. */
#include "support/testing.h"

#include "base/random.h"
#include "io/io.h"
#include "sample/group_sampling.h"

#include <math.h>
#include <stdlib.h>

enum { ALL = 200000, ROUNDS = 20 };

static bool taken[ALL];
static uint32_t rows[ALL];

/* n more of them, of which some may be there already. */
static void draw(uint32_t n, uint32_t batch)
{
    struct og_rng rng;
    og__rng_at(&rng, 1, OG__STREAM_SAMPLE, 0, batch, 0, 0);
    for (uint32_t i = 0; i < n; i++)
        taken[og__rng_below(&rng, ALL)] = true;
}

static size_t list(void)
{
    size_t n = 0;
    for (uint32_t i = 0; i < ALL; i++)
        if (taken[i])
            rows[n++] = i;
    return n;
}

static struct og_read_rule rule_of(size_t row_bytes, size_t gap)
{
    return (struct og_read_rule){
        .row_bytes = row_bytes, .align = row_bytes, .gap = gap, .max_request = 256 * 1024};
}

static void expect_near(double got, double want, double within, const char *what)
{
    if (fabs(got - want) > within * want)
        fail_msg("%s: %.0f expected, %.0f counted", what, got, want);
}

static void rows_anywhere_are_read_as_expected(void **state)
{
    (void)state;
    static const size_t gaps[] = {0, 512, 16 * 1024, 64 * 1024};
    static const uint32_t counts[] = {500, 3000, 30000, 120000, 1000000};
    for (size_t g = 0; g < OG_COUNT(gaps); g++)
        for (size_t c = 0; c < OG_COUNT(counts); c++) {
            const struct og_read_rule rule = rule_of(512, gaps[g]);
            struct og_io_expected told = {0}, made = {0};
            for (uint32_t k = 0; k < ROUNDS; k++) {
                memset(taken, 0, sizeof(taken));
                draw(counts[c], k);
                const size_t n = list();
                const struct og_io_counts one = og__read_rule_predict(&rule, rows, n);
                const struct og_io_expected on_average =
                    og__read_rule_expect(&rule, (double)n, ALL);
                made = (struct og_io_expected){made.reads + (double)one.reads,
                                               made.bytes + (double)one.bytes};
                told = (struct og_io_expected){told.reads + on_average.reads,
                                               told.bytes + on_average.bytes};
            }
            expect_near(told.bytes, made.bytes, 0.05, "bytes");
            expect_near(told.reads, made.reads, 0.05, "reads");
        }
}

/* Two hops, of which the second wants many times as many blocks, by batches that each want others.
 */
static void a_group_reads_what_a_smaller_one_tells(void **state)
{
    (void)state;
    enum { SEEN = 6 };
    static const uint32_t each[] = {150, 4000};
    static const uint32_t groups[] = {SEEN, 12, 40, 160};
    const struct og_read_rule rule = rule_of(512, 8 * 1024);
    for (size_t g = 0; g < OG_COUNT(groups); g++) {
        struct og_sample_group_requests seen = {
            .batches = SEEN, .n_hops = OG_COUNT(each), .of = ALL};
        double bytes = 0, reads = 0;
        for (uint32_t h = 0; h < seen.n_hops; h++) {
            memset(taken, 0, sizeof(taken));
            for (uint32_t b = 0; b < groups[g]; b++) {
                draw(each[h], 1000 * (h + 1) + b);
                if (b + 1 == SEEN)
                    seen.blocks[h] = list();
            }
            const struct og_io_counts made = og__read_rule_predict(&rule, rows, list());
            bytes += (double)made.bytes;
            reads += (double)made.reads;
        }
        const struct og_io_expected told = og__sample_group_expect(&seen, groups[g], &rule);
        expect_near(told.bytes, bytes, 0.05, "bytes of a group");
        expect_near(told.reads, reads, 0.15, "reads of a group");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_anywhere_are_read_as_expected),
        cmocka_unit_test(a_group_reads_what_a_smaller_one_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
