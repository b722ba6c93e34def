// SPDX-License-Identifier: MIT
/*
 * modules.c - the kernel loads formats and PMU descriptions on demand; they stay while they are
 * used, and can be unloaded after that; also under load, again and again.
 *
 *   modules [SECONDS [SEED]]
 */
#include <sys/stat.h>
#include <time.h>

#include "module_list.h"
#include "perfmon/perfmon_nway_smpl.h"

#ifdef __aarch64__
#define DESCRIPTION	"perfmon_armv8"
#else
#define DESCRIPTION	"perfmon_x86"
#endif
#define FORMATS		"/sys/kernel/perfmon/formats/"
#define TALLY_SIZE	(PFM_MAX_PMDS * sizeof(uint64_t))

static bool is_loaded(const char *module)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !stat(path, &st);
}

static int unload(const char *module)
{
	return (int)syscall(SYS_delete_module, module, O_NONBLOCK);
}

static void absent(const char *module)
{
	int err = is_loaded(module) && unload(module) ? errno : 0;

	check(!err || err == ENOENT, "%s cannot be removed: %s", module, strerror(err));
}

/* Returns the contents of a file, without the newline. */
static const char *contents(const char *path)
{
	static char text[128];
	FILE *f = fopen(path, "r");

	text[0] = 0;
	if (f && fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = 0;
	if (f)
		fclose(f);
	return text;
}

static void holds(const char *path, const char *want)
{
	struct stat st;

	check(!stat(path, &st) && (st.st_mode & 0777) == 0444, "%s: not there, or not for all to read", path);
	check(!strcmp(contents(path), want), "%s: \"%s\", not \"%s\"", path, contents(path), want);
}

static int with_format(const char *name, void *arg, size_t size)
{
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, name, arg, size);
}

static int with_default(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 8192 };

	return with_format("default", &arg, sizeof(arg));
}

static int with_nway(void)
{
	pfm_nway_smpl_arg_t arg = { .buf_size = 16384, .num_regions = 2 };

	return with_format(PFM_NWAY_SMPL_NAME, &arg, sizeof(arg));
}

static int with_tally(void)
{
	return with_format("tally", NULL, 0);
}

static int by_uuid(void)
{
	pfm_default_smpl_arg_t arg = { .buf_size = 8192 };
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_DEFAULT_SMPL_UUID };

	return pfm_create_context(&ctx, &arg, sizeof(arg));
}

/* Unloads the formats that tests before this one may have loaded. */
static void no_formats(void)
{
	EQUAL(unload_unused(FORMAT_MODULES), 0);
}

/* --- formats ---------------------------------------------------------------------------------- */

static void formats_come_when_wanted(void)
{
	int fd;

	no_formats();
	MUST(fd = with_default());
	TRUE(is_loaded("perfmon_dfl_smpl") && !is_loaded("perfmon_nway_smpl"));
	close(fd);
	absent("perfmon_dfl_smpl");
	MUST(fd = by_uuid());
	TRUE(is_loaded("perfmon_dfl_smpl"));
	close(fd);
	absent("perfmon_dfl_smpl");
	MUST(fd = with_nway());		/* n-way uses the default format's module */
	TRUE(is_loaded("perfmon_dfl_smpl") && is_loaded("perfmon_nway_smpl"));
	close(fd);
	FAILS(with_format("nobody's", NULL, 0), EINVAL);
	FAILS(with_format("nobodys", NULL, 0), EINVAL);
}

static void formats_are_told_of(void)
{
	int fd;

	MUST(fd = with_nway());
	close(fd);
	holds(FORMATS "default/version", "1.0");
	holds(FORMATS "default/uuid", "d139b29e-62e8-40e4-b402-73078792e937");
	holds(FORMATS "default-0.6/version", "2.0");
	holds(FORMATS "default-0.6/uuid", "4d72bec0-0664-4143-82b4-d3fd27243c97");
	holds(FORMATS "n-way/uuid", "7e0c35a6-1b92-4d5f-9a60-4e2dc813f07b");
	no_formats();
	TRUE(access(FORMATS "default", F_OK) && access(FORMATS "n-way", F_OK) && !access(FORMATS, F_OK));
}

/*
 * kmod's modprobe loads all formats with perfmon.ko (softdep), for programs that list them;
 * busybox's ignores it.
 */
static void formats_come_by_one_name(void)
{
	EQUAL(system("tr '\\0' '\\n' </lib/modules/$(uname -r)/extra/perfmon.ko | "
		     "grep -q '^softdep=post: perfmon-fmt$'"), 0);
	EQUAL(system("modprobe perfmon-fmt"), 0);
	TRUE(!access(FORMATS "default", F_OK) && !access(FORMATS "n-way", F_OK) && !access(FORMATS "oprofile", F_OK));
	no_formats();
}

static void a_format_in_use_stays(void)
{
	int fd, copy;

	MUST(fd = with_default());
	FAILS(unload("perfmon_dfl_smpl"), EWOULDBLOCK);
	FAILS(unload("perfmon"), EWOULDBLOCK);
	MUST(copy = dup(fd));
	close(fd);
	FAILS(unload("perfmon_dfl_smpl"), EWOULDBLOCK);
	close(copy);
	EQUAL(unload("perfmon_dfl_smpl"), 0);
	/* a context that could not be created does not hold the module */
	FAILS(with_format("default", NULL, 0), EINVAL);
	TRUE(is_loaded("perfmon_dfl_smpl"));
	EQUAL(unload("perfmon_dfl_smpl"), 0);
}

/* A format may be in a module that is not part of perfmon. */
static void a_format_from_elsewhere(void)
{
	const uint64_t *tally;
	int fd;

	absent("perfmon_tally");
	MUST(fd = with_tally());
	holds(FORMATS "tally/version", "1.2");
	holds(FORMATS "tally/uuid", "3b0e558d-4c21-4f9e-8a6d-90c7125bee04");
	FAILS(unload("perfmon_tally"), EWOULDBLOCK);
	tally = mmap(NULL, TALLY_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(tally != MAP_FAILED);
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(load(fd, my_tid()));
	MUST(set_period(fd, 0, FAULTS, 10, 0));
	MUST(pfm_start(fd, NULL));
	fault(1);
	MUST(pfm_stop(fd));
	MUST(set_period(fd, 0, FAULTS, 10, 0));
	MUST(pfm_start(fd, NULL));
	fault(1009);
	MUST(pfm_stop(fd));
	EQUAL(tally[FAULTS], 100);
	EQUAL(get_pmd(fd, 0, FAULTS), -1ULL);
	(munmap)((void *)tally, TALLY_SIZE);
	close(fd);
	EQUAL(unload("perfmon_tally"), 0);
	TRUE(access(FORMATS "tally", F_OK));
}

/* --- the PMU's description -------------------------------------------------------------------- */

#define PMU		"/sys/kernel/perfmon/pmu_desc/"

static bool device_has_pmc(int num)
{
	pfarg_pmcinfo_t info = { .reg_num = num };

	return !pfm_getinfo_pmcs(&info, 1);
}

static void one_mapping(FILE *file, const char *kind, const pfarg_reginfo_t *info)
{
	char line[200] = "", want[200];

	snprintf(want, sizeof(want), "%s%u:0x%llx:0x%llx:%s\n", kind, info->reg_num,
		 (unsigned long long)info->reg_def_value, ~(unsigned long long)info->reg_rsvd_mask, info->reg_name);
	TRUE(fgets(line, sizeof(line), file));
	TRUE(!strcmp(line, want));
}

/* Lists all registers and no more, in sysfs and in the historical file in /proc. */
static void the_mapping_says_what_getinfo_says(void)
{
	static const char *const files[] = { PMU "mappings", "/proc/perfmon_map" };

	for (int f = 0; f < 2; f++) {
		FILE *file = fopen(files[f], "r");
		pfarg_reginfo_t info;

		TRUE(file);
		for (int num = 0; file && num < 2 * PFM_MAX_PMDS; num++) {
			bool pmd = num >= PFM_MAX_PMDS;

			memset(&info, 0, sizeof(info));
			info.reg_num = (uint16_t)(num % PFM_MAX_PMDS);
			if (!(pmd ? pfm_getinfo_pmds(&info, 1) : pfm_getinfo_pmcs(&info, 1)))
				one_mapping(file, pmd ? "PMD" : "PMC", &info);
		}
		TRUE(file && fgetc(file) == EOF);
		if (file)
			fclose(file);
	}
}

/*
 * The first use of the registers loads the processor's description; if there is none, that is no
 * error.
 */
static void a_description_comes_when_wanted(void)
{
	bool has = device_has_pmc(0);

	EQUAL(has, is_loaded(DESCRIPTION));
	EQUAL(has, !access(PMU "pmc0/name", R_OK));
	EQUAL(has, !!strcmp(contents(PMU "model"), "software counters"));
	TRUE(device_has_pmc(FAULTS) && !access(PMU "pmd66/name", R_OK));
	the_mapping_says_what_getinfo_says();
	if (!has) {
		TRUE(system("modprobe " DESCRIPTION " 2>/dev/null") != 0);
		return;
	}
	EQUAL(unload(DESCRIPTION), 0);
	TRUE(access(PMU "pmc0", F_OK) && !access(PMU "pmc66", F_OK));
	holds(PMU "model", "software counters");
	TRUE(device_has_pmc(0) && is_loaded(DESCRIPTION));
}

/* A request for a module that failed, perhaps for lack of memory, is made again after a while. */
static void a_failed_request_is_made_again(void)
{
	bool came = false;

	absent(DESCRIPTION);
	EQUAL(system("echo /bin/false >/proc/sys/kernel/modprobe"), 0);
	TRUE(!device_has_pmc(0));
	EQUAL(system("echo /bin/modprobe >/proc/sys/kernel/modprobe"), 0);
	for (int ms = 0; ms < 10000 && !came; ms++) {
		came = device_has_pmc(0);
		usleep(1000);
	}
	TRUE(came);
}

static void contexts_keep_the_pmu_they_began_with(void)
{
	int fd, old;

	if (!device_has_pmc(0))
		return;
	MUST(fd = new_context(0));
	FAILS(unload(DESCRIPTION), EWOULDBLOCK);
	close(fd);
	EQUAL(unload(DESCRIPTION), 0);
	/* the description cannot be loaded now */
	EQUAL(system("echo /bin/false >/proc/sys/kernel/modprobe"), 0);
	MUST(old = new_context(0));
	EQUAL(system("echo /bin/modprobe >/proc/sys/kernel/modprobe"), 0);
	EQUAL(system("modprobe " DESCRIPTION), 0);
	TRUE(device_has_pmc(0));
	FAILS(set_pmc(old, 0, 0, USER | INST), EINVAL);
	MUST(set_pmc(old, 0, FAULTS, SW_USER));
	MUST(load(old, my_tid()));
	EQUAL(unload(DESCRIPTION), 0);		/* the context does not use the description */
	MUST(pfm_start(old, NULL));
	fault(100);
	MUST(pfm_stop(old));
	TRUE(get_pmd(old, 0, FAULTS) >= 100);
	close(old);
	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	close(fd);
}

/*
 * Four processes create contexts while the format's module is being loaded: each gets its context.
 */
static void all_that_ask_at_once_get_it(void)
{
	pid_t pids[4];
	int begin[2], status;

	absent("perfmon_slow");
	MUST(pipe(begin));
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		close(begin[1]);
		TRUE(!read(begin[0], &status, 1));	/* returns at the parent's close */
		_exit(with_format("slow", NULL, 0) < 0);
	}
	close(begin[0]);
	close(begin[1]);
	for (int i = 0; i < 4; i++) {
		waitpid(pids[i], &status, 0);
		check(!status, "process %d: status %d", i, status);
	}
	absent("perfmon_slow");
}

/* --- all at once ------------------------------------------------------------------------------ */

#define WORKERS 4
#define PATIENCE 60	/* seconds */

static uint64_t state;

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % below;
}

static struct {
	uint64_t	made[WORKERS], refused[WORKERS];
	char		why[sizeof(test_why)];
	/*
	 * how often the workers' pauses are doubled: on a slow kernel, a module would hardly ever
	 * be unused
	 */
	volatile unsigned int calm;
} *shared;

/* Samples with the format for a while; after a stop the count must not change. */
static void use(int fd)
{
	uint64_t before, n = 20 + any(100);

	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	if (any(2))
		set_pmc(fd, 0, 0, USER | INST);	/* refused while the description is not loaded */
	MUST(set_period(fd, 0, FAULTS, 2 + any(20), 0));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	fault(n);
	MUST(pfm_stop(fd));
	before = get_pmd(fd, 0, FAULTS);
	fault(10);
	EQUAL(get_pmd(fd, 0, FAULTS), before);
	if (any(2))
		MUST(pfm_unload_context(fd));
}

static int any_context(void)
{
	switch (any(5)) {
	case 0: return with_default();
	case 1: return with_nway();
	case 2: return with_tally();
	case 3: return by_uuid();
	default: return new_context(0);
	}
}

/*
 * Creates contexts and uses them. EINVAL is accepted, since a format may be about to be unloaded.
 */
static void worker(int n, uint64_t seed)
{
	state = seed * 100 + (uint64_t)n;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = any_context();

		if (fd < 0 && errno != EINVAL)
			check(false, "a context: %s (%s)", strerror(errno), pfm_explain());
		else if (fd < 0)
			shared->refused[n]++;
		else
			shared->made[n]++, use(fd);
		close(fd);
		if (test_failed)
			snprintf(shared->why, sizeof(shared->why), "%s", test_why);
		test_failed = false;
		usleep(any(8000U << shared->calm));
	}
}

static unsigned int seconds = 3;
static uint64_t seed = 1;

static const char *const modules[] = { "perfmon_tally", "perfmon_nway_smpl", "perfmon_dfl_smpl", DESCRIPTION };
static uint64_t gone[4], stayed;

static void unload_one(void)
{
	unsigned int i = any(4);

	if (i == 2)
		unload(modules[1]);	/* this module depends on modules[2] */
	if (!unload(modules[i]))
		gone[i]++;
	else
		stayed += errno == EWOULDBLOCK;
}

static pid_t new_worker(int n)
{
	pid_t pid = fork();

	if (!pid)
		worker(n, seed);
	seed++;
	return pid;
}

static void end_worker(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool all_went(void)
{
	return gone[0] > 1 && gone[1] > 1 && gone[2] > 1 && stayed > 1;
}

/*
 * Runs for so many seconds, and then until each kind of module was unloaded twice, or for PATIENCE.
 */
static void modules_come_and_go_under_load(void)
{
	struct timespec from, now;
	uint64_t made = 0, refused = 0;
	pid_t pids[WORKERS];

	shared = (mmap)(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	state = seed;
	for (int i = 0; i < WORKERS; i++)
		pids[i] = new_worker(i);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		if (!any(5))
			device_has_pmc(0);
		unload_one();
		if (!any(10)) {
			unsigned int n = any(WORKERS);

			end_worker(pids[n]);
			pids[n] = new_worker((int)n);
		}
		usleep(500 + any(3000));
		clock_gettime(CLOCK_MONOTONIC, &now);
		shared->calm = (unsigned int)(now.tv_sec - from.tv_sec) / (PATIENCE / 6);
	} while (now.tv_sec - from.tv_sec < seconds || (now.tv_sec - from.tv_sec < PATIENCE && !all_went()));
	for (int i = 0; i < WORKERS; i++) {
		end_worker(pids[i]);
		made += shared->made[i];
		refused += shared->refused[i];
	}
	printf("# %llu contexts, %llu refused; removed %llu, %llu, %llu, %llu times, kept %llu times\n",
	       (unsigned long long)made, (unsigned long long)refused, (unsigned long long)gone[0],
	       (unsigned long long)gone[1], (unsigned long long)gone[2], (unsigned long long)gone[3],
	       (unsigned long long)stayed);
	check(!shared->why[0], "%s", shared->why);
	TRUE(made > 0 && all_went());
}

/* Waits for modprobes that the kernel started for workers, and that outlive a killed worker. */
static bool modprobes_end(void)
{
	for (int ms = 0; ms < 10000; ms++) {
		if (system("pidof modprobe >/dev/null"))
			return true;
		usleep(1000);
	}
	return false;
}

static void nothing_is_left(void)
{
	TRUE(modprobes_end());
	absent("perfmon_tally");
	no_formats();
	absent(DESCRIPTION);
	TRUE(!is_loaded("perfmon_dfl_smpl") && !is_loaded(DESCRIPTION) && is_loaded("perfmon"));
	EQUAL(system("ls " FORMATS " | grep -q ."), 256);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seconds = (unsigned int)atoi(argv[1]);
	if (argc > 2)
		seed = (uint64_t)atoll(argv[2]);
	fault(1);
	TEST(formats_come_when_wanted);
	TEST(formats_are_told_of);
	TEST(formats_come_by_one_name);
	TEST(a_format_in_use_stays);
	TEST(a_format_from_elsewhere);
	TEST(a_description_comes_when_wanted);
	TEST(a_failed_request_is_made_again);
	TEST(contexts_keep_the_pmu_they_began_with);
	TEST(all_that_ask_at_once_get_it);
	TEST(modules_come_and_go_under_load);
	TEST(nothing_is_left);
	return tests_failed > 0;
}
