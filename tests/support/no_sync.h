/* fsync in test programs (no_sync.c): it returns at once; a hook may watch it. */
#ifndef OG_NO_SYNC_H
#define OG_NO_SYNC_H

extern void (*on_sync)(int fd); /* NULL: nobody does */

#endif
