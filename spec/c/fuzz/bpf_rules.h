/* SPDX-License-Identifier: MIT */
/*
 * bpf_rules.h - what the format "program" takes, rule by rule, as perfmon_prog_smpl.h says it. It shares nothing with
 * the verifier that it judges.
 */
#ifndef LPFM_BPF_RULES_H
#define LPFM_BPF_RULES_H

#include <linux/filter.h>

/* The rule that the n instructions break, in words; NULL: they are a program. */
const char *bpf_broken_rule(const struct sock_filter *insns, unsigned int n);

#endif
