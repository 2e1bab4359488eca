/* The example at the top of outgrow.h as a whole program:
 *
 *     cc train.c $(pkg-config --cflags --libs outgrow) && ./a.out DATASET [OPTION VALUE]... */
#include <outgrow/outgrow.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct og_options *opt = NULL;
    char *summary = NULL;
    int rc = argc > 1 ? og_options_new(&opt, &err) : -1;
    for (int i = 2; i + 1 < argc && rc == 0; i += 2)
        rc = og_options_set(opt, argv[i], argv[i + 1], &err);
    if (rc == 0)
        rc = og_train(argv[1], opt, NULL, &summary, &err);
    if (rc < 0)
        fprintf(stderr, "outgrow: %s\nhint: %s\n", err.message, err.hint);
    puts(summary ? summary : "");
    free(summary);
    og_options_free(opt);
    return rc < 0;
}
