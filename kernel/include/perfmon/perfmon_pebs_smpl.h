/* SPDX-License-Identifier: MIT */
/*
 * perfmon_pebs_smpl.h - the sampling formats for records that the processor itself writes:
 * precise event-based sampling (PEBS) of Intel's processors.
 *
 * The buffer is a header and records of one size. At each overflow of a counter that is enabled
 * in PEBS_ENABLE, the processor appends a record and reloads the counter from
 * hdr_ds.pebs_counter_reset; it interrupts when pebs_index reaches pebs_interrupt_threshold.
 * Then a notification is sent, and monitoring is masked until pfm_restart(), which empties the
 * buffer. The counter's long_reset should equal its counter reset. Other counters' overflows
 * leave no record.
 *
 * The layout of records is that of Intel's Software Developer's Manual, volume 3. Addresses in
 * hdr_ds are offsets from the start of the buffer. On the simulated computer a record's ip is
 * the address of the instruction that made the counter overflow (processors record that of the
 * next one), and registers are 0.
 */
#ifndef PERFMON_PEBS_SMPL_H
#define PERFMON_PEBS_SMPL_H

#include "perfmon/perfmon.h"
#include "perfmon/uuid.h"

#define PFM_PEBS_SMPL_NAME	"pebs"		/* EM64T, Core 2 */
#define PFM_PEBS_SMPL_UUID_OF(F) F(0c, a5, 5d, 01, 6e, 13, 4b, 7e, 8f, 62, d0, 3b, 94, 21, 7a, 64)
#define PFM_PEBS_SMPL_UUID	PFM_PEBS_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_PEBS32_SMPL_NAME	"pebs-32"	/* Pentium 4 */
#define PFM_PEBS32_SMPL_UUID_OF(F) F(0c, a5, 5d, 01, 6e, 13, 4b, 7e, 8f, 62, d0, 3b, 94, 21, 7a, 32)
#define PFM_PEBS32_SMPL_UUID	PFM_PEBS32_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_PEBS_NHM_SMPL_NAME	"pebs-nehalem"
#define PFM_PEBS_NHM_SMPL_UUID_OF(F) F(0c, a5, 5d, 01, 6e, 13, 4b, 7e, 8f, 62, d0, 3b, 94, 21, 7a, 01)
#define PFM_PEBS_NHM_SMPL_UUID	PFM_PEBS_NHM_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_PEBS_SMPL_VERSION	0x10000U

#define PFM_PEBS_COUNTERS	4

typedef struct {
	uint64_t	buf_size;	/* bytes, header included */
	uint64_t	intr_thres;	/* records until it interrupts; 0: a full buffer */
	/* minus the period of each counter; Pentium 4: [0] is that of IQ_COUNTER4 */
	uint64_t	cnt_reset[PFM_PEBS_COUNTERS];
	uint64_t	reserved[2];
} pfm_pebs_smpl_arg_t;

/* The debug store area; its branch part is not used. */
typedef struct {
	uint64_t	bts_buffer_base, bts_index, bts_absolute_maximum, bts_interrupt_threshold;
	uint64_t	pebs_buffer_base, pebs_index, pebs_absolute_maximum, pebs_interrupt_threshold;
	uint64_t	pebs_counter_reset[PFM_PEBS_COUNTERS];
} pfm_ds_area_t;

typedef struct {
	pfm_ds_area_t	hdr_ds;
	uint32_t	hdr_version;
	uint32_t	hdr_record_size;
	uint64_t	hdr_buf_size;
	uint64_t	hdr_overflows;	/* times the threshold was reached */
	uint64_t	hdr_others;	/* overflows of other counters */
} pfm_pebs_smpl_hdr_t;

typedef struct {
	uint32_t	eflags, eip, eax, ebx, ecx, edx, esi, edi, ebp, esp;
} pfm_pebs32_record_t;

typedef struct {
	uint64_t	rflags, rip, rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
	uint64_t	r8, r9, r10, r11, r12, r13, r14, r15;
} pfm_pebs_record_t;

/* The part of the memory system that answered a load: data_source in pebs-nehalem. */
#define PFM_PEBS_L1	0x1
#define PFM_PEBS_L2	0x3
#define PFM_PEBS_L3	0x4
#define PFM_PEBS_DRAM	0xa	/* memory of this socket */

typedef struct {
	pfm_pebs_record_t regs;
	uint64_t	status;		/* bit n: counter n overflowed */
	uint64_t	data_addr, data_source, latency;	/* loads: PEBS_ENABLE bit 32 + n */
} pfm_pebs_nhm_record_t;

#endif /* PERFMON_PEBS_SMPL_H */
