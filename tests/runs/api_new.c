/* A program as docs/reference/c-api.md has them: every kind of struct that crosses the header.
 * Prints "epochs 2" and what its batches have; any failure is reported. */
#include <outgrow/outgrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int said;

static void on_progress(void *arg, const struct og_progress *p)
{
    (void)arg;
    said += p->size >= sizeof(*p);
}

static int make(const char *folder, struct og_err *err)
{
    struct og_generate *g = NULL;
    const struct og_observer seen = {.size = sizeof(seen), .progress = on_progress};
    int rc = og_generate_new(&g, err);
    rc = rc < 0 ? rc : og_generate_set(g, "nodes", "300", err);
    rc = rc < 0 ? rc : og_generate_set(g, "dim", "8", err);
    rc = rc < 0 ? rc : og_generate_set(g, "classes", "3", err);
    rc = rc < 0 ? rc : og_generate(folder, g, &seen, err);
    og_generate_free(g);
    return rc;
}

static int go_through(struct og_loader *l, int64_t *rows, int64_t *edges, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    int rc = og_loader_start(l, 1, err);
    while (rc == 0 && (rc = og_loader_next(l, -1, &b, err)) == 0 && b) {
        if (b->size < sizeof(*b) || b->hop[0]->size < sizeof(*b->hop[0]))
            rc = -1;
        *rows += b->x.shape[0];
        for (int h = 0; h < b->n_hops; h++)
            *edges += b->hop[h]->n_edges;
        og_minibatch_release(b);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct og_options *opt = NULL;
    struct og_options *copy = NULL;
    struct og_loader *l = NULL;
    struct og_loader_options from;
    const struct og_observer unsized = {.progress = on_progress};
    char *epochs = NULL;
    int64_t rows = 0, edges = 0;
    int rc = argc == 2 && og_version_number() == OG_VERSION_NUMBER ? make(argv[1], &err) : -1;
    og_loader_options_init(&from);
    rc = rc < 0 ? rc : og_options_new(&opt, &err);
    rc = rc < 0 ? rc : og_options_set(opt, "epochs", "2", &err);
    rc = rc < 0 ? rc : og_options_set(opt, "fanout", "3,2", &err);
    rc = rc < 0 ? rc : og_options_set(opt, "policy", "lru", &err);
    rc = rc < 0 ? rc : og_options_copy(&copy, opt, &err);
    rc = rc < 0 ? rc : og_options_get(copy, "epochs", &epochs, &err);
    rc = rc < 0 ? rc : og_loader_open(&l, argv[1], copy, &from, NULL, &err);
    rc = rc < 0 ? rc : go_through(l, &rows, &edges, &err);
    if (rc == 0 && og_plan(argv[1], opt, &unsized, NULL, NULL) == 0)
        rc = -1; /* nobody said how large it is */
    if (rc < 0)
        fprintf(stderr, "api_new: %s\nhint: %s\n", err.message, err.hint);
    else
        printf("epochs %s%s%s%s\n", epochs, rows > 0 && edges > 0 ? ", batches" : "",
               og_options_given(copy, "policy") ? ", given" : "", said > 0 ? ", progress" : "");
    og_loader_close(l);
    og_options_free(copy);
    og_options_free(opt);
    free(epochs);
    return rc < 0;
}
