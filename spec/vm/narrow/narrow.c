// SPDX-License-Identifier: MIT
/*
 * narrow.c - a 32-bit program on a 64-bit kernel: structures and calls are the same. It uses no
 * shared libraries, since the machine has only 64-bit ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PFM_NO_MMAP_REDIRECT
#include "linux/abi/perfmon_ioctl.h"
#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"

#define FAULTS	66
#define SW_USER	0x8
#define PAGES	64
#define PERIOD	10

_Static_assert(sizeof(void *) == 4, "this is to be compiled for 32 bits");

static char pages[(PAGES + 1) * 65536];
static int device;

static int create(const char *format, void *arg, size_t size)
{
	pfarg_ctx_t ctx = { 0 };
	struct pfm_ioc_create req = { .ctx = (uintptr_t)&ctx, .fmt_arg = (uintptr_t)arg, .arg_size = size };

	if (format) {
		req.flags = PFM_IOC_BY_NAME;
		strcpy(req.fmt_name, format);
	}
	return ioctl(device, PFM_IOC(PFM_NR_CREATE_CONTEXT, 0), &req);
}

static int program(int fd, uint64_t period)
{
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = SW_USER };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_value = -period, .reg_long_reset = -period,
			    .reg_short_reset = -period };
	pfarg_load_t load = { .load_pid = (uint32_t)getpid() };

	if (ioctl(fd, PFM_IOC(PFM_NR_WRITE_PMCS, 1), &pmc) || ioctl(fd, PFM_IOC(PFM_NR_WRITE_PMDS, 1), &pmd))
		return -1;
	return ioctl(fd, PFM_IOC(PFM_NR_LOAD_CONTEXT, 0), &load) || ioctl(fd, PFM_IOC(PFM_NR_START, 0), NULL) ? -1 : 0;
}

static void fault(int from, int n)
{
	for (int i = from; i < from + n; i++)
		((volatile char *)pages)[i * 65536] = 1;
}

static const char *counts(void)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS };
	int fd = create(NULL, NULL, 0);

	fault(0, 1);		/* so that the code causes no page faults later */
	if (fd < 0 || program(fd, 0))
		return strerror(errno);
	fault(1, PAGES / 2);
	if (ioctl(fd, PFM_IOC(PFM_NR_READ_PMDS, 1), &pmd) || ioctl(fd, PFM_IOC(PFM_NR_STOP, 0), NULL))
		return strerror(errno);
	close(fd);
	return pmd.reg_value == PAGES / 2 ? NULL : "the count is wrong";
}

/* Fields of the buffer's header have 64 bits, also where the program's words have 32. */
static const char *samples(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 16384 };
	pfm_dfl_smpl_hdr_t *hdr;
	int fd = create("default", &arg, sizeof(arg));

	if (fd < 0)
		return strerror(errno);
	hdr = mmap(NULL, 16384, PROT_READ, MAP_SHARED, fd, 0);
	if (hdr == MAP_FAILED || program(fd, PERIOD))
		return strerror(errno);
	fault(PAGES / 2 + 1, PAGES / 2);
	if (ioctl(fd, PFM_IOC(PFM_NR_STOP, 0), NULL))
		return strerror(errno);
	if (hdr->hdr_count != PAGES / 2 / PERIOD)
		return "the number of samples is wrong";
	close(fd);
	return NULL;
}

static int tell(const char *name, const char *why)
{
	printf(why ? "not ok %s: %s\n" : "ok %s\n", name, why);
	return !!why;
}

int main(void)
{
	int bad;

	device = open(PFM_DEVICE, O_RDWR);
	if (device < 0)
		return tell("a_32_bit_program", strerror(errno));
	bad = tell("a_32_bit_program_counts", counts());
	return tell("a_32_bit_program_samples", samples()) | bad;
}
