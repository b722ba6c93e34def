/* SPDX-License-Identifier: MIT */
/*
 * theft.h - a thief takes the counters of CPUs and gives them back, while a bookkeeper counts
 * children that do work of known size: a context must count all of it, or report a loss.
 */
#ifndef SPEC_VM_THEFT_H
#define SPEC_VM_THEFT_H

#include "check.h"

struct books {
	/* number of children that were counted; number of those for which a loss was reported */
	uint64_t	accounts, told;
	char		wrong[160];	/* describes the first account that does not add up */
};

/* Returns a random number below n. */
typedef uint32_t any_fn(uint32_t n);

static void steal(any_fn *any, const volatile int *over)
{
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	int fds[MOST_COUNTERS];

	while (!*over) {
		take_all((int)any(cpus), fds);
		usleep(any(3000));
		for (int i = 0; i < MOST_COUNTERS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		usleep(any(50000));
	}
}

static void work_in_steps(uint64_t n)
{
	for (int i = 0; i < 10; i++) {
		work(n / 10);
		usleep(100);
	}
}

static bool measures(int fd, pid_t pid)
{
	return fd >= 0 && !set_pmc(fd, 0, COUNTER, PROGRAM) && !set_pmd(fd, 0, COUNTER, 0) && !load(fd, pid) &&
	       !pfm_start(fd, NULL);
}

static void audit(struct books *books, int fd, uint64_t n)
{
	pfarg_setinfo_t info = { .set_id = 0 };
	pfarg_pmd_t pmd = { .reg_num = COUNTER };
	int err = pfm_read_pmds(fd, &pmd, 1) ? errno : 0;

	if ((err && err != EBUSY) || pfm_getinfo_evtsets(fd, &info, 1))
		return;
	books->accounts++;
	books->told += err == EBUSY;
	if (books->wrong[0] || (err ? info.set_blind > 0 : pmd.reg_value >= n))
		return;
	snprintf(books->wrong, sizeof(books->wrong), "%llu of %llu counted, error %d, blind for %llu of %llu ns",
		 (unsigned long long)pmd.reg_value, (unsigned long long)n, err, (unsigned long long)info.set_blind,
		 (unsigned long long)info.set_act_duration);
}

static void keep_books(struct books *books, any_fn *any, const volatile int *over)
{
	while (!*over) {
		uint64_t n = 10000 + 20 * any(10000);
		struct child c = child_new(work_in_steps, n);
		int fd = new_context(any(2) ? PFM_FL_INHERIT : 0);
		bool measured = measures(fd, c.pid);

		child_go(&c);
		if (!child_end(&c) && measured)
			audit(books, fd, n);
		close(fd);
	}
}

#endif
