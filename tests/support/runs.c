#include "support/runs.h"

#include "support/testing.h"

#include <stdio.h>
#include <stdlib.h>

void test_set(struct og_options *opt, const char *name, const char *value)
{
    struct og_err err = {0};
    if (og_options_set(opt, name, value, &err) < 0)
        fail_msg("%s", err.message);
}

void test_count_batch(void *stopper, const struct og_progress *p)
{
    struct test_stopper *s = stopper;
    (void)p;
    if (++s->batches == s->at)
        test_ask_stop(&s->stop);
}

size_t test_ways_step(void)
{
    const char *text = getenv("OG_WAYS_STEP");
    const size_t step = text ? (size_t)strtoul(text, NULL, 10) : 1;
    return step > 0 ? step : 1;
}

size_t test_ways_step_of(size_t n)
{
    const size_t step = test_ways_step();
    return step < n ? step : n;
}

void test_note_message(void *said, int level, const char *text)
{
    struct test_said *s = said;
    size_t at = strlen(s->text);
    (void)level;
    snprintf(s->text + at, sizeof(s->text) - at, "%s\n", text);
}
