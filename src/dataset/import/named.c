/* Ids that are words -> nodes in the order of their bytes, and node_names.npy. */
#include "dataset/import/by_id.h"

/* The name of the only type's file, as og__node_names_prefix has it. */
static const char *prefix_of(const struct og_importer *imp)
{
    return imp->opt->drop_features ? "node_names_0" : "node_names";
}

/* Warns of probable mistakes. */
static void doubt_names(const struct og_importer *imp)
{
    const int64_t *n = imp->named.kinds.n;
    if (n[OG__WORD_WHOLE] + n[OG__WORD_REAL] > 0)
        og__import_warn(imp, "%s: %lld ids are numbers, %lld words: all are names", imp->src,
                        (long long)(n[OG__WORD_WHOLE] + n[OG__WORD_REAL]),
                        (long long)n[OG__WORD_TRUE]);
    if (n[OG__WORD_MISSING] > 0)
        og__import_warn(imp, "%s: %lld ids are nan, null, none or na, taken as names", imp->src,
                        (long long)n[OG__WORD_MISSING]);
    if (imp->named.kinds.marked > 0)
        og__import_warn(imp, "%s: %lld ids have combining marks: two forms are two nodes", imp->src,
                        (long long)imp->named.kinds.marked);
}

int og__named_resolve(struct og_importer *imp, const struct og_err *why, struct og_err *err)
{
    struct og_node_names_writer *w = NULL;
    struct og_word_map *words = imp->named.words;
    const char *prefix = prefix_of(imp);
    int rc;
    if (imp->named.kinds.n[OG__WORD_TRUE] == 0)
        return og__fail(err, -EINVAL, why->hint, "%s", why->message);
    OG_TRY(og__node_names_create(&w, imp->dir.temporary, prefix, words->longest, err));
    OG_TRY(og__word_map_sort(words, og__node_names_append, w, err));
    OG_TRY(og__node_names_finish(&w, imp->checksums, err));
    OG_TRY(og__import_set_nodes(imp, words->n, err));
    OG_TRY(og__node_names_in(&imp->named.names, imp->dir.temporary, prefix, words->n, err));
    og__import_say(imp, "ids are words: %lld nodes in their order, which %s%s.npy has",
                   (long long)words->n, prefix, words->longest > 32 ? "_bytes" : "");
    doubt_names(imp);
out:
    og__node_names_discard(w);
    return rc;
}

void og__named_drop(struct og_importer *imp)
{
    og__node_names_close(imp->named.names);
    if (imp->named.words)
        og__word_map_close(imp->named.words);
    imp->named = (struct og_named_ids){0};
}
