/* Numbers and options drawn at random: the same of the same seed on every machine. */
#ifndef OG_RANDOM_DRAW_H
#define OG_RANDOM_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct draw {
    uint64_t state;
};

void draw_start(struct draw *d, uint64_t seed, uint64_t number);
uint64_t draw_below(struct draw *d, uint64_t n);  /* 0 where n is */
int draw_from(struct draw *d, int low, int high); /* both may come */
bool draw_chance(struct draw *d, int percent);
float draw_unit(struct draw *d); /* in [0, 1) */

/* One of the words of a list that ends with NULL. */
const char *draw_word(struct draw *d, const char *const *words);
#define DRAW_WORD(d, ...) draw_word(d, (const char *const[]){__VA_ARGS__, NULL})

/* ---- options by name ---- */

enum { MOST_SETTINGS = 64, MOST_VALUE = 200 };

struct settings {
    struct {
        const char *name; /* static */
        char value[MOST_VALUE];
    } at[MOST_SETTINGS];
    int n;
};

/* The value replaces what was put under the name before. */
__attribute__((format(printf, 3, 4))) void settings_put(struct settings *s, const char *name,
                                                        const char *format, ...);
void settings_drop(struct settings *s, const char *name);
const char *settings_get(const struct settings *s, const char *name); /* NULL = not there */
int settings_int(const struct settings *s, const char *name);         /* 0 = not there */
bool settings_are(const struct settings *s, const char *name, const char *value);

#endif
