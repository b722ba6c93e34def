/* SPDX-License-Identifier: MIT */
/*
 * formats.h - a sampling format that records how it is called and does what a case asks for, and
 * the simulated computer that uses it (3.5.7 - 3.5.15).
 */
#ifndef LPFM_FORMATS_H
#define LPFM_FORMATS_H

#include "harness.h"
#include "perfmon/sim.h"

#define MAX_CALLS 64

struct recorder_arg {
	uint64_t	size;
	uint32_t	mark;
	uint32_t	unused;
};

struct handled {
	uint64_t		tstamp;
	void			*buf;
	pfm_ovfl_arg_t		arg;
	struct pfm_where	where;
};

/* The results of the recorder's functions, and the arguments of the calls that they got. */
struct recorder {
	int		validate_err, getsize_err, init_err, exit_err, restart_err;
	int		handler_err_pmd;	/* the handler refuses this PMD's overflow */
	int		size;			/* size of the buffer; -1: what the argument says */
	/* by_pmd: added to ctrl for overflows of PMD0 - PMD7 */
	pfm_ovfl_ctrl_t	ctrl, by_pmd[8], restart_ctrl;

	char		calls[MAX_CALLS + 1];	/* one letter per call: v g i h r x */
	uint32_t	ctx_flags;
	uint16_t	num_pmds;
	struct recorder_arg arg;		/* as last seen */
	void		*buf;			/* the buffer in init, handler, restart and exit */
	unsigned char	buf_at_exit;		/* the buffer's first byte when exit was called */
	int		is_active;
	struct handled	handled[MAX_CALLS];
	unsigned int	num_handled;
};

extern struct recorder rec;
/* The format: a case may change it before it registers it. */
extern pfm_buffer_fmt_t recorder;

/* Begins with a fresh computer and a fresh recorder, which is not registered. */
void begin(const char *options);
/* Registers the recorder and creates a context with it. */
int recorded(uint32_t ctx_flags);
/* Returns the errno with which creating a context with the recorder fails. */
int create_errno(uint32_t ctx_flags, struct recorder_arg *arg);
/* From now on calls are made by a simulated thread; 0: by the tool. */
void act(uint32_t tid);
/* Starts a thread of this program, and returns its id. */
uint32_t program(const struct pfm_sim_step *steps, uint32_t n);
/* Starts a thread of n instructions of 10 ns at user level. */
uint32_t thread(uint64_t n);
/* Lets counter num count instructions in a set, from value on. */
void counter(int fd, uint16_t set, uint16_t num, int64_t value, const pfarg_pmd_t *more);
void load_and_start(int fd, uint32_t tid);
void run(uint64_t ns);
uint64_t value_of(int fd, uint16_t set, uint16_t num);
/* Reads the next message. Returns false if there is none. */
bool message(int fd, pfarg_msg_t *msg);
enum pfm_sim_state state_of(uint32_t tid);
/* Closes fd, and checks that nothing is left: sessions, buffers, uses of the format. */
void end(int fd);

#define EQUAL(is, wanted) do { \
	long long is_ = (long long)(is), wanted_ = (long long)(wanted); \
	CHECK(is_ == wanted_, "%s:%d: %s is %lld, not %lld", __FILE__, __LINE__, #is, is_, wanted_); \
} while (0)
#define TRUE(cond) CHECK(cond, "%s:%d: %s", __FILE__, __LINE__, #cond)
#define CALLS(wanted) CHECK(!strcmp(rec.calls, wanted), "%s:%d: called %s, not %s", __FILE__, __LINE__, \
			    rec.calls, wanted)

struct format_case {
	const char	*name;
	void		(*run)(void);
};

extern const struct format_case life_cases[], overflow_cases[], restart_cases[];

#endif
