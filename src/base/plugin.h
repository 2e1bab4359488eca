/* Libraries that are loaded when somebody asks for what they bring, so that one command serves
 * machines with and without. */
#ifndef OG_PLUGIN_H
#define OG_PLUGIN_H

/* Loads library `name` from where environment variable `variable` says; without it, or where it is
 * empty, from beside the program, as it is built, from the folder it is installed to, or from where
 * the system looks. flags: what dlopen takes beside RTLD_NOW. NULL where it cannot be loaded:
 * dlerror() says why. */
void *og__plugin_open(const char *name, const char *variable, int flags);

#endif
