#include "dataset/import/columns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- fields ---- */

static bool is_blank(const char *p, char mark)
{
    return *p == ' ' || (*p == '\t' && mark != '\t') || (*p == '\r' && p[1] == '\n');
}

static bool ends_field(const char *p, char mark)
{
    if (*p == '\n' || *p == mark)
        return true;
    return mark == ' ' && (is_blank(p, mark) || *p == ',' || *p == ';');
}

char og__column_mark(const char *line)
{
    static const char marks[] = {',', ';', '\t'};
    const size_t n =
        (size_t)((const char *)rawmemchr(line, '\n') - line); /* NULs may come before */
    for (size_t i = 0; i < sizeof(marks); i++)
        if (memchr(line, marks[i], n))
            return marks[i];
    return ' ';
}

const char *og__column_next(const char *p, char mark, struct og_column_name *name)
{
    size_t n = 0;
    while (is_blank(p, mark))
        p++;
    static const char quote = '"';
    const bool quoted = *p == quote;
    p += quoted;
    for (; *p != '\n' && (quoted ? *p != quote || p[1] == quote : !ends_field(p, mark)); p++) {
        p += quoted && *p == quote; /* doubled, it is one of the text */
        if (n + 1 < sizeof(name->text))
            name->text[n++] = (char)tolower((unsigned char)*p);
    }
    while (n > 0 && (name->text[n - 1] == ' ' || name->text[n - 1] == '\r'))
        n--;
    name->text[n] = 0;
    p += quoted && *p == quote;
    while (is_blank(p, mark))
        p++;
    return p + (*p == mark || (mark == ' ' && (*p == ',' || *p == ';')));
}

int64_t og__column_count(const char *line, char mark)
{
    struct og_column_name name;
    int64_t n = 1;
    for (const char *p = line;; n++) {
        p = og__column_next(p, mark, &name);
        if (p == line || p[-1] != mark)
            return n;
        if (*p == '\n')
            return n + 1;
    }
}

/* ---- names ---- */

enum kind { EMPTY, NUMBER, WORD }; /* a name of a column begins with no digit, sign or point */

static enum kind kind_of(const char *name)
{
    static const char *const missing[] = {"",          "nan",  "inf",  "-inf", "infinity",
                                          "-infinity", "none", "null", "na",   "n/a",
                                          "+inf",      "?",    "-"};
    for (size_t i = 0; i < OG_COUNT(missing); i++)
        if (strcmp(name, missing[i]) == 0)
            return EMPTY;
    return strchr("0123456789+-.", name[0]) ? NUMBER : WORD;
}

bool og__names_columns(const char *line, char mark, bool id)
{
    struct og_column_name name;
    size_t n[3] = {0};
    for (const char *p = line; *p != '\n';) {
        p = og__column_next(p, mark, &name);
        const enum kind kind = kind_of(name.text);
        n[kind]++;
        if (id && kind != EMPTY && n[NUMBER] + n[WORD] == 1)
            return kind == WORD;
    }
    return n[WORD] > 0 && n[NUMBER] == 0;
}

static const struct {
    enum og_column what;
    const char *names;
} known[] = {
    {OG__COLUMN_ID,
     " id node node_id nodeid n_id nid vertex vertex_id index idx edge_id edgeid eid "},
    {OG__COLUMN_SRC, " src source from u src_id source_id from_id src_node source_node from_node "
                     "fromnodeid from_node_id head start node1 node_1 id1 id_1 n1 :start_id citing "
                     "follower sender "},
    {OG__COLUMN_DST, " dst dest destination target to v dst_id dest_id target_id to_id dst_node "
                     "target_node to_node tonodeid to_node_id tail end node2 node_2 id2 id_2 n2 "
                     ":end_id cited followee receiver "},
    {OG__COLUMN_WEIGHT, " weight weights w wt edge_weight edgeweight "},
    {OG__COLUMN_LABEL, " label labels y class classes target_class "},
    {OG__COLUMN_TIME, " time times timestamp timestamps ts t date datetime year "},
    {OG__COLUMN_OTHER, " type types edge_type etype :type relation rel rel_type edge_attr attr "
                       "attributes edge_label name title - _ "},
};

enum og_column og__column_of(const char *name)
{
    char word[64];
    snprintf(word, sizeof(word), " %s ", name);
    if (!*name || strncmp(name, "unnamed:", 8) == 0)
        return OG__COLUMN_ID; /* the index of a data frame */
    for (size_t i = 0; i < OG_COUNT(known); i++)
        if (strstr(known[i].names, word))
            return known[i].what;
    return OG__COLUMN_UNKNOWN;
}

bool og__names_ends(const char *line, bool others)
{
    struct og_column_name name;
    unsigned ends = 0;
    const char mark = og__column_mark(line);
    for (const char *q = line; *q != '\n';) {
        q = og__column_next(q, mark, &name);
        const enum og_column what = og__column_of(name.text);
        if (what == OG__COLUMN_UNKNOWN && !others)
            return false;
        ends |= what == OG__COLUMN_SRC ? 1 : what == OG__COLUMN_DST ? 2 : 0;
    }
    return ends == 3;
}
