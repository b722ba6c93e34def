// SPDX-License-Identifier: MIT
/*
 * bpf_oracle.c - compares interpreter and verifier of the format "program" with the kernel's:
 *
 *   bpf_oracle SEED RECORDS [PROGRAMS]
 *
 * SO_ATTACH_FILTER has the kernel run a program over each packet of a socket; the number of bytes
 * received is the program's result, folded to eight bits. Records are sent with each word in
 * network byte order, as those programs load it. Both verifiers accept the same programs, but for
 * loads of other than words of a record.
 */
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "bpf_random.h"
#include "perfmon/perfmon_prog_smpl.h"

#define WORDS	(sizeof(pfm_prog_record_t) / sizeof(uint32_t))
#define RECORDS	500		/* records per program */

static uint64_t seed;
static uint32_t words[WORDS];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Has the kernel run the program on what the socket receives; returns false if it is refused. */
static bool attach(int fd, const struct pfm_bpf_insn *insns, unsigned int n)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = (struct sock_filter *)(uintptr_t)insns };

	return !setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* --- results --------------------------------------------------------------------------------- */

/*
 * Returns how many bytes of a packet the socket must receive if the program returns verdict: at
 * least 1, because a filter that divides by 0 drops the packet.
 */
static uint32_t length_of(uint32_t verdict)
{
	return 1 + bpf_fold(verdict);
}

static unsigned int for_sockets(const struct pfm_bpf_insn *insns, unsigned int n, struct pfm_bpf_insn *to)
{
	memcpy(to, insns, n * sizeof(*to));
	bpf_redirect(to, n, n, length_of);
	n += bpf_fold_insns(to + n);
	to[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_ADD, .k = 1 };
	to[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_RET | PFM_BPF_A };
	return n;
}

static uint32_t kernels(int to, int from, const uint32_t *record)
{
	uint32_t packet[WORDS];
	ssize_t got;

	for (size_t i = 0; i < WORDS; i++)
		packet[i] = htonl(record[i]);
	must(send(to, packet, sizeof(packet), 0) == sizeof(packet), "send");
	got = recv(from, NULL, 0, MSG_DONTWAIT | MSG_TRUNC);
	must(got > 0 || errno == EAGAIN, "recv");
	return got > 0 ? (uint32_t)got : 0;
}

static uint64_t compare(const struct pfm_bpf_insn *insns, unsigned int n, unsigned int records)
{
	struct pfm_bpf_insn theirs[BPF_RANDOM_MAX + 4];
	uint32_t record[WORDS];
	uint64_t zeros = 0;
	int fds[2];

	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), "socketpair");
	must(attach(fds[1], theirs, for_sockets(insns, n, theirs)), "the kernel refuses a program");
	while (records--) {
		uint32_t verdict, length;

		bpf_random_record(&seed, record, sizeof(record));
		verdict = pfm_bpf_run(insns, record, sizeof(record));
		length = kernels(fds[0], fds[1], record);
		zeros += !length;
		if (length ? length != length_of(verdict) : verdict) {
			printf("verdict %#x, of length %u; the kernel's is of %u\n", verdict, length_of(verdict),
			       length);
			bpf_dump(insns, n);
			exit(1);
		}
	}
	close(fds[0]);
	close(fds[1]);
	return zeros;
}

/* --- programs -------------------------------------------------------------------------------- */

/* Returns true if the program loads anything but words of the record, as the kernel's may. */
static bool loads_else(const struct pfm_bpf_insn *insns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint16_t code = insns[i].code, mode = code & 0xe0;

		if ((code & 7) > PFM_BPF_LDX || mode == PFM_BPF_IMM || mode == PFM_BPF_MEM || mode == PFM_BPF_LEN)
			continue;
		if (code != (PFM_BPF_LD | PFM_BPF_ABS) || insns[i].k % 4 || insns[i].k >= sizeof(pfm_prog_record_t))
			return true;
	}
	return false;
}

static bool judge(int fd, const struct pfm_bpf_insn *insns, unsigned int n)
{
	uint16_t room[BPF_RANDOM_MAX];
	bool ours = !pfm_bpf_check(insns, n, sizeof(pfm_prog_record_t), room), theirs = attach(fd, insns, n);

	if (ours == theirs || (theirs && loads_else(insns, n)))
		return ours;
	printf("a program is %s, but not by the kernel\n", ours ? "taken" : "refused");
	bpf_dump(insns, n);
	exit(1);
}

static void try_programs(uint64_t programs, uint64_t *taken)
{
	struct pfm_bpf_insn insns[BPF_RANDOM_MAX];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	must(fd >= 0, "socket");
	for (uint64_t i = 0; i < programs; i++)
		*taken += judge(fd, insns, bpf_random_program(&seed, insns, words, WORDS, 1 + bpf_random(&seed, 64)));
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t records, programs, taken = 0, zeros = 0, done;
	struct pfm_bpf_insn insns[BPF_RANDOM_MAX];

	if (argc < 3)
		return 2;
	seed = strtoull(argv[1], NULL, 0) | 1;
	printf("seed %llu\n", (unsigned long long)seed);
	records = strtoull(argv[2], NULL, 0);
	programs = argc > 3 ? strtoull(argv[3], NULL, 0) : records / 10;
	for (size_t i = 0; i < WORDS; i++)
		words[i] = (uint32_t)(i * sizeof(uint32_t));
	for (done = 0; done < records; done += RECORDS) {
		unsigned int n = bpf_random_judge(&seed, insns, words, WORDS);

		zeros += compare(insns, n, RECORDS);
	}
	try_programs(programs, &taken);
	printf("%llu records judged alike, %llu of them by a division by 0; %llu programs, %llu taken\n",
	       (unsigned long long)done, (unsigned long long)zeros, (unsigned long long)programs,
	       (unsigned long long)taken);
	return 0;
}
