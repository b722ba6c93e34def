/* SPDX-License-Identifier: MIT */
/* module_list.h - finds the modules of perfmon that the kernel has loaded, and unloads them. */
#ifndef SPEC_VM_MODULE_LIST_H
#define SPEC_VM_MODULE_LIST_H

#include "check.h"

#define FORMAT_MODULES	"_smpl"

static inline bool is_perfmons(const char *module, const char *ending)
{
	size_t length = strlen(module), end = strlen(ending);

	return !strncmp(module, "perfmon", 7) && length >= end && !strcmp(module + length - end, ending);
}

/*
 * Unloads unused modules of perfmon with this ending ("": all), until none is unused. Returns how
 * many stay.
 */
static inline int unload_unused(const char *ending)
{
	char line[256], module[64];
	int users, stay;
	bool some_went;

	do {
		FILE *list = fopen("/proc/modules", "r");

		some_went = false;
		stay = 0;
		while (list && fgets(line, sizeof(line), list)) {
			if (sscanf(line, "%63s %*u %d", module, &users) != 2 || !is_perfmons(module, ending))
				continue;
			if (!users && !syscall(SYS_delete_module, module, O_NONBLOCK))
				some_went = true;
			else
				stay++;
		}
		if (list)
			fclose(list);
	} while (some_went);
	return stay;
}

#endif
