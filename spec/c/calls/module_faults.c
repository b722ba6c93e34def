// SPDX-License-Identifier: MIT
/*
 * module_faults.c - lets perfmon.ko's ioctls, and libperfmon's allocations, fail one after the
 * other for want of memory while the machine is opened. Each failure is reported, nothing is freed
 * twice, no other machine is taken instead, and the next attempt succeeds. open() and ioctl() are
 * wrapped by the linker: this program plays /dev/perfmon. Prints how many calls were made to fail.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "linux/abi/perfmon_ioctl.h"

#define NUM_REGS 3

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long cmd, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long cmd, ...);

static int fake = -1, version = PFM_IOC_ABI;
static long calls, fail_call = -1;
static int fail_with;

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (strcmp(path, PFM_DEVICE))
		return __real_open(path, flags, mode);
	fake = __real_open("/dev/null", flags);
	return fake;
}

static int getinfo(pfarg_reginfo_t *info)
{
	info->reg_kind = PFM_REG_I | PFM_REG_C64;
	snprintf(info->reg_name, sizeof(info->reg_name), "R%u", info->reg_num);
	return 0;
}

static int get_config(pfarg_config_t *cfg)
{
	*cfg = (pfarg_config_t){ .cf_counter_width = 48, .cf_pmu = "fake",
				 .cf_impl_pmcs = { (1 << NUM_REGS) - 1 }, .cf_impl_pmds = { (1 << NUM_REGS) - 1 } };
	return 0;
}

static int explain(struct pfm_ioc_why *why)
{
	snprintf(why->text, sizeof(why->text), "the kernel's reason");
	return 0;
}

static int answer(unsigned int nr, void *arg)
{
	switch (nr) {
	case PFM_NR_ABI:
		return version;
	case PFM_NR_GET_CONFIG:
		return get_config(arg);
	case PFM_NR_GETINFO_PMCS:
	case PFM_NR_GETINFO_PMDS:
		return getinfo(arg);
	}
	errno = ENOTTY;
	return -1;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (fd != fake)
		return __real_ioctl(fd, cmd, arg);
	if (_IOC_NR(cmd) == PFM_NR_EXPLAIN)
		return explain(arg);
	if (calls++ == fail_call) {
		errno = fail_with;
		return -1;
	}
	return answer(_IOC_NR(cmd), arg);
}

/* --- what must be reported ------------------------------------------------------------------ */

static void check_refused(int ret, int err, const char *what)
{
	CHECK(ret == -1 && errno == err, "%s: %d, errno %d, not %d", what, ret, errno, err);
	CHECK(!!strstr(pfm_explain(), "version than") == (err == ENODEV), "%s: %s", what, pfm_explain());
}

/* Opens the machine twice, by its name and as the default, each time with the nth call failing. */
static void fails(int err, void (*prepare)(long), long nth)
{
	pfm_machine_info_t info;

	prepare(nth);
	check_refused(pfm_set_machine("linux", ""), err, "pfm_set_machine");
	prepare(nth);
	check_refused(pfm_get_machine(&info), err, "pfm_get_machine");
	prepare(-1);
}

static void fail_ioctl(long nth)
{
	calls = 0;
	fail_call = nth;
}

static void speak_otherwise(long nth)
{
	version = nth < 0 ? PFM_IOC_ABI : 77;
}

int main(void)
{
	static const int errors[] = { ENOMEM, EFAULT };
	const long num_calls = 2 + 2 * NUM_REGS;
	long n, before = alloc_live;
	pfm_machine_info_t info;

	unsetenv("LPFM_MACHINE");
	for (unsigned int i = 0; i < COUNT(errors); i++)
		for (n = 1; n < num_calls; n++) {
			fail_with = errors[i];
			fails(errors[i], fail_ioctl, n);
		}
	for (n = 0; n < 2; n++)
		fails(ENOMEM, alloc_fail_at, n);
	speak_otherwise(0);
	check_refused(pfm_set_machine("linux", ""), ENODEV, "another version");
	speak_otherwise(-1);
	CHECK(alloc_live <= before, "%ld allocations are left", alloc_live - before);
	CHECK(!pfm_get_machine(&info) && !strcmp(info.name, "linux"), "it does not open: %s", pfm_explain());
	printf("%ld ioctls and 2 allocations failed\n", num_calls);
	return 0;
}
