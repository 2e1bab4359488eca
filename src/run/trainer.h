/* A run of training: what og_train holds, and the files that it writes. */
#ifndef OG_TRAINER_H
#define OG_TRAINER_H

#include "learn/checkpoint.h"
#include "learn/scores.h"
#include "learn/trainers.h"
#include "learn/type_scores.h"
#include "learn/watch.h"
#include "report/json.h"
#include "run/ranks.h"
#include "run/rundir.h"
#include "session/session.h"

#include <stdio.h>

/* What the summary says of the test; null where there is none. */
struct og_test_result {
    json_t *acc, *metrics, *types, *classes, *confusion;
};

struct og_trainer {
    struct og_session *s;
    struct og_rundir dir;
    struct og_train_state state;
    struct og_watch watch; /* follows from its epochs */
    struct og_steps steps;
    struct og_learnt *learnt;           /* rows outside of the model; NULL: none */
    struct og_trainers *trainers;       /* that compute mini-batches; NULL: the model itself does */
    struct og_ranks *ranks;             /* that train together, each on its share */
    const struct og_run_files *files;   /* what this one does with those of the run: */
    const struct og_options *requested; /* which are requested; */
    char **summary;                     /* text of it, for the caller; NULL */
    struct og_test_result test;         /* what it says of the test */
    struct og_shares shares;            /* their gradients */
    struct og_schedule whole;           /* of all of them; the session's is of this one */
    uint64_t begun;  /* mini-batches of rounds that have begun; of the run, or of the test */
    int under_way;   /* rounds that have begun and are not taken in */
    int behind_most; /* of those there may be when another one begins */
    bool saves;      /* the round under way ends with a checkpoint */
    bool stopped;    /* by --patience, before the last epoch */
    bool ends;       /* no more is trained now */
    bool testing;    /* training is over; */
    uint64_t tested; /* mini-batches of the test so far */
    struct og_resumable goes_on;
    struct og_scores scores; /* of the evaluation under way */
    struct og_type_scores by_type;
    FILE *log;    /* metrics.jsonl */
    void *labels; /* of one batch */
    float *best;  /* parameters of the best epoch, one after another */
    size_t n_values;
    double lap; /* when the last batch ended */
    double started, saved;
};

/* In the current epoch, or the last one. */
uint32_t og__run_epoch(const struct og_trainer *t);
extern const char og__lower_rate[]; /* the hint where numbers grew without bound */
/* -EDOM, naming it, where a parameter is not a finite number. */
OG_MUST_CHECK int og__run_check_params(const struct og_trainer *t, struct og_err *err);

/* What a rank does with the files of the run: rank 0 writes them. The others follow, and keep what
 * they say in its folder. */
typedef int og_run_step(struct og_trainer *t, struct og_err *err);
struct og_run_files {
    og_run_step *check; /* before the session is opened: whether the requested folder would do */
    og_run_step *open;  /* the folder, whose name others hear */
    og_run_step *begin; /* plan, settings, log */
    og_run_step *restore, *anew; /* the run resumes from resume.safetensors, or has none */
    og_run_step *best;           /* parameters, from t->best */
    og_run_step *save;           /* resume.safetensors and checkpoint.safetensors, as of now */
    og_run_step *end;            /* summary.json, and as text; takes over the test's figures */
};
const struct og_run_files *og__run_files(const struct og_ranks *r);

/* resume.safetensors and checkpoint.safetensors, as of now. */
OG_MUST_CHECK int og__run_save(struct og_trainer *t, struct og_err *err);
/* Resumes where the folder's run stopped; without a file to resume from it starts a new one. */
OG_MUST_CHECK int og__run_resume(struct og_trainer *t, struct og_err *err);

/* A line of metrics.jsonl, where this batch has one. */
OG_MUST_CHECK int og__run_log(struct og_trainer *t, const struct og_descriptor *d,
                              const struct og_rank_report *report, struct og_err *err);
/* A line of it for an epoch, where who watches can read it at once. */
OG_MUST_CHECK int og__run_log_epoch(struct og_trainer *t, const char *row, struct og_err *err);
/* The row of an epoch that has ended. New reference, NULL = out of memory. */
json_t *og__run_epoch_json(const struct og_trainer *t, uint32_t epoch);

#endif
