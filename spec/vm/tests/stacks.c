// SPDX-License-Identifier: MIT
/*
 * stacks.c - samples with call stacks. Functions note their return addresses, so that the frames
 * are known exactly.
 */
#include "users.h"
#include "perfmon/perfmon_stack_smpl.h"

#define SW_KERNEL	0x1
#define DEPTH		3
#define PAGES		64

static const void *returns[DEPTH];
static char *pages;
static void (*job)(void);

/* Makes a function have a frame pointer, whatever the compiler's flags are. */
#define HAS_FRAME()	asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

static void touch(void)
{
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(pages + i * 4096) = 1;
}

/* Lets the kernel touch the pages. */
static void let_touch(void)
{
	int zero = open("/dev/zero", O_RDONLY);

	TRUE(read(zero, pages, PAGES * 4096) == PAGES * 4096);
	close(zero);
}

static __attribute__((noinline)) void inner(void)
{
	HAS_FRAME();
	returns[0] = __builtin_return_address(0);
	job();
	HAS_FRAME();
}

static __attribute__((noinline)) void middle(void)
{
	HAS_FRAME();
	returns[1] = __builtin_return_address(0);
	inner();
	HAS_FRAME();
}

static __attribute__((noinline)) void outer(void)
{
	HAS_FRAME();
	returns[2] = __builtin_return_address(0);
	middle();
	HAS_FRAME();
}

static int stack_context_on(uint32_t ctx_flags, uint32_t target, pfm_stack_smpl_arg_t *arg, uint64_t level)
{
	pfarg_ctx_t ctx = { .ctx_flags = ctx_flags };
	int fd = pfm_create_context_name(&ctx, PFM_STACK_SMPL_NAME, arg, sizeof(*arg));
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = level };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_value = -1, .reg_short_reset = -1, .reg_long_reset = -1 };
	pfarg_load_t to = { .load_pid = target };

	check(fd >= 0 && !pfm_write_pmcs(fd, &pmc, 1) && !pfm_write_pmds(fd, &pmd, 1) && !pfm_load_context(fd, &to),
	      "setup: %s", pfm_explain());
	return fd;
}

static int stack_context(uint32_t flags, uint64_t level)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 1 << 20, .buf_flags = flags };

	return stack_context_on(0, (uint32_t)syscall(SYS_gettid), &arg, level);
}

static void run_job(void (*fn)(void))
{
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	job = fn;
	outer();
	munmap(pages, PAGES * 4096);
}

/* Samples each page fault of fn(); returns the buffer. */
static pfm_stack_smpl_hdr_t *sampled(int fd, void (*fn)(void))
{
	check(!pfm_start(fd, NULL), "start: %s", pfm_explain());
	run_job(fn);
	check(!pfm_stop(fd), "stop: %s", pfm_explain());
	return pfm_map_buffer(fd, 1 << 20);
}

static const pfm_stack_smpl_sample_t *next_sample(const pfm_stack_smpl_hdr_t *h, const pfm_stack_smpl_sample_t *s)
{
	size_t at = s ? (size_t)((const char *)s - (const char *)h) + s->rec.rec_size : sizeof(*h);

	return at < h->hdr_cur_offs ? (const void *)((const char *)h + at) : NULL;
}

static const uint64_t *frames_of(const pfm_stack_smpl_sample_t *s)
{
	return (const uint64_t *)(s + 1) + s->num_pmds;
}

/* Returns true if the return addresses are among the frames, one after the other. */
static bool has_returns(const uint64_t *frames, unsigned int n)
{
	for (unsigned int i = 0; i + DEPTH <= n; i++) {
		int k = 0;

		while (k < DEPTH && frames[i + k] == (uint64_t)(uintptr_t)returns[k])
			k++;
		if (k == DEPTH)
			return true;
	}
	return false;
}

static void user_frames_by_frame_pointers(void)
{
	int fd = stack_context(0, SW_USER), with_stack = 0, n = 0;
	const pfm_stack_smpl_hdr_t *h = sampled(fd, touch);

	if (!TRUE(h))
		return;
	for (const pfm_stack_smpl_sample_t *s = next_sample(h, NULL); s; s = next_sample(h, s), n++) {
		TRUE(s->rec.rec_type == PFM_STACK_SMPL_SAMPLE && s->num_kernel == 0 && s->num_user > 0);
		TRUE(frames_of(s)[0] == s->entry.ip);
		with_stack += has_returns(frames_of(s), s->num_user);
	}
	EQUAL(n, h->hdr_count);
	check(with_stack >= PAGES, "%d of %d samples have the stack", with_stack, n);
	close(fd);
}

static void kernel_frames_then_the_users(void)
{
	int fd = stack_context(0, SW_KERNEL), whole = 0, n = 0;
	const pfm_stack_smpl_hdr_t *h = sampled(fd, let_touch);

	if (!TRUE(h))
		return;
	for (const pfm_stack_smpl_sample_t *s = next_sample(h, NULL); s; s = next_sample(h, s), n++) {
		const uint64_t *frames = frames_of(s);

		TRUE(frames[0] == s->entry.ip && frames[0] >> 63);
		for (int i = 0; i < s->num_kernel; i++)
			TRUE(frames[i] >> 63);
		whole += s->num_kernel >= 3 && has_returns(frames + s->num_kernel, s->num_user);
	}
	check(whole >= PAGES, "%d of %d samples have both stacks", whole, n);
	close(fd);
}

static void leaves_levels_out(void)
{
	int fd = stack_context(PFM_STACK_SMPL_NO_USER, SW_KERNEL);
	const pfm_stack_smpl_hdr_t *h = sampled(fd, let_touch);

	for (const pfm_stack_smpl_sample_t *s = h ? next_sample(h, NULL) : NULL; s; s = next_sample(h, s))
		TRUE(s->num_kernel > 0 && s->num_user == 0);
	close(fd);
	fd = stack_context(PFM_STACK_SMPL_NO_KERNEL, SW_KERNEL);
	h = sampled(fd, let_touch);
	for (const pfm_stack_smpl_sample_t *s = h ? next_sample(h, NULL) : NULL; s; s = next_sample(h, s))
		TRUE(s->num_kernel == 0 && s->num_user > 0);
	TRUE(h && h->hdr_count >= PAGES);
	close(fd);
}

/* Returns true if the return addresses are in the copy of the stack. */
static bool copy_has_returns(const pfm_stack_smpl_sample_t *s)
{
	const uint64_t *regs = frames_of(s) + s->num_kernel + s->num_user, *copy = regs + s->num_regs;
	unsigned int k = 0;

	for (unsigned int i = 0; i < s->stack_size / 8 && k < DEPTH; i++)
		k += copy[i] == (uint64_t)(uintptr_t)returns[k];
	return k == DEPTH;
}

static void copies_registers_and_stack(void)
{
#ifdef __aarch64__
	const unsigned int num = 33, ip = 32;
#else
	const unsigned int num = 20, ip = 8;
#endif
	int fd = stack_context(PFM_STACK_SMPL_COPY, SW_USER), good = 0;
	const pfm_stack_smpl_hdr_t *h = sampled(fd, touch);

	for (const pfm_stack_smpl_sample_t *s = h ? next_sample(h, NULL) : NULL; s; s = next_sample(h, s)) {
		const uint64_t *regs = frames_of(s) + s->num_kernel + s->num_user;

		EQUAL(s->num_regs, num);
		TRUE(regs[ip] == s->entry.ip && s->stack_size > 0 && s->stack_size <= PFM_STACK_SMPL_BYTES);
		good += copy_has_returns(s);
	}
	check(good >= PAGES, "%d copies have the stack", good);
	close(fd);
}

/* Counts the samples of a process with and without a copy. */
static void count_copies(const pfm_stack_smpl_hdr_t *h, pid_t pid, int *with, int *without)
{
	*with = *without = 0;
	for (const pfm_stack_smpl_sample_t *s = next_sample(h, NULL); s; s = next_sample(h, s)) {
		if (s->entry.pid != (uint32_t)pid)
			continue;
		*(s->num_regs || s->stack_size ? with : without) += 1;
	}
}

/*
 * A user that may monitor CPUs samples one on which another user works between up and go. The
 * number of bytes above the stack pointer is random, up to 8 KiB: copies are limited, so that the
 * buffer can hold those of both processes.
 */
static int watch_a_cpu(int up, int go, bool sees)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 1 << 20, .buf_flags = PFM_STACK_SMPL_COPY, .max_stack = 2048 };
	int fd, with, without;
	char byte;

	fd = stack_context_on(PFM_FL_SYSTEM_WIDE, 0, &arg, SW_USER);
	if (test_failed || pfm_start(fd, NULL) || write(up, "", 1) != 1 || read(go, &byte, 1) != 1)
		return 1;
	run_job(touch);
	if (pfm_stop(fd))
		return 2;
	const pfm_stack_smpl_hdr_t *h = pfm_map_buffer(fd, 1 << 20);

	if (h == MAP_FAILED)
		return 3;
	count_copies(h, getpid(), &with, &without);
	if (with < PAGES || without)
		return 4;
	count_copies(h, getppid(), &with, &without);
	return (sees ? with : without) < PAGES || (sees ? without : with) ? 5 : 0;
}

static void watched_by(uint64_t caps)
{
	int up[2], go[2];
	pid_t watcher;
	char byte;

	MUST(pipe(up));
	MUST(pipe(go));
	watcher = fork();
	if (!watcher) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(become(NOBODY, caps) ? 100 : watch_a_cpu(up[1], go[0], caps));
	}
	close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		run_job(touch);
		MUST(write(go[1], "", 1));
	}
	EQUAL(status_of(watcher), 0);
	close(up[0]);
	close(go[0]);
	close(go[1]);
}

/* Only a user that may trace a process gets its registers and stack bytes, as with its mappings. */
static void others_stacks_are_not_copied(void)
{
	pin(0);
	set_paranoid(0);
	watched_by(0);
	watched_by(CAP(CAP_PERFMON));
	set_paranoid(2);
}

static void of_the_pmu_too(void)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 1 << 20 };
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pmc = { .reg_num = 1, .reg_value = BOTH | INST };
	pfarg_pmd_t pmd = { .reg_num = 1, .reg_value = -20000, .reg_short_reset = -20000, .reg_long_reset = -20000 };
	pfarg_load_t to = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	int fd, in_kernel = 0, in_user = 0;

	MUST(fd = pfm_create_context_name(&ctx, PFM_STACK_SMPL_NAME, &arg, sizeof(arg)));
	if (pfm_write_pmcs(fd, &pmc, 1) && errno == EINVAL) {	/* there is no PMU */
		close(fd);
		return;
	}
	MUST(pfm_write_pmds(fd, &pmd, 1));
	MUST(pfm_load_context(fd, &to));
	const pfm_stack_smpl_hdr_t *h = sampled(fd, let_touch);

	for (const pfm_stack_smpl_sample_t *s = h ? next_sample(h, NULL) : NULL; s; s = next_sample(h, s)) {
		TRUE(s->num_kernel + s->num_user > 0 && frames_of(s)[0] == s->entry.ip);
		TRUE(!!s->num_kernel == (s->entry.ip >> 63));
		in_kernel += s->num_kernel > 1;
		in_user += s->num_user > 1;
	}
	check(in_kernel > 0 && in_user > 0, "%d with frames of the kernel, %d with the user's", in_kernel, in_user);
	close(fd);
}

int main(void)
{
	TEST(user_frames_by_frame_pointers);
	TEST(kernel_frames_then_the_users);
	TEST(leaves_levels_out);
	TEST(copies_registers_and_stack);
	TEST(others_stacks_are_not_copied);
	TEST(of_the_pmu_too);
	return !!tests_failed;
}
