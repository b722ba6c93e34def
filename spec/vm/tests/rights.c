// SPDX-License-Identifier: MIT
/*
 * rights.c - which users may monitor what, for every value of perf_event_paranoid: root, a user,
 * and users with one capability. perfmon.ko never allows more than perf_event_open(2) does.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "users.h"

#define BOTH_LEVELS	0x9		/* PMC value of a software counter */

/* --- what is asked for, and by which users ---------------------------------------------------- */

enum { SELF, KERNEL, CPU, FOREIGN, OWN_BLOCKED, FOREIGN_BLOCKED, NUM_WISHES };
static const char *const wishes[] = {
	"itself", "the kernel", "a CPU", "another's thread", "stopping a thread of its own",
	"stopping another's thread",
};

static const struct {
	const char	*name;
	uid_t		uid;
	uint64_t	caps;
	/* the highest perf_event_paranoid at which each wish is allowed; NEVER; ALWAYS */
	int		limit[NUM_WISHES];
} persons[] = {
#define NEVER	-2
#define ALWAYS	9
	{ "root", 0, ~0ULL, { ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS } },
	{ "a user", NOBODY, 0, { 2, 1, 0, NEVER, 2, NEVER } },
	{ "a user with CAP_PERFMON", NOBODY, CAP(CAP_PERFMON), { 2, 2, 2, 2, 2, NEVER } },
	{ "a user with CAP_SYS_ADMIN", NOBODY, CAP(CAP_SYS_ADMIN), { ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS, NEVER } },
	{ "a user with CAP_SYS_PTRACE", NOBODY, CAP(CAP_SYS_PTRACE), { 2, 1, 0, 2, 2, 2 } },
};
#define NUM_PERSONS	(sizeof(persons) / sizeof(persons[0]))

static pid_t others;		/* a process of the user root */

static void pause_for_ever(uint64_t unused)
{
	(void)unused;
	for (;;)
		pause();
}

static pid_t target_of(int wish)
{
	if (wish == FOREIGN || wish == FOREIGN_BLOCKED)
		return others;
	return wish == OWN_BLOCKED ? child_new(pause_for_ever, 0).pid : my_tid();
}

static bool is_blocked(int wish)
{
	return wish == OWN_BLOCKED || wish == FOREIGN_BLOCKED;
}

static uint32_t flags_of(int wish)
{
	if (wish == CPU)
		return PFM_FL_SYSTEM_WIDE;
	return is_blocked(wish) ? PFM_FL_NOTIFY_BLOCK : 0;
}

/* Tries a wish by perfmon.ko. Returns 0, or the errno of the call that was refused. */
static int try_perfmon(int wish)
{
	int fd = new_context(flags_of(wish));

	if (fd < 0 || set_pmc(fd, 0, FAULTS, wish == KERNEL ? BOTH_LEVELS : SW_USER))
		return errno;
	if (load(fd, target_of(wish)) || pfm_start(fd, NULL))
		return errno;
	return 0;
}

/* Tries the same by perf_event_open(2), which has no blocking notification. */
static int try_perf(int wish)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = wish != KERNEL };
	pid_t pid = wish == CPU ? -1 : wish == FOREIGN ? others : 0;

	return syscall(SYS_perf_event_open, &attr, pid, wish == CPU ? 0 : -1, -1, 0) < 0 ? errno : 0;
}

static void perf_event_paranoid_is_kept(void)
{
	for (int level = -1; level <= 4; level++) {
		set_paranoid(level);
		for (size_t p = 0; p < NUM_PERSONS; p++)
			for (int w = 0; w < NUM_WISHES; w++) {
				int want = level <= persons[p].limit[w] ? 0 : EPERM;
				int got = as_user(persons[p].uid, persons[p].caps, try_perfmon, w);
				int perf = as_user(persons[p].uid, persons[p].caps, try_perf, w);

				/* without task_work_add() no thread can be stopped */
				if (is_blocked(w) && !exports_task_work() && level <= persons[p].limit[SELF])
					want = EOPNOTSUPP;
				check(got == want, "at %d, %s, %s: %s", level, persons[p].name, wishes[w],
				      strerror(got));
				check(w > FOREIGN || got || !perf, "at %d, %s, %s: perf says %s", level,
				      persons[p].name, wishes[w], strerror(perf));
			}
	}
	set_paranoid(2);
}

/* --- what was allowed once -------------------------------------------------------------------- */

static int left_by_root;

static int load_it(int unused)
{
	(void)unused;
	return load(left_by_root, my_tid()) ? errno : 0;
}

static int load_onto_no_thread(int unused)
{
	(void)unused;
	return load(left_by_root, 1 << 30) ? errno : 0;
}

/* Returns the highest address at which a page fault was sampled, as read(2) wrote to a new page. */
static uint64_t highest_address(const pfm_dfl_smpl_hdr_t *hdr)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const pfm_dfl_smpl_entry_t *e = (const void *)(hdr + 1);
	int zero = open("/dev/zero", O_RDONLY);
	uint64_t highest = 0;

	if (load(left_by_root, my_tid()) || pfm_start(left_by_root, NULL) || read(zero, page, 1) != 1 ||
	    pfm_unload_context(left_by_root))
		check(false, "no samples: %s", pfm_explain());
	for (uint64_t i = 0; i < hdr->hdr_count; i++)
		highest = e[i].ip > highest ? e[i].ip : highest;
	close(zero);
	munmap(page, 4096);
	return highest;
}

/* A load by another user that is refused takes no kernel addresses from root's next one. */
static void refused_loads_take_no_addresses(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 8192 };
	const pfm_dfl_smpl_hdr_t *hdr;
	pfarg_ctx_t ctx = { 0 };

	MUST(left_by_root = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg)));
	hdr = mmap(NULL, 8192, PROT_READ, MAP_SHARED, left_by_root, 0);
	MUST(hdr == MAP_FAILED ? -1 : 0);
	MUST(set_pmc(left_by_root, 0, FAULTS, SW_USER));
	EQUAL(as_user(NOBODY, 0, load_onto_no_thread, 0), ESRCH);
	MUST(set_pmc(left_by_root, 0, FAULTS, BOTH_LEVELS));
	MUST(set_period(left_by_root, 0, FAULTS, 1, PFM_REGFL_OVFL_NOTIFY));
	TRUE(highest_address(hdr) >> 63);
	munmap((void *)hdr, 8192);
	close(left_by_root);
}

/*
 * Root programs a context to count the kernel; a process that gets the descriptor must have that
 * right to load it.
 */
static void rights_are_those_of_who_loads(void)
{
	MUST(left_by_root = new_context(0));
	MUST(set_pmc(left_by_root, 0, FAULTS, BOTH_LEVELS));
	EQUAL(as_user(NOBODY, 0, load_it, 0), EPERM);
	MUST(set_pmc(left_by_root, 0, FAULTS, SW_USER));
	EQUAL(as_user(NOBODY, 0, load_it, 0), 0);
	close(left_by_root);
}

/* --- user namespaces -------------------------------------------------------------------------- */

/* Becomes root of a user namespace, in which capabilities do not count here. */
static int as_root_of_a_namespace(int wish)
{
	int err;

	if (unshare(CLONE_NEWUSER))
		return 251;
	err = try_perfmon(wish);
	return err;
}

static void a_namespace_gives_no_rights(void)
{
	if (exports_task_work())	/* this kernel has Debian's patches, with this setting */
		write_to("/proc/sys/kernel/unprivileged_userns_clone", "1");
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, SELF), 0);
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, KERNEL), EPERM);
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, CPU), EPERM);
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, FOREIGN), EPERM);
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, FOREIGN_BLOCKED), exports_task_work() ? EPERM : EOPNOTSUPP);
	set_paranoid(3);
	EQUAL(as_user(NOBODY, 0, as_root_of_a_namespace, SELF), EPERM);
	set_paranoid(2);
}

/* --- the device ------------------------------------------------------------------------------- */

static int machine_without_access(void)
{
	pfm_machine_info_t info;

	if (pfm_get_machine(&info))
		return 1;
	if (strcmp(info.name, "perf"))
		return 2;
	return strstr(info.notes, "/dev/perfmon: Permission denied") && strstr(info.notes, "perf_event") ? 0 : 3;
}

static int linux_without_access(void)
{
	if (new_context(0) >= 0 || errno != EACCES)
		return 1;
	return strstr(pfm_explain(), "/dev/perfmon: Permission denied") ? 0 : 2;
}

/* The module is loaded, but there is no device node, as in a container. */
static int machine_without_a_device(void)
{
	pfm_machine_info_t info;

	if (pfm_get_machine(&info) || strcmp(info.name, "perf"))
		return 1;
	return strstr(info.notes, "/dev/perfmon: No such file") ? 0 : 2;
}

/* Functions that run in new programs, in which libperfmon has not chosen a machine yet. */
static const struct {
	const char	*machine;
	int		(*fn)(void);
} programs[] = {
	{ "", machine_without_access },
	{ "linux", linux_without_access },
	{ "", machine_without_a_device },
};

static int begin(int n)
{
	char number[2] = { (char)('0' + n), 0 };

	setenv("LPFM_MACHINE", programs[n].machine, 1);
	execl("/proc/self/exe", "rights", number, NULL);
	return 250;
}

static void no_access_means_perf(void)
{
	struct stat st;

	TRUE(!stat("/dev/perfmon", &st) && !chmod("/dev/perfmon", 0660));
	EQUAL(as_user(NOBODY, 0, begin, 0), 0);
	EQUAL(as_user(NOBODY, 0, begin, 1), 0);
	TRUE(!rename("/dev/perfmon", "/dev/hidden"));
	EQUAL(as_user(NOBODY, 0, begin, 2), 0);
	TRUE(!rename("/dev/hidden", "/dev/perfmon") && !chmod("/dev/perfmon", st.st_mode & 0777));
}

/* --- refused calls ---------------------------------------------------------------------------- */

/*
 * Checks that refused calls have taken no counters: a perf event of the same thread must still get
 * one.
 */
static void try_refused(uint32_t flags, int set, int err)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .size = sizeof(attr), .config = INST, .pinned = 1 };
	struct child c = child_new(child_spin, 1000);
	uint64_t count = 0;
	int fd, event;

	MUST(fd = new_context(flags));
	MUST(set_pmc(fd, 0, 0, PROGRAM));
	MUST(load(fd, c.pid));
	for (int i = 1; i < PLAIN; i++)
		FAILS(set_pmc(fd, set, i, PROGRAM), err);
	MUST(event = (int)syscall(SYS_perf_event_open, &attr, c.pid, -1, -1, 0));
	child_go(&c);
	EQUAL(child_end(&c), 0);
	TRUE(read(event, &count, sizeof(count)) == sizeof(count) && count >= 2000);
	close(event);
	close(fd);
}

static void a_refused_call_takes_no_counter(void)
{
	try_refused(PFM_FL_INHERIT, 0, EBUSY);
	try_refused(0, 1, EINVAL);	/* set 1 does not exist */
}

int main(int argc, char **argv)
{
	struct child c;

	if (argc > 1)
		return programs[*argv[1] - '0'].fn();
	c = child_new(pause_for_ever, 0);
	others = c.pid;
	pin(0);
	child_go(&c);
	TEST(perf_event_paranoid_is_kept);
	TEST(rights_are_those_of_who_loads);
	TEST(refused_loads_take_no_addresses);
	TEST(a_namespace_gives_no_rights);
	TEST(no_access_means_perf);
	TEST(a_refused_call_takes_no_counter);
	kill(others, SIGKILL);
	child_end(&c);
	return tests_failed > 0;
}
