/* SPDX-License-Identifier: MIT */
/*
 * perfmon_stack_smpl.h - the sampling format "stack": samples with their call stacks (6.3.2).
 *
 * The buffer is a header and records one after the other, each with its type and size. What the samples of the
 * default format say is there; the frames of the kernel's and of the user's stack follow, and on request what
 * it takes to unwind the user's stack later. A reader passes over types of records that it does not know.
 * Buffers are filled, and restarted, as those of the default format (3.6.5).
 *
 * With RECORDS there is, too, what correlates samples with programs: MAP, EXEC, FORK, EXIT and, from real machines,
 * RENAME records (of threads that name themselves) from the load on, of the thread or, system-wide, of those on the
 * CPU; and LOST records. What a thread did on another CPU is in that CPU's buffer; what it had mapped before, at the
 * latest after its first sample, in each where it has some. While the buffer is full they wait in a part of it that is
 * kept free for them, and come first after the restart.
 *
 * With SWITCHES, and RECORDS, SWITCH records tell when threads leave a CPU and come back. The machine perf has them.
 *
 * With regions, 2 or more, monitoring goes on while the tool reads (6.3.1): the buffer is a header, the fills of all
 * regions, and these, of equal size. When a sample fills one, a notification is sent, and the next one takes over.
 * The tool reads full regions in order, from hdr_tail, and gives each back with one pfm_restart(). Monitoring is
 * masked only when all are full. A region that a record fills is told of with the next; the one in hand, which
 * follows the full ones, may be read as far as its cur_offs.
 */
#ifndef PERFMON_STACK_SMPL_H
#define PERFMON_STACK_SMPL_H

#include "perfmon/perfmon_dfl_smpl.h"

#define PFM_STACK_SMPL_NAME	"stack"
#define PFM_STACK_SMPL_UUID_OF(F) F(5b, 1e, 90, c4, 37, 6d, 4a, 28, 8e, f1, 0b, 72, d5, 49, 63, ac)
#define PFM_STACK_SMPL_UUID	PFM_STACK_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_STACK_SMPL_VERSION	0x10003U

#define PFM_STACK_SMPL_NO_KERNEL 0x1000U	/* no frames of the kernel */
#define PFM_STACK_SMPL_NO_USER	0x2000U	/* no frames of the user level */
#define PFM_STACK_SMPL_COPY	0x4000U	/* the user's registers and a copy of the user's stack */
#define PFM_STACK_SMPL_RECORDS	0x8000U	/* MAP, EXEC, FORK, EXIT and LOST records */
#define PFM_STACK_SMPL_SWITCHES	0x10000U	/* with RECORDS: SWITCH records, too */

#define PFM_STACK_SMPL_FRAMES	127	/* max_frames if it is 0 */
#define PFM_STACK_SMPL_MAX_FRAMES 1024
#define PFM_STACK_SMPL_BYTES	8192	/* max_stack if it is 0 */
#define PFM_STACK_SMPL_MAX_BYTES 65528	/* as perf_event_open(2) */
#define PFM_STACK_SMPL_MAX_REGS	64
#define PFM_STACK_SMPL_MAX_REGIONS 8
#define PFM_STACK_SMPL_MAX_PATH	4096	/* bytes, with the 0 at its end */
#define PFM_STACK_SMPL_BUILD_ID	20	/* bytes at most */
#define PFM_STACK_SMPL_COMM	16	/* bytes of a thread's name, with the 0 */

typedef struct {
	uint64_t	buf_size;	/* bytes, header included */
	uint32_t	buf_flags;
	uint16_t	max_frames;	/* of a sample, both levels together; 0: PFM_STACK_SMPL_FRAMES */
	uint16_t	max_stack;	/* COPY: bytes of the stack, a multiple of 8; 0: PFM_STACK_SMPL_BYTES */
	uint32_t	num_regions;	/* up to PFM_STACK_SMPL_MAX_REGIONS; 0: one, the whole buffer */
	uint32_t	reserved1;
	uint64_t	reserved[5];
} pfm_stack_smpl_arg_t;

/* How far a region is filled. */
typedef struct {
	uint64_t	count;		/* samples in it */
	uint64_t	cur_offs;	/* offset in the buffer of the first byte after its last record */
} pfm_stack_smpl_fill_t;

/* Up to hdr_buf_flags it is the default format's. With regions, pfm_stack_smpl_fill_t[hdr_num_regions] follow. */
typedef struct {
	uint64_t	hdr_count;	/* samples since the last restart, no other records; 0: regions */
	uint64_t	hdr_cur_offs;	/* of the first byte after the last record; with regions, of the first */
	uint64_t	hdr_overflows;	/* times the buffer was full; with regions, all of them */
	uint64_t	hdr_buf_size;	/* bytes */
	uint64_t	hdr_min_buf_space;	/* largest sample, and what is kept free: full when less is left */
	uint32_t	hdr_version;
	uint32_t	hdr_buf_flags;
	uint64_t	hdr_lost;	/* samples that came together with the one that filled the buffer */
	uint16_t	hdr_max_frames;
	uint16_t	hdr_max_stack;
	uint32_t	hdr_reserved1;
	uint64_t	hdr_held;	/* RECORDS: bytes after the last record that come first after the restart */
	uint64_t	hdr_untold[4];	/* RECORDS: lost, by PFM_STACK_SMPL_LOST_*, and in no LOST record yet */
	uint64_t	hdr_region_size;	/* bytes; region i begins at hdr_cur_offs + i * hdr_region_size */
	uint16_t	hdr_num_regions;	/* 0: the buffer is one */
	uint16_t	hdr_cur;	/* the region being filled */
	uint16_t	hdr_tail;	/* the oldest full region: the next one to read */
	uint16_t	hdr_num_full;	/* full regions from hdr_tail on; without hdr_cur, where all are */
	uint64_t	hdr_reserved;
} pfm_stack_smpl_hdr_t;

enum {
	PFM_STACK_SMPL_SAMPLE = 1,	/* pfm_stack_smpl_sample_t */
	PFM_STACK_SMPL_MAP,		/* pfm_stack_smpl_map_t */
	PFM_STACK_SMPL_EXEC,		/* pfm_stack_smpl_exec_t */
	PFM_STACK_SMPL_FORK,		/* pfm_stack_smpl_fork_t */
	PFM_STACK_SMPL_EXIT,		/* pfm_stack_smpl_event_t: the thread ended */
	PFM_STACK_SMPL_LOST,		/* pfm_stack_smpl_lost_t */
	PFM_STACK_SMPL_RENAME,		/* pfm_stack_smpl_exec_t: the thread has another name now */
	PFM_STACK_SMPL_COUNT,		/* pfm_stack_smpl_count_t: the thread ended */
	PFM_STACK_SMPL_SWITCH,		/* pfm_stack_smpl_switch_t */
};

typedef struct {
	uint32_t	rec_type;
	uint32_t	rec_size;	/* bytes with this header, a multiple of 8 */
} pfm_stack_smpl_rec_t;

/*
 * A sample. In 64-bit words there follow the values of num_pmds PMDs (ascending), num_kernel frames, num_user
 * frames, num_regs registers, and stack_size bytes of the stack. Frames are addresses, the innermost first: that
 * of the sample itself, then those to which the functions return. Of a sample in the kernel, the user's frames
 * begin where the kernel was entered. Registers are those of Linux' asm/perf_regs.h, by ascending number; the
 * copy of the stack begins at the stack pointer.
 */
typedef struct {
	pfm_stack_smpl_rec_t	rec;
	pfm_dfl_smpl_entry_t	entry;
	uint16_t		num_pmds;
	uint16_t		num_kernel;
	uint16_t		num_user;
	uint16_t		num_regs;
	uint32_t		stack_size;
	uint32_t		reserved;
} pfm_stack_smpl_sample_t;

/* All other records begin with the process, thread and time. Ids and the clock are those of samples. */
typedef struct {
	pfm_stack_smpl_rec_t	rec;
	uint32_t		pid;
	uint32_t		tid;
	uint64_t		tstamp;
} pfm_stack_smpl_event_t;

/* The process has a part of a file mapped as code. Its path follows, ended by 0 and filled up to 8 bytes with 0. */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		addr;
	uint64_t		len;		/* bytes */
	uint64_t		offset;		/* of addr in the file */
	uint8_t			build_id[PFM_STACK_SMPL_BUILD_ID];
	uint8_t			build_id_size;	/* 0: not known */
	uint8_t			reserved[3];
} pfm_stack_smpl_map_t;

/* The thread runs another program from now on, and its process has no other mappings than those told after this. */
typedef struct {
	pfm_stack_smpl_event_t	event;
	char			comm[PFM_STACK_SMPL_COMM];	/* its name from now on */
} pfm_stack_smpl_exec_t;

/* The thread is new: a thread of the process that it was made by, or a process with mappings like that one's. */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint32_t		ppid;		/* the process that created it */
	uint32_t		ptid;
} pfm_stack_smpl_fork_t;

/*
 * With PFM_FL_INHERIT: what a thread that the monitored one created had counted when it ended, of a PMD without a
 * period. There may be several of a thread and PMD, which add up. One thread has none: what is left of the PMD's value
 * is its part. That is the monitored thread, unless the kernel has exchanged its counters with those of another.
 */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		value;
	uint16_t		pmd;
	uint16_t		reserved[3];
} pfm_stack_smpl_count_t;

/* What became of the thread on its CPU. */
enum {
	PFM_STACK_SMPL_IN,	/* it runs from now on */
	PFM_STACK_SMPL_OUT,	/* it waits for something, or has ended */
	PFM_STACK_SMPL_PREEMPTED,	/* it is ready to run, and another thread has the CPU */
};

typedef struct {
	pfm_stack_smpl_event_t	event;
	uint32_t		how;		/* PFM_STACK_SMPL_IN, ... */
	uint32_t		reserved;
} pfm_stack_smpl_switch_t;

/* Why something is not in the buffer. A timer that comes late is no reason: nothing happened that was not sampled. */
enum {
	PFM_STACK_SMPL_LOST_FULL,	/* samples: the buffer was full, by one of the same moment */
	PFM_STACK_SMPL_LOST_SOURCE,	/* samples: the machine's own buffer was full, or it came too late */
	PFM_STACK_SMPL_LOST_THROTTLED,	/* samples: held back by the machine */
	PFM_STACK_SMPL_LOST_RECORDS,	/* records: the part kept free for them was full */
	PFM_STACK_SMPL_LOST_REASONS
};

/* Before the next sample or record that was not lost. event says what that does. */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		count;
	uint32_t		why;		/* PFM_STACK_SMPL_LOST_* */
	uint32_t		reserved;
} pfm_stack_smpl_lost_t;

#endif /* PERFMON_STACK_SMPL_H */
