// SPDX-License-Identifier: MIT
/*
 * beside.c - perf and perfmon.ko measure the same thread at the same time: both count all of its
 * work, and neither takes the other's interrupts for its own. Here an instruction takes two cycles.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "check.h"

#define CTL	"/tmp/ctl"
#define ACK	"/tmp/ack"
#define OUT	"/tmp/perf.out"
#define LOOP	3000000ULL
#define PERIOD	10000ULL	/* perfmon's period, in cycles */
#define PERFS	14000ULL	/* perf's period */
#define BUFFER	(1 << 20)

/* --- perf ------------------------------------------------------------------------------------- */

struct perf {
	pid_t	pid;
	int	ctl, ack;
};

static bool tell(const struct perf *p, const char *word)
{
	char answer[8];

	return write(p->ctl, word, strlen(word)) == (ssize_t)strlen(word) &&
	       read(p->ack, answer, sizeof(answer)) > 0 && !strncmp(answer, "ack\n", 4);
}

/* Starts perf WHAT on a target; when it returns, perf's events count. */
static struct perf perf_begin(const char *what, const char *target)
{
	char command[512];
	struct perf p;

	unlink(CTL);
	unlink(ACK);
	check(!mkfifo(CTL, 0600) && !mkfifo(ACK, 0600), "mkfifo: %s", strerror(errno));
	p.ctl = open(CTL, O_RDWR | O_CLOEXEC);
	p.ack = open(ACK, O_RDWR | O_CLOEXEC);
	snprintf(command, sizeof(command), "exec perf %s -D -1 --control fifo:" CTL "," ACK " %s >/tmp/perf.log 2>&1",
		 what, target);
	p.pid = fork();
	if (!p.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	check(tell(&p, "enable\n"), "perf does not answer");
	return p;
}

static void perf_end(struct perf *p)
{
	int status = -1;

	waitpid(p->pid, &status, 0);
	check(!status, "perf ends with %#x", status);
	close(p->ctl);
	close(p->ack);
}

/* Returns what perf stat -x, counted of an event, which must have been counted all the time. */
static uint64_t counted(const char *event)
{
	char line[256], name[64], percent[16];
	uint64_t n, value = 0, time;
	FILE *f = fopen(OUT, "r");
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNu64 ",,%63[^,],%" SCNu64 ",%15[^,]", &n, name, &time, percent) != 4 ||
		    strcmp(name, event))
			continue;
		check(!strcmp(percent, "100.00"), "%s counted %s%% of the time", event, percent);
		value = n;
		found = true;
	}
	check(found, "perf did not count %s", event);
	if (f)
		fclose(f);
	return value;
}

/* Returns the number of samples that perf record has written. */
static uint64_t recorded(void)
{
	FILE *f = popen("perf report --stdio --stats -i " OUT " 2>/tmp/perf.log", "r");
	uint64_t n = 0, value = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " SAMPLE events: %" SCNu64, &n) == 1)
			value = n;
		check(!strstr(line, "LOST"), "perf lost samples: %s", line);
	}
	if (f)
		pclose(f);
	return value;
}

/* --- perfmon ---------------------------------------------------------------------------------- */

struct own {
	int	fd;
	const pfm_dfl_smpl_hdr_t *hdr;
};

/* Starts a context on a thread: PMD0 samples cycles, PMD1 counts instructions, PMD2 cycles. */
static bool own_begin(struct own *o, pid_t target)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = BUFFER };
	pfarg_ctx_t ctx = { 0 };

	o->fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg));
	if (o->fd < 0)
		return check(false, "setup: %s", pfm_explain());
	fcntl(o->fd, F_SETFD, FD_CLOEXEC);
	o->hdr = mmap(NULL, BUFFER, PROT_READ, MAP_SHARED, o->fd, 0);
	return check(o->hdr != MAP_FAILED && !set_pmc(o->fd, 0, 0, USER | CYCLES) &&
		     !set_period(o->fd, 0, 0, PERIOD, 0) && !set_pmc(o->fd, 0, 1, USER | INST) &&
		     !set_pmc(o->fd, 0, 2, USER | CYCLES) && !load(o->fd, target) && !pfm_start(o->fd, NULL),
		     "setup: %s", pfm_explain());
}

/* Waits for the target's end, and checks that nothing was lost. Returns the counts. */
static void own_end(struct own *o, uint64_t *instructions, uint64_t *cycles)
{
	pfarg_msg_t msg;

	check(read(o->fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END, "no END");
	*instructions = get_pmd(o->fd, 0, 1);
	*cycles = get_pmd(o->fd, 0, 2);
	if (percpu_exact()) {
		EQUAL(*cycles, 2 * *instructions);
		EQUAL(o->hdr->hdr_count, *cycles / PERIOD);
		EQUAL(get_pmd(o->fd, 0, 0), *cycles % PERIOD - PERIOD);
		TRUE(*instructions >= 2 * LOOP && *instructions < 2 * LOOP + 10000);
	}
	munmap((void *)o->hdr, BUFFER);
	close(o->fd);
}

/* --- both ------------------------------------------------------------------------------------- */

/* Measures a thread that runs the loop by perf WHAT and by a context. */
static void both(const char *what, uint64_t *instructions, uint64_t *cycles)
{
	struct child c = child_new(child_spin, LOOP);
	struct own own = { .fd = -1 };
	struct perf p;
	char target[16];

	snprintf(target, sizeof(target), "-p %d", c.pid);
	p = perf_begin(what, target);
	*instructions = *cycles = 0;
	if (!own_begin(&own, c.pid)) {
		kill(p.pid, SIGTERM);
		kill(c.pid, SIGKILL);
		return;
	}
	child_go(&c);
	own_end(&own, instructions, cycles);
	EQUAL(child_end(&c), 0);
	perf_end(&p);
}

static void perf_stat_beside(void)
{
	uint64_t instructions, cycles;

	both("stat -x, -o " OUT " -e instructions:u,cycles:u", &instructions, &cycles);
	if (percpu_exact()) {
		EQUAL(counted("instructions:u"), instructions);
		EQUAL(counted("cycles:u"), cycles);
	} else {
		TRUE(counted("instructions:u") >= 2 * LOOP && counted("cycles:u") >= 4 * LOOP);
	}
}

static void perf_record_beside(void)
{
	char what[128];
	uint64_t instructions, cycles, n;

	snprintf(what, sizeof(what), "record -B -N -o " OUT " -e cycles:u -c %llu", PERFS);
	both(what, &instructions, &cycles);
	n = recorded();
	if (percpu_exact())
		EQUAL(n, cycles / PERFS);
	else
		TRUE(n >= 4 * LOOP / PERFS);
}

/* perf counts all CPUs, and perfmon one of them: both count all that runs on this one. */
static void perf_counts_all_cpus_beside(void)
{
	uint64_t mine, before;
	struct perf p;
	int fd;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, 0));
	p = perf_begin("stat -x, -o " OUT " -e instructions:u", "-a");
	MUST(pfm_start(fd, NULL));
	before = get_pmd(fd, 0, 0);
	spin(LOOP);
	mine = get_pmd(fd, 0, 0) - before;
	MUST(pfm_stop(fd));
	kill(p.pid, SIGINT);
	waitpid(p.pid, NULL, 0);
	TRUE(mine >= 2 * LOOP);
	TRUE(counted("instructions:u") >= 2 * LOOP);
	close(p.ctl);
	close(p.ack);
	close(fd);
}

int main(void)
{
	pin(0);
	TEST(perf_stat_beside);
	TEST(perf_record_beside);
	TEST(perf_counts_all_cpus_beside);
	return tests_failed > 0;
}
