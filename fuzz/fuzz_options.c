/* config.yaml: any bytes either are refused or give options that are written and read back as the
 * same. */
#include "fuzz.h"

#include "options/options.h"

#include <stdlib.h>
#include <string.h>

static json_t *all_but_run(const struct og_options *opt)
{
    json_t *json = og__options_json(opt);
    json_object_del(json, "run");
    json_object_del(json, "resume");
    return json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_options a;
    struct og_options b;
    struct og_err err = {0};
    og__options_init(&a);
    og__options_init(&b);
    if (og__options_parse(&a, (const char *)data, size, "input", &err) == 0) {
        char *text = og__options_yaml(&a);
        if (!text || og__options_parse(&b, text, strlen(text), "again", &err) < 0)
            abort();
        json_t *x = all_but_run(&a);
        json_t *y = all_but_run(&b);
        if (!json_equal(x, y))
            abort();
        json_decref(x);
        json_decref(y);
        free(text);
    } else if (!err.message[0]) {
        abort();
    }
    og__options_release(&a);
    og__options_release(&b);
    return 0;
}
