/* SPDX-License-Identifier: MIT */
/*
 * perfmon_stack_smpl.h - the sampling format "stack": samples with their call stacks (6.3.2).
 *
 * The buffer is a header and a sequence of records, each with its type and size. Samples have the
 * fields of the default format's, then the frames of the kernel's and of the user's stack and, on
 * request, what is needed to unwind the user's stack later. Readers should skip records of unknown
 * types. The buffer fills up and is restarted like that of the default format (3.6.5).
 *
 * With RECORDS, the buffer also has what relates samples to programs: LOST records and, from the
 * load on, MAP, EXEC, FORK, EXIT and, on real machines, RENAME records (of threads that name
 * themselves). They concern the monitored thread or, for system-wide contexts, the threads on
 * the CPU. Records of what a thread did on another CPU are in that CPU's buffer; its earlier
 * mappings are recorded in each buffer with its samples, at the latest after the first one.
 * While the buffer is full, records wait in a part that is kept free for them, and they come
 * first after the restart.
 *
 * With SWITCHES, and RECORDS, SWITCH records say when threads leave a CPU and come back. The
 * machine perf has them.
 *
 * With two or more regions, monitoring continues while the tool reads (6.3.1): the buffer is a
 * header, the fill states of all regions, and the regions, of equal size. When a sample fills a
 * region, a notification is sent, and the next region is used. The tool reads full regions in
 * order, from hdr_tail, and gives each back with one pfm_restart(). Monitoring is masked only
 * when all are full. If another record fills a region, the notification comes with that of the
 * next region. The region in use, which follows the full ones, may be read up to its cur_offs.
 */
#ifndef PERFMON_STACK_SMPL_H
#define PERFMON_STACK_SMPL_H

#include "perfmon/perfmon_dfl_smpl.h"

#define PFM_STACK_SMPL_NAME	"stack"
#define PFM_STACK_SMPL_UUID_OF(F) F(5b, 1e, 90, c4, 37, 6d, 4a, 28, 8e, f1, 0b, 72, d5, 49, 63, ac)
#define PFM_STACK_SMPL_UUID	PFM_STACK_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_STACK_SMPL_VERSION	0x10003U

#define PFM_STACK_SMPL_NO_KERNEL 0x1000U	/* no frames of the kernel's stack */
#define PFM_STACK_SMPL_NO_USER	0x2000U	/* no frames of the user's stack */
#define PFM_STACK_SMPL_COPY	0x4000U	/* the user's registers and a copy of the user's stack */
#define PFM_STACK_SMPL_RECORDS	0x8000U	/* MAP, EXEC, FORK, EXIT and LOST records */
#define PFM_STACK_SMPL_SWITCHES	0x10000U	/* with RECORDS: SWITCH records, too */

#define PFM_STACK_SMPL_FRAMES	127	/* default of max_frames */
#define PFM_STACK_SMPL_MAX_FRAMES 1024
#define PFM_STACK_SMPL_BYTES	8192	/* default of max_stack */
#define PFM_STACK_SMPL_MAX_BYTES 65528	/* the limit of perf_event_open(2) */
#define PFM_STACK_SMPL_MAX_REGS	64
#define PFM_STACK_SMPL_MAX_REGIONS 8
#define PFM_STACK_SMPL_MAX_PATH	4096	/* bytes, with the final 0 */
#define PFM_STACK_SMPL_BUILD_ID	20	/* bytes at most */
#define PFM_STACK_SMPL_COMM	16	/* bytes of a thread's name, with the 0 */

typedef struct {
	uint64_t	buf_size;	/* bytes, header included */
	uint32_t	buf_flags;
	uint16_t	max_frames;	/* frames of a sample; 0: PFM_STACK_SMPL_FRAMES */
	/* COPY: bytes of the stack, a multiple of 8; 0: PFM_STACK_SMPL_BYTES */
	uint16_t	max_stack;
	/* up to PFM_STACK_SMPL_MAX_REGIONS; 0: one, the whole buffer */
	uint32_t	num_regions;
	uint32_t	reserved1;
	uint64_t	reserved[5];
} pfm_stack_smpl_arg_t;

/* The fill state of a region. */
typedef struct {
	uint64_t	count;		/* samples in the region */
	uint64_t	cur_offs; /* offset in the buffer of the first byte after its last record */
} pfm_stack_smpl_fill_t;

/*
 * Fields up to hdr_buf_flags are the default format's. With regions,
 * pfm_stack_smpl_fill_t[hdr_num_regions] follow.
 */
typedef struct {
	uint64_t	hdr_count;	/* samples since the last restart; with regions, 0 */
	/* offset of the records' end; with regions, of the first region */
	uint64_t	hdr_cur_offs;
	uint64_t	hdr_overflows;	/* times the buffer, or all regions, were full */
	uint64_t	hdr_buf_size;	/* bytes */
	/* full when less is left: a sample, and what is kept free */
	uint64_t	hdr_min_buf_space;
	uint32_t	hdr_version;
	uint32_t	hdr_buf_flags;
	/* samples lost because another sample of the same overflow filled the buffer */
	uint64_t	hdr_lost;
	uint16_t	hdr_max_frames;
	uint16_t	hdr_max_stack;
	uint32_t	hdr_reserved1;
	uint64_t	hdr_held;	/* RECORDS: bytes of records that wait for the restart */
	uint64_t	hdr_untold[4];	/* RECORDS: losses not in a LOST record yet */
	/* bytes; region i begins at hdr_cur_offs + i * hdr_region_size */
	uint64_t	hdr_region_size;
	uint16_t	hdr_num_regions;	/* 0: no regions */
	uint16_t	hdr_cur;	/* the region in use */
	uint16_t	hdr_tail;	/* the oldest full region: the next one to read */
	uint16_t	hdr_num_full;	/* full regions from hdr_tail on, hdr_cur too if all are */
	uint64_t	hdr_reserved;
} pfm_stack_smpl_hdr_t;

enum {
	PFM_STACK_SMPL_SAMPLE = 1,	/* pfm_stack_smpl_sample_t */
	PFM_STACK_SMPL_MAP,		/* pfm_stack_smpl_map_t */
	PFM_STACK_SMPL_EXEC,		/* pfm_stack_smpl_exec_t */
	PFM_STACK_SMPL_FORK,		/* pfm_stack_smpl_fork_t */
	PFM_STACK_SMPL_EXIT,		/* pfm_stack_smpl_event_t: the thread ended */
	PFM_STACK_SMPL_LOST,		/* pfm_stack_smpl_lost_t */
	PFM_STACK_SMPL_RENAME,		/* pfm_stack_smpl_exec_t: the thread changed its name */
	PFM_STACK_SMPL_COUNT,		/* pfm_stack_smpl_count_t: the thread ended */
	PFM_STACK_SMPL_SWITCH,		/* pfm_stack_smpl_switch_t */
};

typedef struct {
	uint32_t	rec_type;
	uint32_t	rec_size;	/* bytes with this header, a multiple of 8 */
} pfm_stack_smpl_rec_t;

/*
 * A sample. In 64-bit words, these follow: the values of num_pmds PMDs (ascending), num_kernel
 * frames, num_user frames, num_regs registers, and stack_size bytes of the stack. Frames are
 * addresses, the innermost first: that of the sample itself, then return addresses. For a sample
 * in the kernel, the user's frames begin at the entry into the kernel. Registers are those of
 * Linux' asm/perf_regs.h, by ascending number; the copy of the stack begins at the stack
 * pointer.
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

/* The fields at the beginning of all other records. Ids and the clock are those of samples. */
typedef struct {
	pfm_stack_smpl_rec_t	rec;
	uint32_t		pid;
	uint32_t		tid;
	uint64_t		tstamp;
} pfm_stack_smpl_event_t;

/*
 * The process has mapped a part of a file as code. Its path follows, 0-terminated and padded
 * with 0 to 8 bytes.
 */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		addr;
	uint64_t		len;		/* bytes */
	uint64_t		offset;		/* file offset of addr */
	uint8_t			build_id[PFM_STACK_SMPL_BUILD_ID];
	uint8_t			build_id_size;	/* 0: unknown */
	uint8_t			reserved[3];
} pfm_stack_smpl_map_t;

/*
 * The thread has executed another program. Its process keeps no mappings; MAP records for the
 * new ones follow.
 */
typedef struct {
	pfm_stack_smpl_event_t	event;
	char			comm[PFM_STACK_SMPL_COMM];	/* the new name */
} pfm_stack_smpl_exec_t;

/*
 * The thread was created, in the process of its creator, or in a new process with the same
 * mappings.
 */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint32_t		ppid;		/* the process of its creator */
	uint32_t		ptid;
} pfm_stack_smpl_fork_t;

/*
 * With PFM_FL_INHERIT: the count, at its end, of a thread that the monitored one created, for a
 * PMD without a period. Several records of a thread and PMD add up. One thread has no records:
 * its count is the rest of the PMD's value. That is the monitored thread, unless the kernel has
 * exchanged its counters with another thread's.
 */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		value;
	uint16_t		pmd;
	uint16_t		reserved[3];
} pfm_stack_smpl_count_t;

/* The change of the thread's state on its CPU. */
enum {
	PFM_STACK_SMPL_IN,	/* the thread runs */
	PFM_STACK_SMPL_OUT,	/* the thread waits, or has ended */
	PFM_STACK_SMPL_PREEMPTED,	/* the thread is runnable, but another runs */
};

typedef struct {
	pfm_stack_smpl_event_t	event;
	uint32_t		how;		/* one of PFM_STACK_SMPL_IN, OUT, PREEMPTED */
	uint32_t		reserved;
} pfm_stack_smpl_switch_t;

/* The reasons for losses. A late timer loses no samples: nothing happened that was not sampled. */
enum {
	PFM_STACK_SMPL_LOST_FULL,	/* samples: one of the same overflow filled the buffer */
	PFM_STACK_SMPL_LOST_SOURCE,	/* samples: the machine's buffer was full, or read late */
	PFM_STACK_SMPL_LOST_THROTTLED,	/* times that the machine held samples back */
	PFM_STACK_SMPL_LOST_RECORDS,	/* records: the part kept free for them was full */
	PFM_STACK_SMPL_LOST_REASONS
};

/* Losses before the next sample or record; `event` describes that record. */
typedef struct {
	pfm_stack_smpl_event_t	event;
	uint64_t		count;
	uint32_t		why;		/* PFM_STACK_SMPL_LOST_* */
	uint32_t		reserved;
} pfm_stack_smpl_lost_t;

#endif /* PERFMON_STACK_SMPL_H */
