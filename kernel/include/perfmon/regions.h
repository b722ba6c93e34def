/* SPDX-License-Identifier: MIT */
/*
 * regions.h - named regions of a program, measured in each thread while `lpfm stat --regions
 * ./prog` runs it.
 *
 *	PFM_REGION_START("solve");
 *	...
 *	PFM_REGION_STOP("solve");
 *
 *	pfm::region guard("solve");		C++: to the end of the block, exceptions included
 *
 * Link with the flags of pkg-config pfmregions: libpfmregions, and libperfmon before libc, so
 * that it sees which descriptors the program closes. In runs without lpfm, a mark only tests a
 * variable: nothing is opened or allocated. lpfm chooses the events; the program is not changed
 * for them.
 *
 * For users of LIKWID and PAPI:
 *	likwid_markerInit, likwid_markerThreadInit	not needed: the first mark sets a thread up
 *	likwid_markerRegisterRegion			PFM_REGION_PREPARE, which is optional, too
 *	likwid_markerStartRegion, PAPI_hl_region_begin	PFM_REGION_START, pfm_region_enter()
 *	likwid_markerStopRegion, PAPI_hl_region_end	PFM_REGION_STOP, pfm_region_leave()
 *	likwid_markerClose, PAPI_hl_stop		not needed: a thread completes at its end
 *	likwid-perfctr -m -g GROUP, PAPI_EVENTS		lpfm stat --regions -M GROUP, -e EVENTS
 *
 * What is measured, and how mistakes are treated; `lpfm stat` reports mistakes at the end:
 *
 *	nested regions		each counts from its start to its stop, inner regions included
 *	a region within itself	each start is a call; counts are those of the outermost call
 *	overlapping regions	each counts correctly; reported, as most programs do not intend it
 *	a stop without a start	ignored and reported
 *	a region not left	it ends with its thread, or with the process at exit(); reported.
 *				After _exit(), exec or a signal, the call's counts are missing
 *	fork() in a region	the parent's goes on; the child is in no region: its stop of the
 *				parent's region is ignored and reported
 *	dlopen(), dlclose()	marks of one name in several objects are one region
 *
 *	all descriptors closed	threads that were measured then count no more; reported
 *
 * A name has at most 127 bytes; the rest is ignored. Signal handlers must not have marks.
 */
#ifndef PERFMON_REGIONS_H
#define PERFMON_REGIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A place in the source that marks a region. All fields but the name are zero; the first mark sets
 * id.
 */
struct pfm_region {
	const char	*name;
	unsigned int	id;
};

/* Not 0 if regions are measured. */
extern int pfm_regions_on;

/*
 * Let the calling thread enter or leave a region. Call them if pfm_regions_on is set; otherwise
 * they only cost time.
 */
void pfm_region_enter(struct pfm_region *region);
void pfm_region_leave(struct pfm_region *region);
/*
 * Sets the calling thread up, which takes some microseconds, and which its first mark would do
 * otherwise.
 */
void pfm_region_prepare(struct pfm_region *region);

#define PFM_REGION_MARK_(label, call) do { \
	static struct pfm_region pfm_region_ = { label, 0 }; \
	if (__builtin_expect(pfm_regions_on != 0, 0)) \
		call(&pfm_region_); \
} while (0)

/* label is a string constant. */
#define PFM_REGION_START(label)		PFM_REGION_MARK_(label, pfm_region_enter)
#define PFM_REGION_STOP(label)		PFM_REGION_MARK_(label, pfm_region_leave)
#define PFM_REGION_PREPARE(label)	PFM_REGION_MARK_(label, pfm_region_prepare)

#ifdef __cplusplus
}

namespace pfm {

/* The thread is in the region during the life of the object. name must live as long. */
class region {
public:
	explicit region(const char *name) : place_(), entered_(pfm_regions_on != 0)
	{
		place_.name = name;
		if (__builtin_expect(entered_, 0))
			pfm_region_enter(&place_);
	}
	~region()
	{
		if (__builtin_expect(entered_, 0))
			pfm_region_leave(&place_);
	}

private:
	region(const region &);
	region &operator=(const region &);

	struct pfm_region place_;
	bool entered_;
};

}
#endif
#endif
