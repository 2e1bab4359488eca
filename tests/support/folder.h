/* Where tests put their files. */
#ifndef OG_TEST_FOLDER_H
#define OG_TEST_FOLDER_H

enum { TEST_PATH = 40 };

/* Makes an empty folder and writes its name, "<place>/og-<name>-XXXXXX", to path. The place is
 * $TMPDIR where that is set, else the file system in memory where it has room, else /tmp. What was
 * just written and is read around the page cache has to reach a disk first, which would be most of
 * the time of these tests. Tests of such reads set TMPDIR; CI runs all of them on a disk as well.
 * Returns path, NULL if there is no such folder. */
char *test_folder(char path[TEST_PATH], const char *name);

#endif
