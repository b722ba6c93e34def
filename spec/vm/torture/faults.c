// SPDX-License-Identifier: MIT
/*
 * faults.c - the n-th allocation or user copy of every ioctl fails, n = 1, 2, ... until the call
 * gets through: it fails with ENOMEM or EFAULT, and succeeds when it is repeated. An argument at an
 * unmapped address, or that reaches into one, makes a call fail with EFAULT. The kernel needs fault
 * injection (spec/vm/kernel kasan); without it, only the arguments are tested.
 *
 *   faults [loading]		loading: faults in loading the module itself; there are hundreds, which takes minutes
 */
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <time.h>

#include "module_list.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "../../../kernel/linux/abi/perfmon_ioctl.h"

#define SW_KERNEL	0x1
#define ENOUGH		2000		/* more allocations and copies than any call makes */
#define PAGE		4096
#define INJECTORS	"/sys/kernel/debug/"
#define FIT(type)	(PAGE / sizeof(type))	/* elements of the longest vector */
#define ALL(type)	FIT(type), FIT(type) * sizeof(type)

static int nth_fd = -1, device = -1;
static char argument[16 * PAGE] __attribute__((aligned(PAGE)));
static pfarg_ctx_t new_ctx;

/* --- injecting -------------------------------------------------------------------------------- */

static void set_knob(const char *injector, const char *knob, const char *value)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), INJECTORS "%s/%s", injector, knob);
	fd = open(path, O_WRONLY);
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		perror(path);
	close(fd);
}

/* Sets injection up so that allocations that may wait fail, too, and nothing is printed. */
static bool can_inject(void)
{
	static const char *const injectors[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

	for (int i = 0; i < 3; i++) {
		set_knob(injectors[i], "verbose", "0");
		set_knob(injectors[i], "ignore-gfp-wait", "N");
		set_knob(injectors[i], "ignore-gfp-highmem", "N");
		set_knob(injectors[i], "min-order", "0");
	}
	nth_fd = open("/proc/self/fail-nth", O_RDWR);
	return nth_fd >= 0;
}

static void fail_nth(int n)
{
	char text[16];

	if (pwrite(nth_fd, text, (size_t)snprintf(text, sizeof(text), "%d", n), 0) < 0)
		check(false, "cannot inject: %s", strerror(errno));
}

/*
 * Returns true if the fault was injected. pread() copies, too: if only one copy was left, that
 * fails here.
 */
static bool it_struck(void)
{
	char text[16] = "";
	bool struck = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	while (pwrite(nth_fd, "0", 1, 0) < 0)
		;
	return struck;
}

/* --- the calls -------------------------------------------------------------------------------- */

enum stage { ON_DEVICE, NEW, PROGRAMMED, LOADED, STARTED, MASKED };

struct call {
	const char	*name;
	enum pfm_ioc_nr	nr;
	unsigned int	n;		/* elements of a vector */
	size_t		size;		/* bytes of the argument */
	enum stage	stage;
	void		(*fill)(void *arg);
	void		(*before)(void);
};

static void fill_pmcs(void *arg)
{
	pfarg_pmc_t *v = arg;

	for (int i = 0; i < (int)FIT(pfarg_pmc_t); i++)
		v[i] = (pfarg_pmc_t){ .reg_num = FAULTS, .reg_value = SW_USER | SW_KERNEL };
	v[1] = (pfarg_pmc_t){ .reg_num = 0, .reg_value = USER | CYCLES };
}

static void fill_pmds(void *arg)
{
	pfarg_pmd_t *v = arg;

	for (int i = 0; i < (int)FIT(pfarg_pmd_t); i++)
		v[i] = (pfarg_pmd_t){ .reg_num = i % 2 ? 0 : FAULTS, .reg_value = (uint64_t)i };
}

/* Programs an overflow with a notification at the next page fault. */
static void fill_overflow(void *arg)
{
	*(pfarg_pmd_t *)arg = (pfarg_pmd_t){ .reg_num = FAULTS, .reg_flags = PFM_REGFL_OVFL_NOTIFY,
					     .reg_value = -1ULL };
}

static void fill_sets(void *arg)
{
	pfarg_setdesc_t *v = arg;

	for (int i = 0; i < (int)FIT(pfarg_setdesc_t); i++)
		v[i] = (pfarg_setdesc_t){ .set_id = (uint16_t)(1 + i) };
}

static void fill_infos(void *arg)
{
	pfarg_setinfo_t *v = arg;

	for (int i = 0; i < (int)FIT(pfarg_setinfo_t); i++)
		v[i] = (pfarg_setinfo_t){ .set_id = 0 };
}

static void fill_regs(void *arg)
{
	pfarg_reginfo_t *v = arg;

	for (int i = 0; i < (int)FIT(pfarg_reginfo_t); i++)
		v[i] = (pfarg_reginfo_t){ .reg_num = FAULTS };
}

static void fill_load(void *arg)
{
	*(pfarg_load_t *)arg = (pfarg_load_t){ .load_pid = (uint32_t)my_tid() };
}

static void fill_nothing(void *arg)
{
	memset(arg, 0, PAGE);
}

static void fill_config(void *arg)
{
	int err = ioctl(device, PFM_IOC(PFM_NR_GET_CONFIG, 0), arg);

	check(!err, "GET_CONFIG: %s", strerror(errno));
}

static void fill_create(void *arg)
{
	memset(&new_ctx, 0, sizeof(new_ctx));
	*(struct pfm_ioc_create *)arg = (struct pfm_ioc_create){ .ctx = (uintptr_t)&new_ctx };
}

static void fill_by_name(void *arg, const char *name, void *fmt_arg, size_t size)
{
	struct pfm_ioc_create *req = arg;

	fill_create(req);
	req->fmt_arg = (uintptr_t)fmt_arg;
	req->arg_size = size;
	req->flags = PFM_IOC_BY_NAME;
	strcpy(req->fmt_name, name);
}

static void fill_sampler(void *arg)
{
	static pfm_dfl_smpl_arg_t fmt_arg = { .buf_size = 4 * PAGE };

	fill_by_name(arg, "default", &fmt_arg, sizeof(fmt_arg));
}

static void fill_nway(void *arg)
{
	static pfm_nway_smpl_arg_t fmt_arg = { .buf_size = 4 * PAGE, .num_regions = 2 };

	fill_by_name(arg, PFM_NWAY_SMPL_NAME, &fmt_arg, sizeof(fmt_arg));
}

/* Unloads the formats, so that the call must load them again. */
static void without_formats(void)
{
	unload_unused(FORMAT_MODULES);
}

static const struct call calls[] = {
	{ "write_pmcs", PFM_NR_WRITE_PMCS, 2, 2 * sizeof(pfarg_pmc_t), NEW, fill_pmcs, NULL },
	{ "write_many_pmcs", PFM_NR_WRITE_PMCS, ALL(pfarg_pmc_t), NEW, fill_pmcs, NULL },
	{ "write_pmcs_loaded", PFM_NR_WRITE_PMCS, 2, 2 * sizeof(pfarg_pmc_t), LOADED, fill_pmcs, NULL },
	{ "write_pmds", PFM_NR_WRITE_PMDS, 2, 2 * sizeof(pfarg_pmd_t), NEW, fill_pmds, NULL },
	{ "write_many_pmds", PFM_NR_WRITE_PMDS, ALL(pfarg_pmd_t), NEW, fill_pmds, NULL },
	{ "write_pmds_started", PFM_NR_WRITE_PMDS, 2, 2 * sizeof(pfarg_pmd_t), STARTED, fill_pmds, NULL },
	{ "read_pmds", PFM_NR_READ_PMDS, 2, 2 * sizeof(pfarg_pmd_t), STARTED, fill_pmds, NULL },
	{ "read_many_pmds", PFM_NR_READ_PMDS, ALL(pfarg_pmd_t), PROGRAMMED, fill_pmds, NULL },
	{ "create_evtsets", PFM_NR_CREATE_EVTSETS, 4, 4 * sizeof(pfarg_setdesc_t), PROGRAMMED, fill_sets, NULL },
	{ "getinfo_evtsets", PFM_NR_GETINFO_EVTSETS, ALL(pfarg_setinfo_t), PROGRAMMED, fill_infos, NULL },
	{ "load_context", PFM_NR_LOAD_CONTEXT, 0, sizeof(pfarg_load_t), PROGRAMMED, fill_load, NULL },
	{ "start", PFM_NR_START, 0, sizeof(pfarg_start_t), LOADED, fill_nothing, NULL },
	{ "stop", PFM_NR_STOP, 0, 0, STARTED, fill_nothing, NULL },
	{ "restart", PFM_NR_RESTART, 0, 0, MASKED, fill_nothing, NULL },
	{ "unload_context", PFM_NR_UNLOAD_CONTEXT, 0, 0, STARTED, fill_nothing, NULL },
	{ "is_loaded", PFM_NR_IS_LOADED, 0, 0, LOADED, fill_nothing, NULL },
	{ "buffer_size", PFM_NR_BUFFER_SIZE, 0, sizeof(uint64_t), NEW, fill_nothing, NULL },
	{ "getinfo_pmcs", PFM_NR_GETINFO_PMCS, ALL(pfarg_pmcinfo_t), ON_DEVICE, fill_regs, NULL },
	{ "getinfo_pmds", PFM_NR_GETINFO_PMDS, ALL(pfarg_pmdinfo_t), ON_DEVICE, fill_regs, NULL },
	{ "getinfo_fmts", PFM_NR_GETINFO_FMTS, 1, sizeof(pfarg_fmtinfo_t), ON_DEVICE, fill_nothing, NULL },
	{ "get_config", PFM_NR_GET_CONFIG, 0, sizeof(pfarg_config_t), ON_DEVICE, fill_nothing, NULL },
	{ "set_config", PFM_NR_SET_CONFIG, 0, sizeof(pfarg_config_t), ON_DEVICE, fill_config, NULL },
	{ "explain", PFM_NR_EXPLAIN, 0, sizeof(struct pfm_ioc_why), ON_DEVICE, fill_nothing, NULL },
	{ "abi", PFM_NR_ABI, 0, 0, ON_DEVICE, fill_nothing, NULL },
	{ "create", PFM_NR_CREATE_CONTEXT, 0, sizeof(struct pfm_ioc_create), ON_DEVICE, fill_create, NULL },
	{ "create_sampler", PFM_NR_CREATE_CONTEXT, 0, sizeof(struct pfm_ioc_create), ON_DEVICE, fill_sampler, NULL },
	{ "create_nway", PFM_NR_CREATE_CONTEXT, 0, sizeof(struct pfm_ioc_create), ON_DEVICE, fill_nway, NULL },
	{ "create_first_nway", PFM_NR_CREATE_CONTEXT, 0, sizeof(struct pfm_ioc_create), ON_DEVICE, fill_nway,
	  without_formats },
};

static long call_with(const struct call *c, int fd, void *arg)
{
	return ioctl(fd, PFM_IOC(c->nr, c->n), arg);
}

static long call_number(int fd, enum pfm_ioc_nr nr, unsigned int n, void (*fill)(void *))
{
	long ret;

	fill(argument);
	ret = ioctl(fd, PFM_IOC(nr, n), argument);
	check(ret >= 0, "setting up: call %d: %s", nr, strerror(errno));
	return ret;
}

/* Returns a context in that stage, or the device. */
static int scene(enum stage stage)
{
	int fd;

	if (stage == ON_DEVICE)
		return device;
	fd = (int)call_number(device, PFM_NR_CREATE_CONTEXT, 0, fill_create);
	if (stage >= PROGRAMMED) {
		call_number(fd, PFM_NR_WRITE_PMCS, 2, fill_pmcs);
		call_number(fd, PFM_NR_WRITE_PMDS, 2, fill_pmds);
	}
	if (stage >= LOADED)
		call_number(fd, PFM_NR_LOAD_CONTEXT, 0, fill_load);
	if (stage >= STARTED)
		call_number(fd, PFM_NR_START, 0, fill_nothing);
	if (stage >= MASKED) {
		call_number(fd, PFM_NR_WRITE_PMDS, 1, fill_overflow);
		fault(100);
	}
	return fd;
}

/* Closes the context that a call was made on, and one that it created. */
static void end_scene(const struct call *c, int fd, long ret)
{
	if (c->nr == PFM_NR_CREATE_CONTEXT && ret >= 0)
		close((int)ret);
	if (fd != device)
		close(fd);
}

/* --- the sweeps ------------------------------------------------------------------------------- */

/* Makes a call in which the n-th operation fails. Returns false if the call makes fewer. */
static bool nth_fails(const struct call *c, int n)
{
	int err, fd;
	bool struck;
	long ret;

	if (c->before)
		c->before();
	fd = scene(c->stage);
	c->fill(argument);
	fail_nth(n);
	ret = call_with(c, fd, argument);
	err = errno;
	struck = it_struck();
	if (ret < 0) {
		check(struck, "%s fails without a fault: %s", c->name, strerror(err));
		check(err == ENOMEM || err == EFAULT || c->before, "%s, fault %d: %s", c->name, n, strerror(err));
		c->fill(argument);
		ret = call_with(c, fd, argument);
		check(ret >= 0, "%s, done again after fault %d: %s", c->name, n, strerror(errno));
	}
	end_scene(c, fd, ret);
	return struck;
}

static const struct call *subject;

static int references(void)
{
	FILE *f = fopen("/sys/module/perfmon/refcnt", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Checks the references to the module; waits, since a close may not be complete yet. */
static void no_reference_is_left(int before)
{
	time_t from = time(NULL);

	while (references() > before && time(NULL) - from < 5)
		sched_yield();
	check(references() <= before, "%s: the module has %d references, before it had %d", subject->name,
	      references(), before);
}

/*
 * Makes each operation of a call fail. First runs it without a fault, which loads the modules it
 * needs.
 */
static void faults(void)
{
	int n = 1, before;

	nth_fails(subject, ENOUGH);
	before = references();
	while (n < ENOUGH && !test_failed && nth_fails(subject, n))
		n++;
	check(n < ENOUGH, "%s does not get through", subject->name);
	no_reference_is_left(before);
	printf("# %s: %d faults\n", subject->name, n - 1);
}

static bool is_refused(const struct call *c, void *arg)
{
	int fd = scene(c->stage);
	long ret;
	bool refused;

	ret = call_with(c, fd, arg);
	refused = ret < 0 && errno == EFAULT;
	end_scene(c, fd, ret);
	return refused;
}

/* Tries unmapped arguments, and those that reach into unmapped memory. start accepts NULL. */
static void pointers(void)
{
	char *page = (mmap)(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t inside = subject->size > PAGE ? PAGE : subject->size / 2 & ~7UL;
	int fd;

	if (!subject->size)
		return;
	(munmap)(page + PAGE, PAGE);
	subject->fill(argument);
	memcpy(page + PAGE - inside, argument, inside);
	TRUE(is_refused(subject, page + PAGE - inside));
	TRUE(subject->nr == PFM_NR_START || is_refused(subject, NULL));
	TRUE(is_refused(subject, (void *)-4096L));
	(munmap)(page, PAGE);
	fd = scene(subject->stage);
	subject->fill(argument);
	end_scene(subject, fd, call_with(subject, fd, argument));
}

/* --- the module itself ------------------------------------------------------------------------ */

static void unload_all(void)
{
	time_t from = time(NULL);

	close(device);
	/* a close may not be complete yet */
	while (unload_unused("") && time(NULL) - from < 20)
		sched_yield();
	EQUAL(unload_unused(""), 0);
}

static void load_again(void)
{
	if (system("modprobe perfmon"))
		check(false, "modprobe fails");
	device = open(PFM_DEVICE, O_RDWR);
	check(device >= 0, "%s: %s", PFM_DEVICE, strerror(errno));
}

static bool nth_load_fails(int file, int n)
{
	bool struck;
	long ret;
	int err;

	fail_nth(n);
	ret = syscall(SYS_finit_module, file, "", 0);
	err = errno;
	struck = it_struck();
	check(!ret || struck, "it does not load: %s", strerror(err));
	if (!ret)
		check(!syscall(SYS_delete_module, "perfmon", 0), "it cannot be unloaded: %s", strerror(errno));
	return struck;
}

static void loading_under_faults(void)
{
	int n = 1, file;
	struct utsname kernel;
	char path[256];

	uname(&kernel);
	snprintf(path, sizeof(path), "/lib/modules/%s/extra/perfmon.ko", kernel.release);
	file = open(path, O_RDONLY | O_CLOEXEC);
	unload_all();
	TRUE(file >= 0);
	while (n < ENOUGH && !test_failed && nth_load_fails(file, n))
		n++;
	printf("# loading: %d faults\n", n - 1);
	close(file);
	load_again();
}

/* Lets a fault strike the loading of the PMU's description, which is tried again once a second. */
static bool nth_demand_fails(const char *pmu, int n)
{
	pfarg_config_t *config = (pfarg_config_t *)argument;
	time_t from = time(NULL);
	bool struck;

	unload_all();
	load_again();
	fail_nth(n);
	ioctl(device, PFM_IOC(PFM_NR_ABI, 0), 0);
	struck = it_struck();
	do
		check(!ioctl(device, PFM_IOC(PFM_NR_GET_CONFIG, 0), argument), "GET_CONFIG: %s", strerror(errno));
	while (strcmp(config->cf_pmu, pmu) && time(NULL) - from < 20);
	check(!strcmp(config->cf_pmu, pmu), "after fault %d the PMU is \"%s\", not \"%s\"", n, config->cf_pmu, pmu);
	return struck;
}

static void the_pmu_comes_after_a_failure(void)
{
	pfarg_config_t config = { 0 };
	int n = 1;

	TRUE(!ioctl(device, PFM_IOC(PFM_NR_GET_CONFIG, 0), &config));
	while (n < ENOUGH && !test_failed && nth_demand_fails(config.cf_pmu, n))
		n++;
	printf("# the PMU's description: %d faults\n", n - 1);
}

static void sweep(const char *what, void (*fn)(void))
{
	char name[64];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		subject = &calls[i];
		snprintf(name, sizeof(name), "%s_of_%s", what, subject->name);
		run_test(name, fn);
	}
}

int main(int argc, char **argv)
{
	bool can = can_inject();

	device = open(PFM_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "loading")) {
		if (can)
			TEST(loading_under_faults);
		return tests_failed > 0;
	}
	sweep("pointers", pointers);
	if (can) {
		sweep("faults", faults);
		TEST(the_pmu_comes_after_a_failure);
	}
	return tests_failed > 0;
}
