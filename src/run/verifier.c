#include "run/verifier.h"

#include "budget/config.h"

#include <inttypes.h>

enum { TOLD_A_FILE = 3 };

void og__verify_report(struct og_verifier *v, const char *text, const char *hint)
{
    if (v->wrong++ >= TOLD_A_FILE)
        return;
    v->finding(v->arg, text, hint);
    v->n_findings++;
}

void og__verify_tell(struct og_verifier *v, const char *hint, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    og__verify_report(v, text, hint);
}

void og__verify_begin(struct og_verifier *v)
{
    v->wrong = 0;
}

void og__verify_end(struct og_verifier *v, const char *what)
{
    char text[768];
    if (v->wrong <= TOLD_A_FILE)
        return;
    snprintf(text, sizeof(text), "%s: and %" PRIu64 " more like it", what, v->wrong - TOLD_A_FILE);
    v->finding(v->arg, text, "");
    v->n_findings++;
}

int og__verify_judge(struct og_verifier *v, int rc, const struct og_err *why, struct og_err *err)
{
    if (rc >= 0)
        return 0;
    if (rc != -EINVAL && rc != -EIO && rc != -ENOENT)
        return og__fail(err, rc, why->hint, "%s", why->message);
    og__verify_report(v, why->message, why->hint);
    return 1;
}

void *og__verify_room(const struct og_verifier *v, struct og_verify_room *room, size_t bytes,
                      struct og_err *err)
{
    if (room->bytes < bytes || !room->data) {
        og__release(v->budget, room->data, room->bytes, OG__VERIFY_PART);
        room->data = og__alloc(v->budget, bytes, OG__VERIFY_PART, err);
        room->bytes = room->data ? bytes : 0;
    }
    return room->data;
}

void og__verify_progress(const struct og_verifier *v, uint64_t done, uint64_t total)
{
    const struct og_progress p = {
        .size = sizeof(p), .stage = "verify", .done = done, .total = total};
    og__observe(v->observer, &p);
}
