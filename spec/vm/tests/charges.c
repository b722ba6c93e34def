// SPDX-License-Identifier: MIT
/*
 * charges.c - memory that cannot be swapped out is charged to the user that asked for it, for all
 * processes of the user together, until it is freed, and is limited to RLIMIT_MEMLOCK (4.4.3) and
 * what perf grants.
 */
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "perfmon/perfmon_stack_smpl.h"
#include "users.h"

#define KIB		1024UL
#define LIMIT		(256 * KIB)
#define BUFFER		(64 * KIB)
#define MLOCK_KB	"/proc/sys/kernel/perf_event_mlock_kb"

static int new_sampling(size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, "default", &arg, sizeof(arg));
}

static int with_limit(void)
{
	struct rlimit limit = { LIMIT, LIMIT };

	return setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* Returns how many buffers can be created; -1 if the last failed for another reason than memory. */
static int buffers_left(void)
{
	int n = 0;

	while (new_sampling(BUFFER) >= 0)
		n++;
	return errno == ENOMEM ? n : -1;
}

static int count_buffers(int unused)
{
	(void)unused;
	return with_limit() ? 250 : buffers_left();
}

/* Contexts take memory, too: 3 buffers fit, not 4. At the process' end all memory is given back. */
static void a_user_has_so_much(void)
{
	EQUAL(as_user(NOBODY, 0, count_buffers, 0), 3);
	EQUAL(as_user(NOBODY, 0, count_buffers, 0), 3);
	EQUAL(as_user(NOBODY - 1, 0, count_buffers, 0), 3);
	TRUE(as_user(NOBODY, CAP(CAP_IPC_LOCK), count_buffers, 0) > 16);
}

static int make_one(int unused)
{
	(void)unused;
	return new_sampling(BUFFER) >= 0 ? 0 : errno;
}

static void no_limit_is_none(void)
{
	struct rlimit old, none = { RLIM_INFINITY, RLIM_INFINITY };

	MUST(getrlimit(RLIMIT_MEMLOCK, &old));
	MUST(setrlimit(RLIMIT_MEMLOCK, &none));
	write_to(MLOCK_KB, "516");
	EQUAL(as_user(NOBODY, 0, make_one, 0), 0);
	write_to(MLOCK_KB, "0");
	EQUAL(as_user(NOBODY, 0, make_one, 0), 0);
	MUST(setrlimit(RLIMIT_MEMLOCK, &old));
}

static void perf_grants_more(void)
{
	char text[32];

	/* room for 16 more buffers and their contexts */
	snprintf(text, sizeof(text), "%lu", (16 * BUFFER / KIB + 32) / (unsigned long)get_nprocs());
	write_to(MLOCK_KB, text);
	TRUE(as_user(NOBODY, 0, count_buffers, 0) >= 16);
	write_to(MLOCK_KB, "0");
}

/* --- processes end, memory stays -------------------------------------------------------------- */

static int sockets[2];

/* Creates as many buffers as it may, and leaves their descriptors in a socket. */
static int leave_buffers(int unused)
{
	int n = 0, fd;

	(void)unused;
	if (with_limit())
		return 250;
	while ((fd = new_sampling(BUFFER)) >= 0) {
		if (send_fd(sockets[0], fd, 0) != 1)
			_exit(249);
		n++;
	}
	return n;
}

static void who_exits_leaves_the_charge(void)
{
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	EQUAL(as_user(NOBODY, 0, leave_buffers, 0), 3);
	EQUAL(as_user(NOBODY, 0, leave_buffers, 0), 0);
	close(sockets[0]);
	close(sockets[1]);
	EQUAL(as_user(NOBODY, 0, count_buffers, 0), 3);
}

static const char *program;

/* Executes a program that inherits all descriptors, so that the buffers remain charged. */
static int make_and_exec(int unused)
{
	(void)unused;
	if (with_limit() || buffers_left() != 3)
		return 250;
	execl(program, "charges", "buffers", NULL);
	return 251;
}

static void who_execs_keeps_the_charge(void)
{
	EQUAL(as_user(NOBODY, 0, make_and_exec, 0), 0);
}

/* --- sets, registers, messages ---------------------------------------------------------------- */

/* Returns how many dozens of sets a user can create. */
static int make_sets(int unused)
{
	int fd, n = 0;

	(void)unused;
	if (with_limit() || (fd = new_context(0)) < 0)
		return 250;
	for (int id = 1; id < 65536; id++, n++) {
		pfarg_setdesc_t set = { .set_id = (uint16_t)id };

		if (pfm_create_evtsets(fd, &set, 1))
			break;
	}
	if (errno != ENOMEM)
		return 251;
	/* no memory is left for other contexts of this user */
	return new_sampling(BUFFER) < 0 && errno == ENOMEM ? n / 12 : 252;
}

static void sets_are_charged(void)
{
	int dozens = as_user(NOBODY, 0, make_sets, 0);

	/* a set takes 1 to 4 KiB */
	TRUE(dozens > 2 && dozens < 250 / 12);
	EQUAL(as_user(NOBODY, 0, count_buffers, 0), 3);
}

/* Returns how many contexts without buffers a user can create. */
static int make_contexts(int unused)
{
	struct rlimit files = { 4096, 4096 };
	int n = 0;

	(void)unused;
	if (setrlimit(RLIMIT_NOFILE, &files) || with_limit())
		return 250;
	while (new_context(0) >= 0)
		n++;
	return errno == ENOMEM ? n : 251;
}

static void contexts_are_charged(void)
{
	int n;

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
	n = as_user(NOBODY, 0, make_contexts, 0);
	TRUE(n > 8 && n < 128);
}

/*
 * Creates a context that records mappings and execs, and returns how many sets a second context can
 * have beside it.
 */
static int make_sets_beside(int loaded)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = BUFFER, .buf_flags = PFM_STACK_SMPL_RECORDS };
	pfarg_ctx_t ctx = { 0 };
	int fd, n = 1;

	if (with_limit() || (fd = pfm_create_context(&ctx, "stack", &arg, sizeof(arg))) < 0 ||
	    set_pmc(fd, 0, FAULTS, SW_USER) || (loaded && load(fd, my_tid())) || (fd = new_context(0)) < 0)
		return 250;
	while (!pfm_create_evtsets(fd, &(pfarg_setdesc_t){ .set_id = (uint16_t)n }, 1))
		n++;
	return errno == ENOMEM ? n : 251;
}

/* After a load, the list of mappings that were recorded is charged, too. */
static void records_are_charged(void)
{
	int unloaded = as_user(NOBODY, 0, make_sets_beside, false);

	TRUE(unloaded > 8 && unloaded < 128);
	TRUE(as_user(NOBODY, 0, make_sets_beside, true) < unloaded);
	EQUAL(as_user(NOBODY, 0, make_sets_beside, false), unloaded);
}

int main(int argc, char **argv)
{
	static char path[128];

	if (argc > 1 && !strcmp(argv[1], "buffers"))
		return buffers_left();
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 3;
	program = path;
	set_paranoid(2);	/* users may monitor their own threads */
	write_to(MLOCK_KB, "0");
	TEST(a_user_has_so_much);
	TEST(no_limit_is_none);
	TEST(perf_grants_more);
	TEST(who_exits_leaves_the_charge);
	TEST(who_execs_keeps_the_charge);
	TEST(sets_are_charged);
	TEST(contexts_are_charged);
	TEST(records_are_charged);
	write_to(MLOCK_KB, "516");
	return tests_failed > 0;
}
