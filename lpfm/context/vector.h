/* SPDX-License-Identifier: MIT */
/* vector.h - prepared register vectors. */
#ifndef LPFM_VECTOR_H
#define LPFM_VECTOR_H

#include "base/structs.h"
#include "ffi/objects.h"

extern const struct lpfm_class lpfm_pmds_class, lpfm_pmcs_class;

/* Pushes a vector made of the list at idx. */
void lpfm_vector_new(lua_State *L, int idx, const struct lpfm_class *class,
		     const struct lpfm_struct *rec, const char *call);
int lpfm_vector_read_flagged(int fd, struct lpfm_vector *v);

/* Calls pfm_read_pmds() without the flags of writes, for a vector of lpfm.pmds. */
static inline int lpfm_vector_read(int fd, struct lpfm_vector *v)
{
	if (__builtin_expect(v->write_flags, 0))
		return lpfm_vector_read_flagged(fd, v);
	return pfm_read_pmds(fd, (pfarg_pmd_t *)v->data, v->n);
}

void lpfm_open_vector(lua_State *L);

#endif
