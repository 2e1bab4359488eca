#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("scratch", "DIR,...",
             "look there, where runs with this --scratch keep theirs [the user's cache]"),
    OWN_FLAG("clear", "remove what no process uses"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_cache(own_text(in, "scratch"), own_flag(in, "clear"), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_cache = {
    .name = "cache",
    .group = "This machine",
    .args = "",
    .min_args = 0,
    .max_args = 0,
    .summary = "show or clear what runs keep for those to come",
    .text = "Neighbour caches of graphs whose structure is on disk, one for each place that a "
            "dataset lies in, and layers of interrupted inference that --resume would go on with: "
            "of which dataset, how large, how long unused. Runs themselves remove neighbour caches "
            "that were not used for two months and, of those that take more than a tenth of the "
            "disk together, the longest unused. All of it is made again when it is needed; what a "
            "process uses just now stays. Disk profiles of `outgrow bench io` are left alone.",
    .own = own,
    .run = run,
};
