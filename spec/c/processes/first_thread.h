/* SPDX-License-Identifier: MIT */
/* first_thread.h - tells programs that fork in their first thread whether that thread sleeps. */
#ifndef SPEC_C_FIRST_THREAD_H
#define SPEC_C_FIRST_THREAD_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns true if the process' first thread sleeps, as it does if fork() waits for a lock. */
static bool first_thread_sleeps(void)
{
	char path[64], line[512] = "";
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	stat = fopen(path, "r");
	if (!stat)
		return false;
	if (!fgets(line, sizeof(line), stat))
		line[0] = 0;
	fclose(stat);
	return strstr(line, ") S ");
}

#endif
