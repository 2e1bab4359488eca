/* The position of a run in its resume file: any text is refused with a reason or valid. Then it is
 * a place in the schedule, and is written in the same words again.
 *
 *   input: | u8: training seeds | u8: validation seeds | u8: batch size - 1 | u8: epochs - 1 |
 *          | u8: eval_every | text | */
#include "fuzz.h"

#include "learn/train_state.h"

#include <stdlib.h>
#include <string.h>

enum { KNOBS = 5 };

static void check_state(const struct og_train_state *s, const struct og_schedule *schedule)
{
    uint64_t n = og__schedule_items(schedule);
    size_t over = s->next_item == n ? (size_t)schedule->epochs
                                    : og__schedule_at(schedule, s->next_item).epoch - 1;
    if (s->next_item > n || json_array_size(s->epochs) != over || s->best_epoch > over)
        abort();
}

/* Written and read again it is written the same. */
static void tell_again(struct og_train_state *s, const struct og_schedule *schedule)
{
    struct og_train_state again = {0};
    struct og_err err = {0};
    char *text = og__train_state_text(s, schedule);
    if (!text || og__train_state_parse(&again, schedule, text, "again", &err) < 0)
        abort();
    char *twice = og__train_state_text(&again, schedule);
    if (!twice || strcmp(text, twice) != 0)
        abort();
    free(twice);
    free(text);
    json_decref(again.epochs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_train_state s = {0};
    if (size < KNOBS)
        return 0;
    const struct og_schedule schedule = {.n_seeds = {data[0], data[1]},
                                         .batch_size = data[2] + 1u,
                                         .epochs = data[3] + 1,
                                         .eval_every = data[4]};
    char *text = strndup((const char *)data + KNOBS, size - KNOBS);
    if (!text)
        abort();
    if (og__train_state_parse(&s, &schedule, text, "input", &err) == 0) {
        check_state(&s, &schedule);
        tell_again(&s, &schedule);
    } else if (!err.message[0] || s.epochs) {
        abort();
    }
    json_decref(s.epochs);
    free(text);
    return 0;
}
