// SPDX-License-Identifier: GPL-2.0 OR MIT
/* vector.c - limits the length of vectors, and processes long ones in parts (4.4.2). */
#include "core.h"

int pfm_refuse_vector(struct pfm_machine *m, int n, size_t size)
{
	if (n <= 0)
		return pfm_refuse(-EINVAL, "the vector must have at least 1 element, not %d", n);
	return pfm_refuse(-E2BIG, "%d elements of %u bytes exceed the limit of %llu bytes", n,
			  (unsigned int)size, (unsigned long long)READ_ONCE(m->arg_size_max));
}

int pfm_parts_in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *v,
		     size_t size, int n)
{
	int done = 0, ret = 0;

	while (done < n && !ret) {
		int part = n - done < PFM_PART ? n - done : PFM_PART;

		ctx->vector = (struct pfm_vector){ (char *)v + done * size, part };
		ret = pfm_in_pmu(ctx, fn, NULL);
		done += ret ? 0 : part;
	}
	ctx->vector = (struct pfm_vector){ v, done };
	return ret;
}
