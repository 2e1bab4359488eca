#include "draw.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw_next(struct draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void draw_start(struct draw *d, uint64_t seed, uint64_t number)
{
    d->state = seed;
    d->state = draw_next(d) ^ number;
    d->state = draw_next(d);
}

uint64_t draw_below(struct draw *d, uint64_t n)
{
    return n ? draw_next(d) % n : 0;
}

int draw_from(struct draw *d, int low, int high)
{
    return low + (int)draw_below(d, (uint64_t)(high - low + 1));
}

bool draw_chance(struct draw *d, int percent)
{
    return draw_from(d, 0, 99) < percent;
}

float draw_unit(struct draw *d)
{
    return (float)(draw_next(d) >> 40) * 0x1p-24f;
}

const char *draw_word(struct draw *d, const char *const *words)
{
    uint64_t n = 0;
    while (words[n])
        n++;
    return words[draw_below(d, n)];
}

/* ---- options by name ---- */

static int find(const struct settings *s, const char *name)
{
    int i = 0;
    while (i < s->n && strcmp(s->at[i].name, name) != 0)
        i++;
    return i;
}

void settings_put(struct settings *s, const char *name, const char *format, ...)
{
    va_list args;
    int i = find(s, name);
    if (i == MOST_SETTINGS)
        abort();
    s->n = i == s->n ? i + 1 : s->n;
    s->at[i].name = name;
    va_start(args, format);
    vsnprintf(s->at[i].value, sizeof(s->at[i].value), format, args);
    va_end(args);
}

void settings_drop(struct settings *s, const char *name)
{
    int i = find(s, name);
    if (i == s->n)
        return;
    s->n--;
    memmove(&s->at[i], &s->at[i + 1], (size_t)(s->n - i) * sizeof(s->at[0]));
}

const char *settings_get(const struct settings *s, const char *name)
{
    int i = find(s, name);
    return i < s->n ? s->at[i].value : NULL;
}

int settings_int(const struct settings *s, const char *name)
{
    const char *there = settings_get(s, name);
    return there ? (int)strtol(there, NULL, 10) : 0;
}

bool settings_are(const struct settings *s, const char *name, const char *value)
{
    const char *there = settings_get(s, name);
    return there && strcmp(there, value) == 0;
}
