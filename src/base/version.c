#include <outgrow/outgrow.h>

const char *og_version(void)
{
    return OG_VERSION;
}
