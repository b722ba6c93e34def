/* SPDX-License-Identifier: MIT */
/* encode4.h - what the models of libpfm4 have in common (encode4.c). */
#ifndef PFL_ENCODE4_H
#define PFL_ENCODE4_H

#include "libpfm4.h"
#include "model.h"

void pfl4_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev);
void pfl4_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr);
/* Gets libpfm4's codes for the event; *n receives their number. */
int pfl4_codes(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
	       unsigned int plm, uint64_t codes[L4_MAX_CODES], unsigned int *n);

#endif
