// SPDX-License-Identifier: MIT
/* mark.c - enters and leaves regions. */
#include "regions.h"

#define rarely(x)	__builtin_expect(!!(x), 0)

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * The counters are read as by perfmon_fast.h, but their registers are looked up only when set_seq
 * has changed, which seldom happens between two marks.
 */
#if defined(__aarch64__)

/*
 * A counter is read by a function of two instructions for its register. An asm calls it, so that
 * the compiler knows that it changes only x0 and x30.
 */
#define READER(reg)	"mrs x0, " reg "\n\tret\n\t"
#define READER_SIZE	8

__asm__(".pushsection .text\n\t.balign 8\n\t.globl regions_readers\n\t.hidden regions_readers\nregions_readers:\n\t"
	READER("pmevcntr0_el0") READER("pmevcntr1_el0") READER("pmevcntr2_el0") READER("pmevcntr3_el0")
	READER("pmevcntr4_el0") READER("pmevcntr5_el0") READER("pmevcntr6_el0") READER("pmevcntr7_el0")
	READER("pmevcntr8_el0") READER("pmevcntr9_el0") READER("pmevcntr10_el0") READER("pmevcntr11_el0")
	READER("pmevcntr12_el0") READER("pmevcntr13_el0") READER("pmevcntr14_el0") READER("pmevcntr15_el0")
	READER("pmevcntr16_el0") READER("pmevcntr17_el0") READER("pmevcntr18_el0") READER("pmevcntr19_el0")
	READER("pmevcntr20_el0") READER("pmevcntr21_el0") READER("pmevcntr22_el0") READER("pmevcntr23_el0")
	READER("pmevcntr24_el0") READER("pmevcntr25_el0") READER("pmevcntr26_el0") READER("pmevcntr27_el0")
	READER("pmevcntr28_el0") READER("pmevcntr29_el0") READER("pmevcntr30_el0") READER("pmccntr_el0")
	".popsection");
extern const char regions_readers[] __attribute__((visibility("hidden")));

static inline void set_reader(struct place *p, unsigned int index)
{
	p->read = regions_readers + (index - 1) * READER_SIZE;
}

static inline uint64_t read_place(const struct place *p)
{
	register uint64_t value __asm__("x0");

	__asm__ __volatile__("blr %1" : "=r"(value) : "r"(p->read) : "x30");
	return value;
}

#else

static inline void set_reader(struct place *p, unsigned int index)
{
	p->index = index;
}

#define read_place(p)	pfm_fast_register((p)->index)

#endif

/*
 * Looks up how the counters are read now. Returns false if some counter cannot be read without a
 * system call.
 */
static bool look_up(struct thread *t)
{
	const pfm_set_view_t *page = t->view.page;
	unsigned long seq = page->set_seq;

	PFM_FAST_BARRIER();
	if ((seq & 1) || page->set_owner != pfm_fast_thread())
		return false;
	for (int i = 0; i < t->n; i++) {
		unsigned int index = page->set_index[t->nums[i]];

		if (index - 1U >= PFM_FAST_COUNTERS)
			return false;
		set_reader(&t->places[i], index);
		t->places[i].base = page->set_base[t->nums[i] % PFM_VIEW_COUNTERS];
	}
	PFM_FAST_BARRIER();
	if (page->set_seq != seq)
		return false;
	t->seq = seq;
	return true;
}

/* Looks up the counters' registers again, and reads the counters. */
static __attribute__((noinline)) int read_anew(struct thread *t, uint64_t *values)
{
	if (!look_up(t))
		/* an odd number matches no set_seq, so marks look the registers up again */
		t->seq = 1;
	return pfm_read_fast(&t->view, t->nums, values, t->n);
}

static inline __attribute__((always_inline)) int read_known(struct thread *t, uint64_t *values, int n)
{
	const pfm_set_view_t *page = t->view.page;
	unsigned long seq = page->set_seq;

	PFM_FAST_BARRIER();
	if (rarely(seq != t->seq))
		return read_anew(t, values);
	for (int i = 0; i < n; i++)
		values[i] = t->places[i].base + pfm_fast_extend(read_place(&t->places[i]), page);
	PFM_FAST_BARRIER();
	return rarely(page->set_seq != seq) ? read_anew(t, values) : 1;
}

/*
 * The most common numbers of counters are passed as constants, so that the compiler unrolls the
 * loops.
 */
static inline __attribute__((always_inline)) int read_counters(struct thread *t, uint64_t *values)
{
	if (__builtin_expect(t->n == 2, 1))
		return read_known(t, values, 2);
	return t->n ? read_known(t, values, t->n) : 1;
}

int regions_read(struct thread *t, uint64_t *values)
{
	return t->n ? read_anew(t, values) : 1;
}

/* --- marks ------------------------------------------------------------------------------------ */

/*
 * Returns the thread's record of a region that it has entered before, or NULL if the record must be
 * looked up or made.
 */
static inline struct record *known(struct thread *t, const struct pfm_region *r)
{
	uint32_t at = __atomic_load_n(&r->id, __ATOMIC_RELAXED) - 1;

	return at < __atomic_load_n(&t->known, __ATOMIC_RELAXED) ? t->records[at] : NULL;
}

static inline __attribute__((always_inline)) void begin(struct thread *t, struct record *rec)
{
	rec->outer = t->top;
	t->top = rec;
	rec->began = regions_ticks();
	if (rarely(read_counters(t, rec->start) < 0))
		regions_break(t);
}

static __attribute__((noinline)) struct record *find(struct pfm_region *r)
{
	struct record *rec;
	struct thread *t;

	regions_finish(false);
	regions_enter();
	t = regions_thread();
	rec = t ? regions_record(t, r) : NULL;
	regions_leave();
	return rec;
}

static __attribute__((noinline)) void enter_new(struct pfm_region *r)
{
	struct record *rec = regions_self == &regions_deaf ? NULL : find(r);

	if (rec && !rec->inside++)
		begin(regions_self, rec);
}

void pfm_region_enter(struct pfm_region *r)
{
	struct thread *t = regions_self;
	struct record *rec = known(t, r);

	if (rarely(!rec))
		return enter_new(r);
	if (rarely(rec->inside++))
		return;
	begin(t, rec);
}

/* Removes a record from the middle of the list of regions that the thread is in. */
static void unlink_record(struct thread *t, struct record *rec)
{
	struct record **link = &t->top;

	while (*link && *link != rec)
		link = &(*link)->outer;
	if (*link)
		*link = rec->outer;
}

/*
 * Handles the leaving of a region that was entered more than once, is not the innermost one, or was
 * not entered.
 */
static __attribute__((noinline)) void leave_oddly(struct pfm_region *r)
{
	struct thread *t = regions_self;
	uint64_t now[REGIONS_COUNTERS];
	struct record *rec = t == &regions_deaf ? NULL : find(r);

	if (!rec)
		return;
	t = regions_self;
	if (!rec->inside) {
		*(regions_was_parents(rec->name) ? &rec->forked : &rec->strays) += 1;
	} else if (rec->inside > 1) {
		rec->inside--;
		rec->calls++;
	} else {
		int ret = regions_read(t, now);

		if (t->top != rec)
			rec->crossed++;
		regions_add(t, rec, ret < 0 ? NULL : now);
		unlink_record(t, rec);
	}
}

static inline __attribute__((always_inline)) void add_up(struct record *rec, const uint64_t *now, int n)
{
	for (int i = 0; i < n; i++)
		rec->sum[i] += now[i] - rec->start[i];
}

void pfm_region_leave(struct pfm_region *r)
{
	struct thread *t = regions_self;
	struct record *rec = known(t, r);
	uint64_t now[REGIONS_COUNTERS];

	if (rarely(!rec || t->top != rec || rec->inside != 1 || read_counters(t, now) < 0))
		return leave_oddly(r);
	rec->ticks += regions_ticks() - rec->began;
	if (t->n == 2)
		add_up(rec, now, 2);
	else
		add_up(rec, now, t->n);
	rec->calls++;
	rec->inside = 0;
	t->top = rec->outer;
}

void pfm_region_prepare(struct pfm_region *r)
{
	if (regions_self != &regions_deaf)
		find(r);
}
