// SPDX-License-Identifier: MIT
/*
 * sysfs_files.c - /sys/kernel/perfmon on machines in user space, as programs for perfmon2 read it:
 * each file by open(2), open64(2), fopen(3) and fopen64(3), against what the calls say. Silent
 * where all is well.
 */
#include <fcntl.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

#define ROOT "/sys/kernel/perfmon/"
static char want[256], path[256];

static void same(const char *text, size_t n)
{
	if (n == strlen(want) && !memcmp(text, want, n))
		return;
	printf("%s: \"%.*s\" instead of \"%s\"\n", path, (int)n, text, want);
	exit(1);
}

static void by_descriptor(int fd)
{
	char text[sizeof(want)];

	REQUIRE(fd >= 0);
	same(text, (size_t)read(fd, text, sizeof(text)));
	REQUIRE(write(fd, "1", 1) == -1);
	REQUIRE(!close(fd));
}

static void by_stream(FILE *file)
{
	char text[sizeof(want)];

	REQUIRE(file);
	same(text, fread(text, 1, sizeof(text), file));
	REQUIRE(!fclose(file));
}

/* Checks that `want` is in the file. */
static void has(const char *name)
{
	snprintf(path, sizeof(path), ROOT "%s", name);
	by_descriptor(open(path, O_RDONLY));
	by_descriptor(open64(path, O_RDONLY | O_CLOEXEC));
	by_stream(fopen(path, "r"));
	by_stream(fopen64(path, "re"));
	REQUIRE(!access(path, F_OK) && !access(path, R_OK));
	REQUIRE(access(path, W_OK) == -1 && errno == EACCES);
	REQUIRE(open(path, O_RDWR) == -1 && errno == EACCES);
	REQUIRE(!fopen(path, "r+") && errno == EACCES);
}

#define HAS(name, ...) do { snprintf(want, sizeof(want), __VA_ARGS__); has(name); } while (0)

static void has_not(const char *name)
{
	snprintf(path, sizeof(path), "%s", name);
	REQUIRE(open(path, O_RDONLY) == -1 && errno == ENOENT);
	REQUIRE(!fopen(path, "r") && errno == ENOENT);
	REQUIRE(access(path, F_OK) == -1 && errno == ENOENT);
}

static void folder(const char *name)
{
	REQUIRE(!access(name, F_OK) && !access(name, R_OK | X_OK));
	REQUIRE(access(name, W_OK) == -1 && errno == EACCES);
}

static long long group(uint32_t gid)
{
	return gid == PFM_GROUP_ANY ? -1 : (long long)gid;
}

static void configuration(void)
{
	pfarg_config_t c;

	REQUIRE(!pfm_get_config(&c));
	HAS("version", "%u.%u\n", PFM_VERSION_MAJ, PFM_VERSION_MIN);
	HAS("arg_mem_max", "%llu\n", (unsigned long long)c.cf_arg_size_max);
	HAS("smpl_buffer_mem_max", "%llu\n", (unsigned long long)c.cf_smpl_buf_size_max);
	HAS("smpl_buffer_mem_cur", "%llu\n", (unsigned long long)c.cf_smpl_buf_size_cur);
	HAS("task_sessions_count", "%llu\n", (unsigned long long)c.cf_thread_sessions);
	HAS("sys_sessions_count", "%llu\n", (unsigned long long)c.cf_sys_sessions);
	HAS("sys_group", "%lld\n", group(c.cf_sys_gid));
	HAS("task_group", "%lld\n", group(c.cf_thread_gid));
	HAS("ovfl_rate_max", "%llu\n", (unsigned long long)c.cf_ovfl_rate_max);
	HAS("pmu_desc/model", "%s\n", c.cf_pmu);
}

/*
 * Groups have 32 bits. Only a simulated computer's configuration is changed: that of others is
 * all programs'.
 */
static void large_groups(void)
{
	pfm_machine_info_t machine;
	pfarg_config_t c;

	REQUIRE(!pfm_get_machine(&machine) && !pfm_get_config(&c));
	if (strncmp(machine.name, "sim:", 4) != 0 || strstr(machine.name, "live"))
		return;
	c.cf_sys_gid = 3000000000U;
	c.cf_thread_gid = 4294967294U;
	REQUIRE(!pfm_set_config(&c));
	configuration();
}

static void registers(const char *kind, int (*info)(pfarg_reginfo_t *regs, int n), FILE *mappings)
{
	char name[128], line[256];
	int left = 8;		/* registers of this kind with all files compared */

	for (unsigned int i = 0; i < PFM_MAX_PMCS; i++) {
		pfarg_reginfo_t r = { .reg_num = (uint16_t)i };

		snprintf(name, sizeof(name), ROOT "pmu_desc/%s%u/name", kind, i);
		if (info(&r, 1)) {
			has_not(name);
			continue;
		}
		snprintf(want, sizeof(want), "%c%c%c%u:0x%llx:0x%llx:%s\n", kind[0] - 32, kind[1] - 32, kind[2] - 32, i,
			 (unsigned long long)r.reg_def_value, ~(unsigned long long)r.reg_rsvd_mask, r.reg_name);
		snprintf(path, sizeof(path), "mappings");
		REQUIRE(fgets(line, sizeof(line), mappings));
		same(line, strlen(line));
		if (left-- <= 0)
			continue;
		HAS(name + strlen(ROOT), "%s\n", r.reg_name);
		snprintf(name, sizeof(name), "pmu_desc/%s%u/dfl_val", kind, i);
		HAS(name, "0x%llx\n", (unsigned long long)r.reg_def_value);
		snprintf(name, sizeof(name), "pmu_desc/%s%u/rsvd_msk", kind, i);
		HAS(name, "0x%llx\n", (unsigned long long)r.reg_rsvd_mask);
		snprintf(name, sizeof(name), "pmu_desc/%s%u/width", kind, i);
		HAS(name, "%d\n", r.reg_width ? r.reg_width : 64);
		snprintf(name, sizeof(name), "pmu_desc/%s%u/addr", kind, i);
		HAS(name, "0x%llx\n", (unsigned long long)r.reg_index);
		snprintf(name, sizeof(name), ROOT "pmu_desc/%s%u", kind, i);
		folder(name);
	}
}

static void formats(void)
{
	pfarg_fmtinfo_t f[32];
	int n = pfm_getinfo_fmts(f, 32);
	char name[128];

	REQUIRE(n > 0);
	for (int i = 0; i < n; i++) {
		const unsigned char *u = f[i].fmt_uuid;

		snprintf(name, sizeof(name), "formats/%.40s/version", f[i].fmt_name);
		HAS(name, "%u.%u", f[i].fmt_version >> 16, f[i].fmt_version & 0xffff);
		snprintf(name, sizeof(name), "formats/%.40s/uuid", f[i].fmt_name);
		HAS(name, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", u[0], u[1], u[2],
		    u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
		snprintf(name, sizeof(name), ROOT "formats/%.40s", f[i].fmt_name);
		folder(name);
	}
}

int main(void)
{
	pfarg_ctx_t ctx = { 0 };
	FILE *mappings = fopen(ROOT "pmu_desc/mappings", "r");
	int fd;

	REQUIRE(mappings);
	registers("pmc", pfm_getinfo_pmcs, mappings);
	registers("pmd", pfm_getinfo_pmds, mappings);
	REQUIRE(fgetc(mappings) == EOF && !fclose(mappings));
	configuration();
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	REQUIRE(fd >= 0);
	configuration();
	close(fd);
	large_groups();
	formats();
	folder("/sys/kernel/perfmon");
	folder(ROOT "formats");
	folder(ROOT "pmu_desc");
	has_not(ROOT "nothing");
	has_not(ROOT "formats/no-such/version");
	has_not(ROOT "formats/default/size");
	has_not(ROOT "pmu_desc/pmc/name");
	has_not(ROOT "pmu_desc/pmd99999999999/name");
	has_not("/sys/kernel/perfmonster/version");
	has_not("no/such/file");
	/* other files are opened as ever */
	fd = open("sysfs_files.tmp", O_CREAT | O_EXCL | O_WRONLY, 0640);
	REQUIRE(fd >= 0 && !close(fd) && !access("sysfs_files.tmp", W_OK) && !unlink("sysfs_files.tmp"));
	return 0;
}
