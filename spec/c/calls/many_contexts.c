// SPDX-License-Identifier: MIT
/*
 * many_contexts.c - creates, loads, starts and closes argv[1] contexts with a sampling buffer, one
 * after the other. Prints how many descriptors are open, and how many KiB are mapped, before and
 * after: "fds A B kib C D".
 */
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "../parts.h"

static void one(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 65536 };
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pc[2] = { { .reg_num = 65, .reg_value = 9 }, { .reg_num = 66, .reg_value = 9 } };
	pfarg_pmd_t pd = { .reg_num = 65, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -1000000ULL,
			   .reg_long_reset = -1000000ULL, .reg_short_reset = -1000000ULL };
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	int fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
	void *buf;

	if (fd < 0)
		DIE("pfm_create_context");
	buf = mmap(NULL, ctx.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);
	if (buf == MAP_FAILED)
		DIE("mmap");
	if (pfm_write_pmcs(fd, pc, 2) || pfm_write_pmds(fd, &pd, 1) || pfm_load_context(fd, &load) ||
	    pfm_start(fd, NULL))
		DIE("session");
	munmap(buf, ctx.ctx_smpl_buf_size);
	close(fd);
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long mapped_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!f || fscanf(f, "%ld", &pages) != 1)
		exit(1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Returns how many descriptors are open, after waiting for the service thread to close its own. */
static int settled_fds(int expected)
{
	int fds;

	for (int i = 0; (fds = count_fds()) > expected && i < 10000; i++)
		usleep(1000);
	return fds;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1000, before = count_fds(), fds;
	long kib;

	one();				/* starts the service thread, too */
	fds = settled_fds(before + 1);
	for (int i = 0; i < 50; i++)
		one();
	kib = mapped_kib();
	for (int i = 0; i < times; i++)
		one();
	printf("fds %d %d kib %ld %ld\n", fds, settled_fds(fds), kib, mapped_kib());
	return 0;
}
