/* What a name may be. */
#include "dataset/word_runs.h"

/* The bytes of a character of UTF-8, or 0. */
static size_t character(const unsigned char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = p[0] < 0x80   ? 1
                         : p[0] < 0xc0 ? 0
                         : p[0] < 0xe0 ? 2
                         : p[0] < 0xf0 ? 3
                         : p[0] < 0xf8 ? 4
                                       : 0;
    if (bytes <= 1 || bytes > n)
        return bytes > n ? 0 : bytes;
    uint32_t x = p[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        x = x << 6 | (p[i] & 0x3f);
    }
    return x < least[bytes] || x > 0x10ffff || (x >= 0xd800 && x < 0xe000) ? 0 : bytes;
}

const char *og__word_wrong(const struct og_word *word)
{
    const unsigned char *p = (const unsigned char *)word->text;
    size_t bytes;
    if (word->len == 0)
        return "an empty name";
    if (word->len > OG__WORD_MOST)
        return "a name of more than 4096 bytes";
    for (size_t i = 0; i < word->len; i += bytes) {
        if (p[i] < ' ' || p[i] == 0x7f)
            return "a name with a control character";
        if ((bytes = character(p + i, word->len - i)) == 0)
            return "a name that is not UTF-8 (iconv -f latin1 -t utf-8)";
    }
    return NULL;
}
