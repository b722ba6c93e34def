/* SPDX-License-Identifier: MIT */
/* pfmlib_both.h - libpfm4's functions by other names, for programs that use both libraries. */
#ifndef PFMLIB_BOTH_H
#define PFMLIB_BOTH_H

typedef void (*four_visit)(const char *name);

int four_initialize(void);
const char *four_strerror(int code);
int four_version(void);
int four_find_event(const char *name);
/* Returns the number of codes, or -1. */
int four_encode(const char *name, int plm, unsigned long long *codes);
/* Calls visit with every event of every core PMU in many forms; returns how many PMUs there are. */
int four_each(four_visit visit);

#endif
