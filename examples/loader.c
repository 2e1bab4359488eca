/* Mini-batches for a step of one's own:
 *
 *     cc loader.c $(pkg-config --cflags --libs outgrow) && ./a.out DATASET [OPTION VALUE]... */
#include <outgrow/outgrow.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* In place of a model: what an epoch of it would go through. */
static void step(const struct og_minibatch *b, int64_t *rows, int64_t *edges)
{
    *rows += b->x.shape[0];
    *edges += b->edge_index.shape[1];
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct og_options *opt = NULL;
    char *epochs = NULL;
    struct og_loader *l = NULL;
    const struct og_minibatch *b = NULL;
    int rc = argc > 1 ? og_options_new(&opt, &err) : -1;
    for (int i = 2; i + 1 < argc && rc == 0; i += 2)
        rc = og_options_set(opt, argv[i], argv[i + 1], &err);
    if (rc == 0)
        rc = og_options_get(opt, "epochs", &epochs, &err);
    if (rc == 0)
        rc = og_loader_open(&l, argv[1], opt, NULL, NULL, &err);
    for (int epoch = 1; rc == 0 && epoch <= atoi(epochs); epoch++) {
        int64_t rows = 0, edges = 0;
        rc = og_loader_start(l, epoch, &err);
        while (rc == 0 && (rc = og_loader_next(l, -1, &b, &err)) == 0 && b) {
            step(b, &rows, &edges);
            og_minibatch_release(b);
        }
        if (rc == 0)
            printf("epoch %d: %" PRId64 " rows, %" PRId64 " edges\n", epoch, rows, edges);
    }
    if (rc < 0)
        fprintf(stderr, "outgrow: %s\nhint: %s\n", err.message, err.hint);
    og_loader_close(l);
    free(epochs);
    og_options_free(opt);
    return rc < 0;
}
