// SPDX-License-Identifier: MIT
/*
 * itanium2_events.c - the events of the Itanium 2: the events of a family have the same code and
 * different unit masks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ia64.h"

enum { I = 1, O = 2, D = 4, IO = I | O, IOD = I | O | D };
enum { L1 = PFMLIB_ITA2_EVT_L1_CACHE_GRP << 4, L2 = PFMLIB_ITA2_EVT_L2_CACHE_GRP << 4 };

struct family {
	const char	*name;
	uint8_t		code;
	uint8_t		counters;
	uint8_t		maxincr;
	uint8_t		group;		/* L1 or L2, plus the set; 0: no group */
	uint8_t		ranges;		/* I: code ranges, O: opcode matching, D: data ranges */
	uint8_t		buffer;
	const char	*members;	/* "SUFFIX=unit mask ..." in hexadecimal */
	const char	*desc;
};

#define ANY_COUNTER 0xf0
#define E(name, code, incr, ranges, members, desc) \
	{ name, code, ANY_COUNTER, incr, 0, ranges, IA64_PLAIN, members, desc }
#define G(name, code, incr, group, ranges, members, desc) \
	{ name, code, ANY_COUNTER, incr, group, ranges, IA64_PLAIN, members, desc }
#define B(name, code, ranges, buffer, members, desc) \
	{ name, code, ANY_COUNTER, 1, 0, ranges, buffer, members, desc }
#define ONE "=0"
#define AGENTS "ANY=3 IO=1 SELF=2"
#define KINDS "ALL=3 FP=2 INT=1"
#define LOST_CAUSES "ALL=0 BI=9 BRQ=a BR_ILOCK=c BUBBLE=d FEFLUSH=1 FILL_RECIRC=8 IBFULL=5 " \
	"IMISS=6 PLP=b TLBMISS=7 UNREACHED=4"

static const struct family families[] = {
	E("ALAT_CAPACITY_MISS", 0x58, 2, IOD, KINDS, "ALAT entries replaced"),
	E("BACK_END_BUBBLE", 0x00, 1, 0, "ALL=0 FE=1 L1D_FPU_RSE=2", "cycles lost in the main pipe"),
	E("BE_BR_MISPRED_DETAIL", 0x61, 1, IO, "ANY=0 PFS=3 ROT=2 STG=1",
	  "branches mispredicted in the back end"),
	E("BE_EXE_BUBBLE", 0x02, 1, 0, "ALL=0 ARCR=4 ARCR_PR_CANCEL_BANK=8 BANK_SWITCH=7 CANCEL=6 "
	  "FRALL=2 GRALL=1 GRGR=5 PR=3", "cycles the back end waits for execution"),
	E("BE_FLUSH_BUBBLE", 0x04, 1, 0, "ALL=0 BRU=1 XPN=2", "cycles lost on pipeline flushes"),
	G("BE_L1D_FPU_BUBBLE", 0xca, 1, L1 | 2, 0, "ALL=0 FPU=1 L1D=2 L1D_DCS=8 L1D_DCURECIR=4 "
	  "L1D_FILLCONF=7 L1D_FULLSTBUF=3 L1D_HPW=5 L1D_L2BPRESS=9 L1D_LDCHK=c L1D_LDCONF=b L1D_NAT=d "
	  "L1D_NATCONF=f L1D_STBUFRECIR=e L1D_TLB=a", "cycles the back end waits for the L1D or the FPU"),
	E("BE_LOST_BW_DUE_TO_FE", 0x72, 2, 0, LOST_CAUSES,
	  "bundles the front end failed to deliver to an idle back end"),
	E("BE_RSE_BUBBLE", 0x01, 1, 0, "ALL=0 AR_DEP=2 BANK_SWITCH=1 LOADRS=5 OVERFLOW=3 UNDERFLOW=4",
	  "cycles the back end waits for the register stack engine"),
	B("BRANCH_EVENT", 0x11, IO, IA64_BTB, ONE, "branches caught by the branch trace buffer"),
	E("BR_MISPRED_DETAIL", 0x5b, 3, IO, "ALL_ALL_PRED=0 ALL_CORRECT_PRED=1 ALL_WRONG_PATH=2 "
	  "ALL_WRONG_TARGET=3 IPREL_ALL_PRED=4 IPREL_CORRECT_PRED=5 IPREL_WRONG_PATH=6 "
	  "IPREL_WRONG_TARGET=7 NTRETIND_ALL_PRED=c NTRETIND_CORRECT_PRED=d NTRETIND_WRONG_PATH=e "
	  "NTRETIND_WRONG_TARGET=f RETURN_ALL_PRED=8 RETURN_CORRECT_PRED=9 RETURN_WRONG_PATH=a "
	  "RETURN_WRONG_TARGET=b", "branches by kind and prediction"),
	E("BR_MISPRED_DETAIL2", 0x68, 2, IO, "ALL_ALL_UNKNOWN_PRED=0 ALL_UNKNOWN_PATH_CORRECT_PRED=1 "
	  "ALL_UNKNOWN_PATH_WRONG_PATH=2 IPREL_ALL_UNKNOWN_PRED=4 IPREL_UNKNOWN_PATH_CORRECT_PRED=5 "
	  "IPREL_UNKNOWN_PATH_WRONG_PATH=6 NRETIND_ALL_UNKNOWN_PRED=c "
	  "NRETIND_UNKNOWN_PATH_CORRECT_PRED=d NRETIND_UNKNOWN_PATH_WRONG_PATH=e "
	  "RETURN_ALL_UNKNOWN_PRED=8 RETURN_UNKNOWN_PATH_CORRECT_PRED=9 RETURN_UNKNOWN_PATH_WRONG_PATH=a",
	  "branches without a known predicted path"),
	E("BR_PATH_PRED", 0x54, 3, IO, "ALL_MISPRED_NOTTAKEN=0 ALL_MISPRED_TAKEN=1 "
	  "ALL_OKPRED_NOTTAKEN=2 ALL_OKPRED_TAKEN=3 IPREL_MISPRED_NOTTAKEN=4 IPREL_MISPRED_TAKEN=5 "
	  "IPREL_OKPRED_NOTTAKEN=6 IPREL_OKPRED_TAKEN=7 NRETIND_MISPRED_NOTTAKEN=c "
	  "NRETIND_MISPRED_TAKEN=d NRETIND_OKPRED_NOTTAKEN=e NRETIND_OKPRED_TAKEN=f "
	  "RETURN_MISPRED_NOTTAKEN=8 RETURN_MISPRED_TAKEN=9 RETURN_OKPRED_NOTTAKEN=a "
	  "RETURN_OKPRED_TAKEN=b", "branches by predicted and real path"),
	E("BR_PATH_PRED2", 0x6a, 2, IO, "ALL_UNKNOWNPRED_NOTTAKEN=0 ALL_UNKNOWNPRED_TAKEN=1 "
	  "IPREL_UNKNOWNPRED_NOTTAKEN=4 IPREL_UNKNOWNPRED_TAKEN=5 NRETIND_UNKNOWNPRED_NOTTAKEN=c "
	  "NRETIND_UNKNOWNPRED_TAKEN=d RETURN_UNKNOWNPRED_NOTTAKEN=8 RETURN_UNKNOWNPRED_TAKEN=9",
	  "branches without a known prediction"),
	E("BUS_ALL", 0x87, 1, 0, AGENTS, "bus transactions"),
	E("BUS_BACKSNP_REQ", 0x8e, 1, 0, "THIS=1", "back snoop requests"),
	E("BUS_BRQ_LIVE_REQ_HI", 0x9c, 2, 0, ONE, "live BRQ requests, upper two bits"),
	E("BUS_BRQ_LIVE_REQ_LO", 0x9b, 7, 0, ONE, "live BRQ requests, lower three bits"),
	E("BUS_BRQ_REQ_INSERTED", 0x9d, 1, 0, ONE, "requests put into the BRQ"),
	E("BUS_DATA_CYCLE", 0x88, 1, 0, ONE, "bus cycles with valid data"),
	E("BUS_HITM", 0x84, 1, 0, ONE, "bus transactions that hit a modified line"),
	E("BUS_IO", 0x90, 1, 0, AGENTS, "IA-32 I/O transactions"),
	E("BUS_IOQ_LIVE_REQ_HI", 0x98, 2, 0, ONE, "in-order bus queue requests, upper two bits"),
	E("BUS_IOQ_LIVE_REQ_LO", 0x97, 3, 0, ONE, "in-order bus queue requests, lower two bits"),
	E("BUS_LOCK", 0x93, 1, 0, "ANY=3 SELF=2", "IA-32 bus locks"),
	E("BUS_MEMORY", 0x8a, 1, 0, "ALL_ANY=f ALL_IO=d ALL_SELF=e EQ_128BYTE_ANY=7 EQ_128BYTE_IO=5 "
	  "EQ_128BYTE_SELF=6 LT_128BYTE_ANY=b LT_128BYTE_IO=9 LT_128BYTE_SELF=a",
	  "memory transactions on the bus"),
	E("BUS_MEM_READ", 0x8b, 1, 0, "ALL_ANY=f ALL_IO=d ALL_SELF=e BIL_ANY=3 BIL_IO=1 BIL_SELF=2 "
	  "BRIL_ANY=b BRIL_IO=9 BRIL_SELF=a BRL_ANY=7 BRL_IO=5 BRL_SELF=6", "memory reads on the bus"),
	E("BUS_MEM_READ_OUT_HI", 0x94, 2, 0, ONE, "pending memory reads, upper two bits"),
	E("BUS_MEM_READ_OUT_LO", 0x95, 7, 0, ONE, "pending memory reads, lower three bits"),
	E("BUS_OOQ_LIVE_REQ_HI", 0x9a, 2, 0, ONE, "out-of-order bus queue requests, upper two bits"),
	E("BUS_OOQ_LIVE_REQ_LO", 0x99, 7, 0, ONE, "out-of-order bus queue requests, lower three bits"),
	E("BUS_RD_DATA", 0x8c, 1, 0, AGENTS, "data reads on the bus"),
	E("BUS_RD_HIT", 0x80, 1, 0, ONE, "reads that hit a clean line in another cache"),
	E("BUS_RD_HITM", 0x81, 1, 0, ONE, "reads that hit a modified line in another cache"),
	E("BUS_RD_INVAL_ALL_HITM", 0x83, 1, 0, ONE, "line read invalidations that hit a modified line"),
	E("BUS_RD_INVAL_HITM", 0x82, 1, 0, ONE, "invalidations that hit a modified line"),
	E("BUS_RD_IO", 0x91, 1, 0, AGENTS, "IA-32 I/O reads"),
	E("BUS_RD_PRTL", 0x8d, 1, 0, AGENTS, "partial reads on the bus"),
	E("BUS_SNOOPQ_REQ", 0x96, 7, 0, ONE, "snoop queue requests"),
	E("BUS_SNOOPS", 0x86, 1, 0, AGENTS, "snoops"),
	E("BUS_SNOOPS_HITM", 0x85, 1, 0, "ANY=3 SELF=2", "snoops that hit a modified line"),
	E("BUS_SNOOP_STALL_CYCLES", 0x8f, 1, 0, "ANY=3 SELF=2", "bus cycles waiting for a snoop"),
	E("BUS_WR_WB", 0x92, 1, 0, "ALL_ANY=f ALL_IO=d ALL_SELF=e CCASTOUT_ANY=b CCASTOUT_SELF=a "
	  "EQ_128BYTE_ANY=7 EQ_128BYTE_IO=5 EQ_128BYTE_SELF=6", "write-backs on the bus"),
	E("CPU_CPL_CHANGES", 0x13, 1, 0, ONE, "privilege level changes"),
	E("CPU_CYCLES", 0x12, 1, 0, ONE, "cycles"),
	E("DATA_DEBUG_REGISTER_FAULT", 0x52, 1, 0, ONE, "faults by data debug registers"),
	E("DATA_DEBUG_REGISTER_MATCHES", 0xc6, 1, IOD, ONE, "references matched by data debug registers"),
	B("DATA_EAR", 0xc8, IOD, IA64_DEAR_ALAT, "ALAT=0", "ALAT misses caught by the data EAR"),
	B("DATA_EAR_CACHE", 0xc8, IOD, IA64_DEAR_CACHE, "LAT1024=8 LAT128=5 LAT16=2 LAT2048=9 LAT256=6 "
	  "LAT32=3 LAT4=0 LAT4096=a LAT512=7 LAT64=4 LAT8=1",
	  "loads caught by the data EAR that took at least so many cycles"),
	E("DATA_EAR_EVENTS", 0xc8, 1, IOD, ONE, "events caught by the data EAR"),
	B("DATA_EAR_TLB", 0xc8, IOD, IA64_DEAR_TLB, "ALL=e FAULT=8 L2DTLB=2 L2DTLB_OR_FAULT=a "
	  "L2DTLB_OR_VHPT=6 VHPT=4 VHPT_OR_FAULT=c",
	  "L1 data TLB misses caught by the data EAR, by what served them"),
	G("DATA_REFERENCES_SET0", 0xc3, 4, L1 | 0, IOD, ONE, "data references, counted with set 0"),
	G("DATA_REFERENCES_SET1", 0xc5, 4, L1 | 1, IOD, ONE, "data references, counted with set 1"),
	E("DISP_STALLED", 0x49, 1, 0, ONE, "cycles without dispersal"),
	E("DTLB_INSERTS_HPW", 0xc9, 4, IOD, ONE, "data TLB entries by the hardware page walker"),
	E("DTLB_INSERTS_HPW_RETIRED", 0x2c, 4, IOD, ONE,
	  "data TLB entries by the hardware page walker for retired instructions"),
	E("ENCBR_MISPRED_DETAIL", 0x63, 3, IO, "ALL_ALL_PRED=0 ALL_CORRECT_PRED=1 ALL_WRONG_PATH=2 "
	  "ALL_WRONG_TARGET=3 ALL2_ALL_PRED=c ALL2_CORRECT_PRED=d ALL2_WRONG_PATH=e "
	  "ALL2_WRONG_TARGET=f OVERSUB_ALL_PRED=8 OVERSUB_CORRECT_PRED=9 OVERSUB_WRONG_PATH=a "
	  "OVERSUB_WRONG_TARGET=b", "encoded branches by kind and prediction"),
	E("EXTERN_DP_PINS_0_TO_3", 0x9e, 1, 0, "ALL=f PIN0=1 PIN0_OR_PIN1=3 PIN0_OR_PIN1_OR_PIN2=7 "
	  "PIN0_OR_PIN1_OR_PIN3=b PIN0_OR_PIN2=5 PIN0_OR_PIN2_OR_PIN3=d PIN0_OR_PIN3=9 PIN1=2 "
	  "PIN1_OR_PIN2=6 PIN1_OR_PIN2_OR_PIN3=e PIN1_OR_PIN3=a PIN2=4 PIN2_OR_PIN3=c PIN3=8",
	  "assertions of DP pins 0 to 3"),
	E("EXTERN_DP_PINS_4_TO_5", 0x9f, 1, 0, "ALL=3 PIN4=1 PIN5=2", "assertions of DP pins 4 and 5"),
	E("FE_BUBBLE", 0x71, 1, 0, "ALL=0 ALLBUT_FEFLUSH_BUBBLE=b ALLBUT_IBFULL=c BRANCH=9 BUBBLE=d "
	  "FEFLUSH=1 FILL_RECIRC=8 GROUP1=3 GROUP2=4 GROUP3=a IBFULL=5 IMISS=6 TLBMISS=7",
	  "cycles lost in the front end"),
	E("FE_LOST_BW", 0x70, 2, 0, LOST_CAUSES, "invalid bundles at the entrance of the instruction buffer"),
	E("FP_FAILED_FCHKF", 0x06, 1, I, ONE, "failed fchkf"),
	E("FP_FALSE_SIRSTALL", 0x05, 1, I, ONE, "SIR stalls without a trap"),
	E("FP_FLUSH_TO_ZERO", 0x0b, 2, I, ONE, "floating-point results flushed to zero"),
	E("FP_OPS_RETIRED", 0x09, 4, I, ONE, "floating-point operations retired"),
	E("FP_TRUE_SIRSTALL", 0x03, 1, I, ONE, "SIR stalls that lead to a trap"),
	E("HPW_DATA_REFERENCES", 0x2d, 4, IOD, ONE, "references to the VHPT"),
	E("IA32_INST_RETIRED", 0x59, 2, 0, ONE, "IA-32 instructions retired"),
	E("IA32_ISA_TRANSITIONS", 0x07, 1, 0, ONE, "changes of the instruction set"),
	E("IA64_INST_RETIRED", 0x08, 6, IO, "=0 THIS=0", "IA-64 instructions retired"),
	E("IA64_TAGGED_INST_RETIRED", 0x08, 6, IO, "IBRP0_PMC8=0 IBRP1_PMC9=1 IBRP2_PMC8=2 IBRP3_PMC9=3",
	  "instructions retired that a breakpoint pair and an opcode matcher tagged"),
	E("IDEAL_BE_LOST_BW_DUE_TO_FE", 0x73, 2, 0, LOST_CAUSES,
	  "invalid bundles at the exit of the instruction buffer"),
	E("INST_CHKA_LDC_ALAT", 0x56, 2, IOD, KINDS, "chk.a and ld.c retired"),
	E("INST_DISPERSED", 0x4d, 6, I, ONE, "syllables dispersed"),
	E("INST_FAILED_CHKA_LDC_ALAT", 0x57, 1, IOD, KINDS, "failed chk.a and ld.c"),
	E("INST_FAILED_CHKS_RETIRED", 0x55, 1, 0, KINDS, "failed chk.s"),
	E("ISB_BUNPAIRS_IN", 0x46, 1, I, ONE, "bundle pairs from the L2 to the front end"),
	E("ITLB_MISSES_FETCH", 0x47, 1, I, "ALL=3 L1ITLB=1 L2ITLB=2",
	  "instruction TLB misses of demand fetches"),
	G("L1DTLB_TRANSFER", 0xc0, 1, L1 | 0, IOD, ONE, "L1 data TLB misses that hit the L2 data TLB"),
	G("L1D_READS_SET0", 0xc2, 2, L1 | 0, IOD, ONE, "L1 data cache reads, counted with set 0"),
	G("L1D_READS_SET1", 0xc4, 2, L1 | 1, IOD, ONE, "L1 data cache reads, counted with set 1"),
	G("L1D_READ_MISSES", 0xc7, 2, L1 | 1, IOD, "ALL=0 RSE_FILL=1", "L1 data cache read misses"),
	E("L1ITLB_INSERTS_HPW", 0x48, 1, I, ONE, "L1 instruction TLB entries by the page walker"),
	B("L1I_EAR_CACHE", 0x43, I, IA64_IEAR_CACHE, "LAT0=40 LAT1024=c0 LAT128=f0 LAT16=fc LAT256=e0 "
	  "LAT32=f8 LAT4=ff LAT4096=80 LAT8=fe RAB=0",
	  "instruction cache misses caught by the instruction EAR that took at least so many cycles"),
	E("L1I_EAR_EVENTS", 0x43, 1, I, ONE, "events caught by the instruction EAR"),
	B("L1I_EAR_TLB", 0x43, I, IA64_IEAR_TLB, "ALL=7 FAULT=4 L2TLB=1 L2TLB_OR_FAULT=5 L2TLB_OR_VHPT=3 "
	  "VHPT=2 VHPT_OR_FAULT=6", "instruction TLB misses caught by the instruction EAR"),
	E("L1I_FETCH_ISB_HIT", 0x66, 1, I, ONE, "instruction fetches served from the ISB"),
	E("L1I_FETCH_RAB_HIT", 0x65, 1, I, ONE, "instruction fetches that hit in the RAB"),
	E("L1I_FILLS", 0x41, 1, I, ONE, "L1 instruction cache fills"),
	E("L1I_PREFETCHES", 0x44, 1, I, ONE, "L1 instruction prefetch requests"),
	E("L1I_PREFETCH_STALL", 0x67, 1, 0, "ALL=3 FLOW=2", "cycles the prefetch pipeline waits"),
	E("L1I_PURGE", 0x4b, 1, I, ONE, "L1 instruction TLB purges"),
	E("L1I_PVAB_OVERFLOW", 0x69, 1, 0, ONE, "PVAB overflows"),
	E("L1I_RAB_ALMOST_FULL", 0x64, 1, 0, ONE, "cycles the RAB is almost full"),
	E("L1I_RAB_FULL", 0x60, 1, 0, ONE, "cycles the RAB is full"),
	E("L1I_READS", 0x40, 1, I, ONE, "L1 instruction cache reads"),
	E("L1I_SNOOP", 0x4a, 1, IOD, ONE, "snoops in the L1 instruction cache"),
	E("L1I_STRM_PREFETCHES", 0x5f, 1, I, ONE, "L1 instruction cache line prefetches"),
	G("L2DTLB_MISSES", 0xc1, 4, L1 | 0, IOD, ONE, "L2 data TLB misses"),
	G("L2_BAD_LINES_SELECTED", 0xb9, 4, L2 | 3, IOD, "ANY=0",
	  "valid lines replaced though an invalid one was there"),
	G("L2_BYPASS", 0xb8, 1, L2 | 3, IOD, "L2_DATA1=0 L2_DATA2=1 L2_INST1=4 L2_INST2=5 L3_DATA1=2 "
	  "L3_INST1=6", "L2 bypasses"),
	G("L2_DATA_REFERENCES", 0xb2, 4, L2 | 1, IOD, "L2_ALL=3 L2_DATA_READS=1 L2_DATA_WRITES=2",
	  "data references at the L2"),
	G("L2_FILLB_FULL", 0xbf, 1, L2 | 5, 0, "THIS=0", "cycles the L2 fill buffer is full"),
	{ "L2_FORCE_RECIRC", 0xb4, 0x10, 4, L2 | 2, IOD, IA64_PLAIN, "ANY=0 FILL_HIT=9 FRC_RECIRC=e "
	  "IPF_MISS=a L1W=2 OZQ_MISS=c SAME_INDEX=d SMC_HIT=1 SNP_OR_L3=6 TAG_NOTOK=4 TRAN_PREF=5 "
	  "VIC_BUF_FULL=b VIC_PEND=8", "forced recirculates" },
	G("L2_GOT_RECIRC_IFETCH", 0xba, 1, L2 | 4, IOD, "ANY=8", "instruction fetch recirculates received"),
	G("L2_GOT_RECIRC_OZQ_ACC", 0xb6, 1, L2 | 2, IOD, ONE, "OZQ accesses recirculated to the L1D"),
	G("L2_IFET_CANCELS", 0xa1, 1, L2 | 0, IOD, "ANY=0 BYPASS=2 CHG_PRIO=c DATA_RD=7 DIDNT_RECIR=4 "
	  "IFETCH_BYP=d PREEMPT=8 RECIR_OVER_SUB=5 ST_FILL_WB=6", "instruction fetches cancelled by the L2"),
	E("L2_INST_DEMAND_READS", 0x42, 1, I, ONE, "L2 instruction demand fetches"),
	E("L2_INST_PREFETCHES", 0x45, 1, I, ONE, "L2 instruction prefetches"),
	G("L2_ISSUED_RECIRC_IFETCH", 0xb9, 1, L2 | 4, IOD, "ANY=8", "instruction fetch recirculates issued"),
	G("L2_ISSUED_RECIRC_OZQ_ACC", 0xb5, 1, L2 | 2, IOD, ONE, "recirculates tried and not preempted"),
	{ "L2_L3ACCESS_CANCEL", 0xb0, 0x10, 1, L2 | 1, IOD, IA64_PLAIN, "ANY=9 DFETCH=a EBL_REJECT=8 "
	  "FILLD_FULL=2 INV_L3_BYP=6 SPEC_L3_BYP=1 UC_BLOCKED=5", "cancelled L3 accesses" },
	G("L2_L3ACCESS_CANCEL", 0xb0, 1, L2 | 1, IOD, "IFETCH=b", "cancelled L3 accesses"),
	E("L2_MISSES", 0xcb, 1, IOD, ONE, "L2 misses"),
	G("L2_OPS_ISSUED", 0xb8, 4, L2 | 4, IOD, "FP_LOAD=9 INT_LOAD=8 NST_NLD=c RMW=a STORE=b",
	  "operations issued by the L2"),
	G("L2_OZDB_FULL", 0xbd, 1, L2 | 5, 0, "THIS=0", "cycles the OZ data buffer is full"),
	G("L2_OZQ_ACQUIRE", 0xa2, 1, L2 | 0, 0, ONE, "cycles with an acquire in the OZQ"),
	G("L2_OZQ_CANCELS0", 0xa0, 4, L2 | 0, IOD, "ANY=0 LATE_ACQUIRE=3 LATE_BYP_EFFRELEASE=4 "
	  "LATE_RELEASE=2 LATE_SPEC_BYP=1", "OZQ cancels, late or any"),
	G("L2_OZQ_CANCELS1", 0xac, 4, L2 | 0, IOD, "BANK_CONF=1 CANC_L2M_ST=6 CCV=9 ECC=f "
	  "HPW_IFETCH_CONF=5 L1DF_L2M=e L1_FILL_CONF=7 L2A_ST_MAT=d L2D_ST_MAT=2 L2M_ST_MAT=b MFA=c "
	  "REL=0 SEM=a ST_FILL_CONF=8 SYNC=4", "OZQ cancels by reason, first part"),
	G("L2_OZQ_CANCELS2", 0xa8, 4, L2 | 0, IOD, "ACQ=4 CANC_L2C_ST=1 CANC_L2D_ST=d DIDNT_RECIRC=9 "
	  "D_IFET=f L2C_ST_MAT=2 L2FILL_ST_CONF=8 OVER_SUB=c OZ_DATA_CONF=6 READ_WB_CONF=5 "
	  "RECIRC_OVER_SUB=0 SCRUB=3 WEIRD=a", "OZQ cancels by reason, second part"),
	G("L2_OZQ_FULL", 0xbc, 1, L2 | 5, 0, "THIS=0", "cycles the OZQ is full"),
	G("L2_OZQ_RELEASE", 0xa3, 1, L2 | 0, 0, ONE, "cycles with a release in the OZQ"),
	G("L2_REFERENCES", 0xb1, 4, L2 | 1, IOD, ONE, "requests to the L2"),
	G("L2_STORE_HIT_SHARED", 0xba, 2, L2 | 3, IOD, "ANY=0", "stores that hit a shared line"),
	G("L2_SYNTH_PROBE", 0xb7, 1, L2 | 2, IOD, ONE, "synthesized probes"),
	G("L2_VICTIMB_FULL", 0xbe, 1, L2 | 5, 0, "THIS=0", "cycles the victim buffer is full"),
	E("L3_LINES_REPLACED", 0xdf, 1, 0, ONE, "L3 lines replaced"),
	E("L3_MISSES", 0xdc, 1, IOD, ONE, "L3 misses"),
	E("L3_READS", 0xdd, 1, IOD, "ALL_ALL=f ALL_HIT=d ALL_MISS=e DATA_READ_ALL=b DATA_READ_HIT=9 "
	  "DATA_READ_MISS=a DINST_FETCH_ALL=3 DINST_FETCH_HIT=1 DINST_FETCH_MISS=2 INST_FETCH_ALL=7 "
	  "INST_FETCH_HIT=5 INST_FETCH_MISS=6", "L3 reads"),
	E("L3_REFERENCES", 0xdb, 1, IOD, ONE, "L3 references"),
	E("L3_WRITES", 0xde, 1, IOD, "ALL_ALL=f ALL_HIT=d ALL_MISS=e DATA_WRITE_ALL=7 DATA_WRITE_HIT=5 "
	  "DATA_WRITE_MISS=6 L2_WB_ALL=b L2_WB_HIT=9 L2_WB_MISS=a", "L3 writes"),
	G("LOADS_RETIRED", 0xcd, 4, L1 | 3, IOD, ONE, "loads retired"),
	E("MEM_READ_CURRENT", 0x89, 1, 0, "ANY=3 IO=1", "current memory reads on the bus"),
	G("MISALIGNED_LOADS_RETIRED", 0xce, 4, L1 | 3, IOD, ONE, "misaligned loads retired"),
	G("MISALIGNED_STORES_RETIRED", 0xd2, 2, L1 | 4, IOD, ONE, "misaligned stores retired"),
	E("NOPS_RETIRED", 0x50, 6, IO, ONE, "nops retired"),
	E("PREDICATE_SQUASHED_RETIRED", 0x51, 6, IO, ONE, "instructions squashed by their predicate"),
	E("RSE_CURRENT_REGS_2_TO_0", 0x2b, 7, 0, ONE, "current RSE registers, bits 2 to 0"),
	E("RSE_CURRENT_REGS_5_TO_3", 0x2a, 7, 0, ONE, "current RSE registers, bits 5 to 3"),
	E("RSE_CURRENT_REGS_6", 0x26, 1, 0, ONE, "current RSE registers, bit 6"),
	E("RSE_DIRTY_REGS_2_TO_0", 0x29, 7, 0, ONE, "dirty RSE registers, bits 2 to 0"),
	E("RSE_DIRTY_REGS_5_TO_3", 0x28, 7, 0, ONE, "dirty RSE registers, bits 5 to 3"),
	E("RSE_DIRTY_REGS_6", 0x24, 1, 0, ONE, "dirty RSE registers, bit 6"),
	E("RSE_EVENT_RETIRED", 0x32, 1, 0, ONE, "RSE operations retired"),
	E("RSE_REFERENCES_RETIRED", 0x20, 2, IOD, "ALL=3 LOAD=1 STORE=2", "RSE references"),
	E("SERIALIZATION_EVENTS", 0x53, 1, 0, ONE, "srlz.i instructions"),
	G("STORES_RETIRED", 0xd1, 2, L1 | 4, IOD, ONE, "stores retired"),
	E("SYLL_NOT_DISPERSED", 0x4e, 5, I, "ALL=f EXPL=1 EXPL_OR_FE=5 EXPL_OR_FE_OR_MLI=d "
	  "EXPL_OR_IMPL=3 EXPL_OR_IMPL_OR_FE=7 EXPL_OR_IMPL_OR_MLI=b EXPL_OR_MLI=9 FE=4 FE_OR_MLI=c "
	  "IMPL=2 IMPL_OR_FE=6 IMPL_OR_FE_OR_MLI=e IMPL_OR_MLI=a MLI=8", "syllables not dispersed"),
	E("SYLL_OVERCOUNT", 0x4f, 2, I, "ALL=3 EXPL=1 IMPL=2", "syllables counted too often"),
	G("UC_LOADS_RETIRED", 0xcf, 4, L1 | 3, IOD, ONE, "uncacheable loads retired"),
	G("UC_STORES_RETIRED", 0xd0, 2, L1 | 4, IOD, ONE, "uncacheable stores retired"),
};

static const struct { const char *suffix, *words; } glossary[] = {
	{ "ALL", "all" }, { "ANY", "any" }, { "FP", "floating point" }, { "INT", "integer" },
	{ "SELF", "by this processor" }, { "IO", "by agents that are no processors" },
	{ "THIS", "this thread's" }, { "LOAD", "loads" }, { "STORE", "stores" },
	{ "GRALL", "general register dependencies" }, { "FE", "for the front end" },
	{ "GRGR", "general register dependencies without loads" },
	{ "FRALL", "floating-point register dependencies" }, { "PR", "predicate dependencies" },
	{ "BRU", "after mispredicted branches" }, { "XPN", "after exceptions and interruptions" },
	{ "EXPL", "for explicit stops" }, { "IMPL", "for implicit stops" },
	{ "IMISS", "instruction cache misses" }, { "TLBMISS", "instruction TLB misses" },
	{ "IBFULL", "instruction buffer full" }, { "FEFLUSH", "front-end flushes" },
	{ "L1D_HPW", "hardware page walker" }, { "L1D_TLB", "L1 data TLB refill" },
	{ "L1D_FULLSTBUF", "store buffer full" }, { "L1D_L2BPRESS", "L2 back pressure" },
};

static struct ia64_event *table;
static unsigned int length;

static void describe(char *buf, size_t size, const char *desc, const char *suffix)
{
	int at = snprintf(buf, size, "%s%s", desc, *suffix ? ": " : "");
	bool known = false;

	for (size_t i = 0; !known && i < PFL_COUNT(glossary); i++)
		if (strcmp(glossary[i].suffix, suffix) == 0) {
			snprintf(buf + at, size - at, "%s", glossary[i].words);
			known = true;
		}
	if (known)
		return;
	for (; *suffix && (size_t)at + 1 < size; suffix++)
		buf[at++] = *suffix == '_' ? ' ' : *suffix;
	buf[at] = '\0';
}

static void add_member(const struct family *f, const char *suffix, unsigned int umask)
{
	struct ia64_event *e = &table[length];
	char name[96], desc[200];

	snprintf(name, sizeof(name), "%s%s%s", f->name, *suffix ? "_" : "", suffix);
	describe(desc, sizeof(desc), f->desc, suffix);
	e->name = strdup(name);
	e->desc = strdup(desc);
	if (!e->name || !e->desc)
		return;
	e->code = f->code;
	e->umask = umask;
	e->counters = f->counters;
	e->maxincr = f->maxincr;
	e->group = f->group >> 4;
	e->set = f->group ? f->group & 0xf : IA64_NO_SET;
	e->buffer = f->buffer;
	e->irange = f->ranges & I;
	e->opcode = f->ranges & O;
	e->drange = f->ranges & D;
	length++;
}

static void add_family(const struct family *f)
{
	char members[640], *save, *eq;

	snprintf(members, sizeof(members), "%s", f->members);
	for (char *m = strtok_r(members, " ", &save); m; m = strtok_r(NULL, " ", &save)) {
		eq = strchr(m, '=');
		*eq = '\0';
		add_member(f, m, strtoul(eq + 1, NULL, 16));
	}
}

static unsigned int count_members(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < PFL_COUNT(families); i++)
		for (const char *p = families[i].members; *p; p++)
			n += *p == '=';
	return n;
}

unsigned int ita2_expand(void)
{
	table = calloc(count_members(), sizeof(*table));
	for (size_t i = 0; table && i < PFL_COUNT(families); i++)
		add_family(&families[i]);
	return length;
}

const struct ia64_event *ita2_at(unsigned int i)
{
	return &table[i];
}
