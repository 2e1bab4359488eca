/* --mean-features: node types without features get the mean of their neighbours' features. */
#ifndef OG_IMPORT_MEANS_H
#define OG_IMPORT_MEANS_H

#include "dataset/import/import.h"

/* Writes features_<t>.npy for each type that the option names; meta.json's keys are set by the
 * format. Out of core, within the budget's remaining memory. Returns 0 if no type is named. */
OG_MUST_CHECK int og__import_means(struct og_importer *imp, struct og_err *err);

#endif
