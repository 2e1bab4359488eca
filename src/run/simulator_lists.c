/* What a simulation compares: lists of policies and of cache sizes. */
#include "run/simulator.h"

#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next word of a list into `word`; *list moves past it. False at the end. */
static bool next_word(const char **list, char word[WORD])
{
    size_t length = strcspn(*list, ",");
    if (!**list)
        return false;
    snprintf(word, WORD, "%.*s", (int)OG_MIN(length, (size_t)WORD - 1), *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

/* The next policy of a list, malloc'ed, NULL at the end; *list moves past it. What has an equals
 * sign and no colon is a parameter of the policy before. */
static char *next_policy(const char **list)
{
    size_t n = strcspn(*list, ",");
    while ((*list)[n] && strcspn(*list + n + 1, "=,") < strcspn(*list + n + 1, ":,"))
        n += 1 + strcspn(*list + n + 1, ",");
    char *word = **list ? strndup(*list, n) : NULL;
    *list += word ? n + ((*list)[n] == ',') : 0;
    return word;
}

int og__simulator_add_policy(struct simulator *m, char *word, struct og_err *err)
{
    struct requested_policy *p = &m->policy[m->n_policies];
    if (m->n_policies == MOST_POLICIES) {
        free(word);
        return og__fail(err, -EINVAL, NULL, "policy: at most %d at once", MOST_POLICIES);
    }
    p->name = word;
    m->n_policies++;
    OG_DO(og__options_copy(&p->opt, &m->opt, err));
    OG_DO(og_options_set(&p->opt, "policy", word, err));
    p->kind = p->opt.policy;
    if (p->kind == OG_POLICY_AUTO)
        return og__fail(err, -EINVAL, "name policies, such as --policy degree,belady",
                        "policy: simulate does not take auto");
    return 0;
}

int og__simulator_add_policies(struct simulator *m, const char *list, struct og_err *err)
{
    int rc = 0;
    for (char *word; (word = next_policy(&list));)
        OG_TRY(og__simulator_add_policy(m, word, err));
    if (*list)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "policy"));
out:
    return rc < 0 || m->n_policies ? rc : og__fail(err, -EINVAL, NULL, "policy: none given");
}

int og__simulator_add_caches(struct simulator *m, const char *list, struct og_err *err)
{
    char word[WORD];
    while (next_word(&list, word)) {
        struct og_options own = {0};
        if (m->n_caches == OG__MOST_SIZES)
            return og__fail(err, -EINVAL, NULL, "cache: at most %d at once", OG__MOST_SIZES);
        OG_DO(og_options_set(&own, "cache", word, err));
        struct requested_cache *c = &m->cache[m->n_caches++];
        snprintf(c->name, WORD, "%s", word);
        c->amount = own.cache;
    }
    return m->n_caches ? 0 : og__fail(err, -EINVAL, NULL, "cache: no size given");
}
