#include <outgrow/version.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *og_version(void)
{
    return TEXT(OG_VERSION_MAJOR) "." TEXT(OG_VERSION_MINOR) "." TEXT(OG_VERSION_PATCH);
}

int og_version_number(void)
{
    return OG_VERSION_NUMBER;
}
