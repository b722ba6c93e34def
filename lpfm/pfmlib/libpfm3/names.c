// SPDX-License-Identifier: MIT
/*
 * names.c - the four functions of libpfm 3 with names that libpfm4 has, too. Only libpfm.so and
 * libpfm.a contain them, for configure scripts, dlsym() and programs that were compiled with
 * libpfm 3's own headers, which look for these names.
 */
#include "perfmon/pfmlib.h"

int named_initialize(void) PFMLIB_LINK_NAME(pfm_initialize);
int named_get_version(unsigned int *version) PFMLIB_LINK_NAME(pfm_get_version);
char *named_strerror(int code) PFMLIB_LINK_NAME(pfm_strerror);
int named_find_event(const char *str, unsigned int *idx) PFMLIB_LINK_NAME(pfm_find_event);

int named_initialize(void)
{
	return pfm_initialize();
}

int named_get_version(unsigned int *version)
{
	return pfm_get_version(version);
}

char *named_strerror(int code)
{
	return pfm_strerror(code);
}

int named_find_event(const char *str, unsigned int *idx)
{
	return pfm_find_event(str, idx);
}
