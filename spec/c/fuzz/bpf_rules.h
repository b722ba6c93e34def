/* SPDX-License-Identifier: MIT */
/*
 * bpf_rules.h - the rules for programs of the format "program", as perfmon_prog_smpl.h has them.
 * They share no code with the verifier that they test.
 */
#ifndef LPFM_BPF_RULES_H
#define LPFM_BPF_RULES_H

#include <linux/filter.h>

/* Returns the rule that the n instructions break, in words; NULL if they break none. */
const char *bpf_broken_rule(const struct sock_filter *insns, unsigned int n);

#endif
