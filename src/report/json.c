#include "report/json.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

int og__json_deliver(json_t *root, const char *path, char **text, struct og_err *err)
{
    char *dump = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    if (!dump)
        return og__fail_errno(err, -ENOMEM, NULL, "result");
    int rc = path ? og__write_text(path, dump, strlen(dump), err) : 0;
    if (text && rc == 0)
        *text = dump;
    else
        free(dump);
    return rc;
}
