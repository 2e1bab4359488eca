/* What tests of whole runs do with options, and with a run while it goes. */
#ifndef OG_TEST_RUNS_H
#define OG_TEST_RUNS_H

#include <outgrow/outgrow.h>

/* Fails the test, with the message, where the option refuses the value. */
void test_set(struct og_options *opt, const char *name, const char *value);

/* Sets an observer's stop flag while the run's threads read it. */
static inline void test_ask_stop(volatile sig_atomic_t *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

/* An observer's progress: stops the run after its batch number `at`. */
struct test_stopper {
    volatile sig_atomic_t stop;
    int batches, at;
};
void test_count_batch(void *stopper, const struct og_progress *p);

/* How many repetitions of a run for bit-identical results one is made of: 1, or OG_WAYS_STEP. That
 * is for builds that are slow and test something else. */
size_t test_ways_step(void);

/* The same where there are few ways, or what follows one is long: n at most. */
size_t test_ways_step_of(size_t n);

/* An observer's message: all lines that were said, whatever their level, as far as they fit. */
struct test_said {
    char text[8192];
};
void test_note_message(void *said, int level, const char *text);

#endif
