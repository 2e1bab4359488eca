/* Libraries loaded on demand, so that one command serves machines with and without them. */
#ifndef OG_PLUGIN_H
#define OG_PLUGIN_H

/* Loads library `name` from the path in environment variable `variable`. If that is unset or empty,
 * searches the program's folder, the installed plugin folder, then the system's path. flags: added
 * to RTLD_NOW for dlopen. NULL if it cannot be loaded; then dlerror() has the reason. */
void *og__plugin_open(const char *name, const char *variable, int flags);

#endif
