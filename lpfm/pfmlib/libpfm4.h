/* SPDX-License-Identifier: MIT */
/*
 * libpfm4.h - the tables of libpfm4, under names that do not clash with ours: libpfm4's header and
 * pfmlib.h cannot be included together.
 */
#ifndef PFL_LIBPFM4_H
#define PFL_LIBPFM4_H

#include <stdbool.h>
#include <stdint.h>

#define L4_MAX_CODES 8

struct l4_event {
	const char	*name, *desc;
	uint64_t	code;
	unsigned int	nattrs, nmasks;
};

struct l4_pmu {
	const char	*name, *desc;
	int		id;
	int		first_event;
	unsigned int	nevents;
	unsigned int	counters, fixed;
	bool		present;
	int		*ids;		/* libpfm4's index for each event */
	struct l4_event	*events;	/* read at the first use */
};

enum l4_kind { L4_MASK, L4_BOOLEAN, L4_INTEGER };

struct l4_attr {
	const char	*name, *desc;
	uint64_t	code;
	enum l4_kind	kind;
	bool		dflt;
};

enum l4_family { L4_OTHER, L4_X86, L4_NETBURST, L4_ARM };

/*
 * Initializes libpfm4; may be called at any time. Returns true if libpfm4's tables can be used,
 * including those of absent models.
 */
bool l4_init(void);
/*
 * Fills in *pmu, and returns true, if id is a core PMU with events. pmu->ids stays allocated. An id
 * is a number from 0 to l4_max_id() - 1.
 */
bool l4_core_pmu(int id, struct l4_pmu *pmu);
int l4_max_id(void);
enum l4_family l4_family(const struct l4_pmu *pmu);
/* Returns libpfm 3's number of the model, or -1 if it had none. */
int l4_old_type(int id);

/* Returns the i-th event; may be called by any thread. */
const struct l4_event *l4_event(const struct l4_pmu *pmu, unsigned int i);
void l4_attr(const struct l4_pmu *pmu, unsigned int i, unsigned int a, struct l4_attr *attr);
/* Returns true if the event with unit mask a (-1: without a mask) can be sampled precisely. */
bool l4_precise(const struct l4_pmu *pmu, unsigned int i, int a);
/* Gets the codes of "PMU::EVENT:..."; returns 0 or a PFMLIB_ERR_*. */
int l4_encode(const char *str, unsigned int plm, uint64_t *codes, unsigned int *n);
const char *l4_error(void);	/* returns libpfm4's text for the last error of l4_encode() */

#endif
