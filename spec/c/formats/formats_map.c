// SPDX-License-Identifier: MIT
/*
 * formats_map.c - the sampling buffer in the address space of a program (3.5.3 - 3.5.6), on the
 * simulated computer:
 *
 *   formats_map [CASE]
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmonctl.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/sim.h"
#include "../parts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SIZE 16384

static const unsigned char uuid[16] = PFM_DEFAULT_SMPL_UUID;
/* The "following data structure" of the section: the argument directly after the context. */
struct context_arg {
	pfarg_ctx_t			ctx;
	pfm_default_smpl_arg_t		param;
};

static int create(size_t size, size_t *map_size)
{
	struct context_arg arg = { .param = { .buf_size = size } };

	memcpy(arg.ctx.ctx_smpl_buf_id, uuid, sizeof(uuid));
	CHECK(!perfmonctl(0, PFM_CREATE_CONTEXT, &arg, 1));
	if (map_size)
		*map_size = arg.ctx.ctx_smpl_buf_size;
	return arg.ctx.ctx_fd;
}

static void *map(int fd)
{
	void *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void end(int fd)
{
	struct pfm_sim *sim = pfm_sim_get();
	pfarg_config_t cfg = { 0 };

	CHECK(!close(fd));
	CHECK(pfm_sim_run_ns(sim, 0) == 1);
	CHECK(!perfmonctl(0, PFM_GET_CONFIG, &cfg, 1));
	pfm_sim_put(sim);
}

/* Lets PMD4 sample every 10 instructions of a new thread, for ns. */
static void sample(int fd, uint64_t ns)
{
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = 1000 },
		{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, COUNT(steps) } };
	struct pfm_sim *sim = pfm_sim_get();
	pfarg_pmc_t pmc = { .reg_num = 4 };
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_value = -10ULL, .reg_short_reset = -10ULL };
	pfarg_load_t load = { .load_pid = pfm_sim_spawn(sim, &spawn) };

	CHECK(!pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, 4, &pmc.reg_value));
	CHECK(!perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	CHECK(!perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	CHECK(!perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	CHECK(!perfmonctl(fd, PFM_START, NULL, 0));
	CHECK(pfm_sim_run_ns(sim, ns) == 1);
	pfm_sim_put(sim);
}

static void no_padding(void)
{
	CHECK(sizeof(pfarg_ctx_t) % 8 == 0);
	CHECK(offsetof(struct context_arg, param) == sizeof(pfarg_ctx_t));
	CHECK(sizeof(pfm_default_smpl_hdr_t) % 8 == 0);
	CHECK(sizeof(pfm_default_smpl_entry_t) % 8 == 0);
}

static void sequence(void)
{
	size_t size;
	int fd = create(10000, &size);
	const pfm_default_smpl_hdr_t *hdr = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(size == 12288);	/* "as reported in the ctx_smpl_buf_size field" */
	CHECK(hdr != MAP_FAILED);
	CHECK(!((uintptr_t)hdr & 15));
	CHECK(hdr->hdr_buf_size == 10000 && hdr->hdr_count == 0 && hdr->hdr_cur_offs == sizeof(*hdr));
	sample(fd, 255);
	CHECK(hdr->hdr_count == 2);
	CHECK(!munmap((void *)hdr, size));
	end(fd);
}

static void not_by_read(void)
{
	char buf[64];
	int fd = create(SIZE, NULL);

	fcntl(fd, F_SETFL, O_NONBLOCK);
	CHECK(read(fd, buf, sizeof(buf)) == -1 && errno == EAGAIN);
	end(fd);
}

static void refused(void *at)
{
	CHECK(at == MAP_FAILED && errno == EINVAL);
}

static void protections(void)
{
	static const int prots[] = { PROT_NONE, PROT_WRITE, PROT_EXEC, PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC };
	int fd = create(SIZE, NULL);

	for (size_t i = 0; i < COUNT(prots); i++)
		refused(mmap(NULL, SIZE, prots[i], MAP_SHARED, fd, 0));
	CHECK(!munmap(map(fd), SIZE));
	end(fd);
}

static void map_flags(void)
{
	static const int flags[] = { MAP_PRIVATE, MAP_SHARED | MAP_EXECUTABLE, MAP_SHARED | MAP_LOCKED,
				     MAP_SHARED | MAP_GROWSDOWN, MAP_SHARED | MAP_DENYWRITE };
	int fd = create(SIZE, NULL);

	for (size_t i = 0; i < COUNT(flags); i++)
		refused(mmap(NULL, SIZE, PROT_READ, flags[i], fd, 0));
	end(fd);
}

static void sizes(void)
{
	static const size_t bad[] = { 0, 1, SIZE - 4096, SIZE - 1, SIZE + 1, SIZE + 4096, 2 * SIZE };
	int fd = create(SIZE, NULL);

	for (size_t i = 0; i < COUNT(bad); i++)
		refused(mmap(NULL, bad[i], PROT_READ, MAP_SHARED, fd, 0));
	refused(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 4096));
	refused(mmap(NULL, SIZE - 4096, PROT_READ, MAP_SHARED, fd, 4096));
	end(fd);
}

static void once(void)
{
	int fd = create(SIZE, NULL);
	void *at = map(fd);

	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EBUSY);
	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, dup(fd), 0) == MAP_FAILED && errno == EBUSY);
	CHECK(!munmap(at, SIZE));
	CHECK(!munmap(map(fd), SIZE));	/* can be mapped again */
	end(fd);
}

static void *again(int fd)
{
	return mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
}

/* "can only be mapped once": mapping it again fails while any part is mapped, wherever it is. */
static void still_once(void)
{
	enum { ROOM = SIZE + 8192 };
	int fd = create(SIZE, NULL);
	char *at = map(fd), *room;

	CHECK(munmap(at, 0) == -1 && errno == EINVAL);
	CHECK(again(fd) == MAP_FAILED && errno == EBUSY);
	CHECK(!munmap(at, 4096));
	CHECK(again(fd) == MAP_FAILED && errno == EBUSY);
	CHECK(!munmap(at + 4096, SIZE - 4096));
	/* the buffer is unmapped together with its surroundings */
	room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = map(fd);
	CHECK(mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 4096) == room + 4096);
	CHECK(again(fd) == MAP_FAILED && errno == EBUSY);
	CHECK(!munmap(room, ROOM));
	at = map(fd);
	/* another mapping replaces the buffer's */
	CHECK(mmap(at, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	CHECK(!munmap(map(fd), SIZE));
	CHECK(!munmap(at, SIZE));
	end(fd);
}

static void no_buffer(void)
{
	pfarg_ctx_t ctx = { 0 };

	CHECK(!perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	CHECK(!ctx.ctx_smpl_buf_size);
	refused(mmap(NULL, 4096, PROT_READ, MAP_SHARED, ctx.ctx_fd, 0));
	end(ctx.ctx_fd);
}

/* Runs fn(at, fd) in a child; returns the child's status. */
static int in_child(int (*fn)(void *at, int fd), void *at, int fd)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(at, fd));
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static int write_there(void *at, int fd)
{
	(void)fd;
	*(volatile char *)at = 1;
	return 0;
}

static void read_only(void)
{
	int fd = create(SIZE, NULL), status;
	void *at = map(fd);

	CHECK(mprotect(at, SIZE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	status = in_child(write_there, at, fd);
	/* a sanitizer reports the signal and exits */
	CHECK(WIFSIGNALED(status) || WEXITSTATUS(status));
	CHECK(!munmap(at, SIZE));
	end(fd);
}

static void unmapped(void)
{
	int fd = create(SIZE, NULL);
	pfm_default_smpl_hdr_t *hdr = map(fd);

	sample(fd, 255);
	CHECK(hdr->hdr_count == 2);
	CHECK(!munmap(hdr, SIZE));
	hdr = map(fd);	/* the buffer is unchanged */
	CHECK(hdr->hdr_count == 2);
	CHECK(!munmap((char *)hdr + 4096, SIZE - 4096));	/* unmaps a part */
	CHECK(hdr->hdr_count == 2);
	CHECK(!munmap(hdr, 4096));
	end(fd);
}

static int shares(void *at, int fd)
{
	const pfm_default_smpl_hdr_t *hdr = at;
	char c;

	/* the parent writes to the pipe fd when it has sampled */
	return read(fd, &c, 1) == 1 && hdr->hdr_count == 2 ? 0 : 1;
}

static void forks(void)
{
	int fd = create(SIZE, NULL), ends[2], status;
	pfm_default_smpl_hdr_t *hdr = map(fd);
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid)
		_exit(shares(hdr, ends[0]));
	sample(fd, 255);
	CHECK(write(ends[1], "", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(ends[0]);
	close(ends[1]);
	CHECK(!munmap(hdr, SIZE));
	end(fd);
}

static int unmaps(void *at, int fd)
{
	(void)fd;
	return munmap(at, SIZE) ? 1 : 0;
}

/*
 * "always possible to explicitly remove the mapping" in the child, which the parent does not notice
 */
static void child_unmaps(void)
{
	int fd = create(SIZE, NULL);
	pfm_default_smpl_hdr_t *hdr = map(fd);

	CHECK(in_child(unmaps, hdr, fd) == 0);
	sample(fd, 155);
	CHECK(hdr->hdr_count == 1);
	CHECK(!munmap(hdr, SIZE));
	end(fd);
}

/* The buffer's memory is not freed while it is mapped. */
static void closed(void)
{
	int fd = create(SIZE, NULL), other = dup(fd);
	pfm_default_smpl_hdr_t *hdr = map(fd);

	sample(fd, 255);
	CHECK(!close(fd));
	CHECK(!munmap(hdr, SIZE));
	hdr = map(other);	/* "remains until the last controlling thread closes" */
	CHECK(hdr->hdr_count == 2);
	end(other);
	CHECK(hdr->hdr_count == 2);
	CHECK(!munmap(hdr, SIZE));
}

/* 3.6.5: a restart "only affects the buffer header, the rest of the buffer is not touched". */
static void restarted(void)
{
	int fd = create(SIZE, NULL);
	const pfm_default_smpl_hdr_t *hdr = map(fd);
	const pfm_default_smpl_entry_t *samples = (const void *)(hdr + 1);
	pfm_default_smpl_entry_t before[2];

	sample(fd, 255);
	memcpy(before, samples, sizeof(before));
	CHECK(hdr->hdr_count == 2 && hdr->hdr_cur_offs == sizeof(*hdr) + sizeof(before));
	CHECK(samples[0].tstamp == 100 && samples[1].tstamp == 200 && samples[1].ip == 0x1000);
	CHECK(!perfmonctl(fd, PFM_RESTART, NULL, 0));
	CHECK(hdr->hdr_count == 0 && hdr->hdr_cur_offs == sizeof(*hdr));
	CHECK(!memcmp(before, samples, sizeof(before)));
	CHECK(!munmap((void *)hdr, SIZE));
	end(fd);
}

static const struct part cases[] = {
	{ "no_padding", no_padding }, { "sequence", sequence }, { "not_by_read", not_by_read },
	{ "protections", protections }, { "map_flags", map_flags }, { "sizes", sizes }, { "once", once },
	{ "still_once", still_once },
	{ "no_buffer", no_buffer }, { "read_only", read_only }, { "unmapped", unmapped },
	{ "forks", forks }, { "child_unmaps", child_unmaps }, { "closed", closed },
	{ "restarted", restarted }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	CHECK(!pfm_set_machine("sim:itanium2", NULL));
	return run_part(cases, argc, argv);
}
