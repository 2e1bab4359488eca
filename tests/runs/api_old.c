/* A program for an old API, which does not compile any more. Its options were not opaque, and it
 * had several calls of a kind. install.sh looks for what the compiler says. */
#include <outgrow/outgrow.h>

static void note(void *arg, const char *text)
{
    (void)arg, (void)text;
}

int main(void)
{
    struct og_err err = {0};
    struct og_options opt;
    struct og_import brought;
    struct og_generate made;
    size_t n;
    og_options_init(&opt);
    opt.epochs = 3;
    opt.policy = OG_POLICY_BELADY;
    og_import_init(&brought);
    og_generate_init(&made);
    const struct og_option *table = og_option_table(&n);
    og_option_aliases(&n);
    og_option_read(table, &opt, "3", &err);
    og_sample_figures("graph", "trace", false, &opt, NULL, NULL, &err);
    og_simulate_tiers("graph", "lru", "5%", NULL, &opt, NULL, NULL, &err);
    og_verify_hints("graph", note, NULL, NULL, &err);
    og_options_release(&opt);
    return err.code != 0;
}
