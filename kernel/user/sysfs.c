// SPDX-License-Identifier: MIT
/*
 * sysfs.c - the files of /sys/kernel/perfmon for programs on the machines in user space, with the
 * same contents as those of perfmon.ko: configuration and sessions, pmu_desc/, formats/. A file is
 * made when it is opened, and can only be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "interpose.h"
#include "user.h"

#define ROOT	"/sys/kernel/perfmon"
#define LINE	160

/* --- texts: functions that return false if there is no such file ------------------------------ */

static bool put(int fd, const char *format, ...)
{
	char text[LINE];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return pfm_file_may_have((uint64_t)(lseek(fd, 0, SEEK_CUR) + n)) && write(fd, text, (size_t)n) == n;
}

static bool put_number(int fd, const char *name)
{
	pfarg_config_t c;

	if (pfm_get_config(&c))
		return false;
	const struct {
		const char	*name;
		long long	value;
	} numbers[] = {
		{ "task_sessions_count", (long long)c.cf_thread_sessions },
		{ "sys_sessions_count", (long long)c.cf_sys_sessions },
		{ "smpl_buffer_mem_cur", (long long)c.cf_smpl_buf_size_cur },
		{ "ovfl_rate_max", (long long)c.cf_ovfl_rate_max },
		{ "arg_mem_max", (long long)c.cf_arg_size_max },
		{ "sys_group", c.cf_sys_gid == PFM_GROUP_ANY ? -1 : (long long)c.cf_sys_gid },
		{ "task_group", c.cf_thread_gid == PFM_GROUP_ANY ? -1 : (long long)c.cf_thread_gid },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(name, numbers[i].name))
			return put(fd, "%lld\n", numbers[i].value);
	if (!strcmp(name, "smpl_buffer_mem_max"))	/* 2^64 - 1 means that there is no limit */
		return put(fd, "%llu\n", (unsigned long long)c.cf_smpl_buf_size_max);
	return !strcmp(name, "version") && put(fd, "%u.%u\n", PFM_VERSION_MAJ, PFM_VERSION_MIN);
}

static bool put_mappings(int fd, const char *kind, int (*info)(pfarg_reginfo_t *regs, int n), unsigned int max)
{
	for (unsigned int i = 0; i < max; i++) {
		pfarg_reginfo_t r = { .reg_num = (uint16_t)i };

		if (!info(&r, 1) && !put(fd, "%s%u:0x%llx:0x%llx:%s\n", kind, i, (unsigned long long)r.reg_def_value,
					 ~(unsigned long long)r.reg_rsvd_mask, r.reg_name))
			return false;
	}
	return true;
}

static bool put_register(int fd, const char *path)
{
	pfarg_reginfo_t r = { 0 };
	unsigned long num;
	char *name;

	if ((strncmp(path, "pmc", 3) != 0 && strncmp(path, "pmd", 3) != 0) || path[3] < '0' || path[3] > '9')
		return false;
	num = strtoul(path + 3, &name, 10);
	r.reg_num = (uint16_t)num;
	if (num >= PFM_MAX_PMCS || *name++ != '/' || (path[2] == 'c' ? pfm_getinfo_pmcs : pfm_getinfo_pmds)(&r, 1))
		return false;
	if (!strcmp(name, "name"))
		return put(fd, "%s\n", r.reg_name);
	if (!strcmp(name, "dfl_val"))
		return put(fd, "0x%llx\n", (unsigned long long)r.reg_def_value);
	if (!strcmp(name, "rsvd_msk"))
		return put(fd, "0x%llx\n", (unsigned long long)r.reg_rsvd_mask);
	if (!strcmp(name, "width"))
		return put(fd, "%d\n", r.reg_width ? r.reg_width : 64);
	return !strcmp(name, "addr") && put(fd, "0x%llx\n", (unsigned long long)r.reg_index);
}

static bool put_description(int fd, const char *path)
{
	pfarg_config_t c;

	if (!strcmp(path, "model"))
		return !pfm_get_config(&c) && put(fd, "%s\n", c.cf_pmu);
	if (!strcmp(path, "mappings"))
		return put_mappings(fd, "PMC", pfm_getinfo_pmcs, PFM_MAX_PMCS) &&
		       put_mappings(fd, "PMD", pfm_getinfo_pmds, PFM_MAX_PMDS);
	return put_register(fd, path);
}

static bool put_uuid(int fd, const unsigned char *u)
{
	return put(fd, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", u[0], u[1], u[2], u[3],
		   u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

/* The version is printed without a newline, as in perfmon 2.x. */
static bool put_format(int fd, const char *path)
{
	const char *file = strrchr(path, '/');
	pfarg_fmtinfo_t formats[64];
	size_t n_name = file ? (size_t)(file - path) : 0;
	int n = pfm_getinfo_fmts(formats, 64);

	for (int i = 0; file && i < n && i < 64; i++) {
		const pfarg_fmtinfo_t *f = &formats[i];

		if (strlen(f->fmt_name) != n_name || strncmp(path, f->fmt_name, n_name) != 0)
			continue;
		if (!strcmp(file, "/version"))
			return put(fd, "%u.%u", PFM_VERSION_MAJOR(f->fmt_version), PFM_VERSION_MINOR(f->fmt_version));
		return !strcmp(file, "/uuid") && put_uuid(fd, f->fmt_uuid);
	}
	return false;
}

static bool put_file(int fd, const char *path)
{
	if (!strncmp(path, "/pmu_desc/", 10))
		return put_description(fd, path + 10);
	if (!strncmp(path, "/formats/", 9))
		return put_format(fd, path + 9);
	return *path == '/' && put_number(fd, path + 1);
}

/* --- files ----------------------------------------------------------------------------------- */

static bool make(int fd, const char *path)
{
	return put_file(fd, path + strlen(ROOT)) && !lseek(fd, 0, SEEK_SET) &&
	       !fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

/*
 * Returns true if path is below /sys/kernel/perfmon and perfmon.ko is not loaded. If it is loaded,
 * only its own files exist.
 */
static bool is_ours(const char *path)
{
	return !strncmp(path, ROOT "/", strlen(ROOT "/")) && syscall(SYS_faccessat, AT_FDCWD, ROOT, F_OK);
}

int pfm_sysfs_open(const char *path, int flags)
{
	int fd;

	errno = ENOENT;
	if (!is_ours(path))
		return -1;
	fd = memfd_create("perfmon", MFD_ALLOW_SEALING | (flags & O_CLOEXEC ? MFD_CLOEXEC : 0));
	if (fd < 0)
		return -1;
	if (!make(fd, path)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	if ((flags & O_ACCMODE) == O_RDONLY)
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

/* A folder exists if one of its files does. */
int pfm_sysfs_access(const char *path, int mode)
{
	static const char *const within[] = { "", "/version", "/name", "/model", "/default/version" };

	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++) {
		char file[LINE];
		int fd;

		if ((size_t)snprintf(file, sizeof(file), "%s%s", path, within[i]) >= sizeof(file))
			break;
		fd = pfm_sysfs_open(file, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return -1;
		if (fd < 0)
			continue;
		close(fd);
		if (!(mode & W_OK) && (i || !(mode & X_OK)))
			return 0;
		errno = EACCES;
		return -1;
	}
	errno = ENOENT;
	return -1;
}
