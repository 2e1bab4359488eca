/* Reports at the end, and when something is wrong. */
#ifndef OG_RANDOM_REPORT_H
#define OG_RANDOM_REPORT_H

#include "draw.h"

#include <outgrow/err.h>

enum { MOST_LINES = 256, MOST_COMMAND = 4096 };

/* How often something came, and where first. */
struct tally {
    int n;
    struct {
        char text[160];
        char example[512];
        long times;
    } line[MOST_LINES];
};

/* Counts the compared runs that had it: by a word of their command, or by name. */
enum share {
    SHARE_TYPES,
    SHARE_DISK,
    SHARE_LINKS,
    SHARE_DEVICES,
    SHARE_ROWS,
    SHARE_WORKERS,
    SHARE_EXCHANGE,
    SHARE_RESUME,
    SHARE_SAMPLES,
    SHARE_TRAINERS,
    SHARE_EDGE_FEATURES,
    SHARE_EDGE_LABELS,
    SHARE_TIMES,
    SHARE_TREES,
    SHARE_TIMED_EDGES,
    SHARE_GIVEN,
    SHARE_LEARNT,
    SHARE_SPARSE,
    SHARE_SEVERAL,
    SHARES
};

struct report {
    uint64_t seed;
    bool kept; /* folders stay */
    long graphs, runs, refused, others, wrong;
    long compared, share[SHARES];
    struct tally ways; /* runs that were compared: policy, layout, topology; what was looked at */
    struct tally reasons; /* of refusals, with numbers left out */
};

/* One more of this text. */
void tally_add(struct tally *t, const char *text, uint64_t graph, const char *command);

/* The command line that a call stands for. */
void command_text(char out[MOST_COMMAND], const char *command, const char *arguments,
                  const struct settings *s);

/* The call that is about to be made: named if the process dies in it, or hangs. */
void report_calling(uint64_t graph, const char *command);
void report_deaths(void);

/* One more run that was compared. `of`: what its command does not show. */
void report_shares(struct report *r, const char *command, const bool of[SHARES]);

/* Refused: counted by reason. Wrong where there is no hint, or where the reason is none that a draw
 * may have (report.c). */
void report_refusal(struct report *r, const struct og_err *err, uint64_t graph,
                    const char *command);

/* Wrong: both commands, and how to make the graph again. */
__attribute__((format(printf, 5, 6))) void report_wrong(struct report *r, uint64_t graph,
                                                        const char *command, const char *beside,
                                                        const char *format, ...);

void report_print(const struct report *r, bool all);

#endif
