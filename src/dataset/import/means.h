/* --mean-features: types that have no features get the mean of their neighbours'. */
#ifndef OG_IMPORT_MEANS_H
#define OG_IMPORT_MEANS_H

#include "dataset/import/import.h"

/* Of the types that the options name, one after another, into features_<t>.npy; meta.json's keys
 * are those of the format. Out of core, within what is left of the budget. Nothing is named: 0. */
OG_MUST_CHECK int og__import_means(struct og_importer *imp, struct og_err *err);

#endif
