/* SPDX-License-Identifier: MIT */
/*
 * interpose.h - the library sees what the program does with descriptors, because the program's
 * calls to libc pass through it.
 */
#ifndef PFM_USER_INTERPOSE_H
#define PFM_USER_INTERPOSE_H

#include <stdbool.h>

/*
 * Returns true if the program's calls that close descriptors pass through interpose.c, as they do
 * if the program is linked with this library.
 */
bool pfm_sees_closes(void);

/* Closes fd without interpose.c, which may take locks that the caller holds. */
int pfm_libc_close(int fd);

/*
 * Registers fn, which is called before descriptors with the numbers first to last are closed,
 * whether they belong to contexts or not. Only one function can be registered: that of
 * libpfmregions, which maps views of contexts.
 */
void pfm_on_closing(void (*fn)(unsigned int first, unsigned int last));

/* --- sysfs.c: /sys/kernel/perfmon on systems without perfmon.ko ------------------------------- */

/*
 * These do what open(2) and access(2) do, for paths that libc does not find. open() returns a
 * descriptor from which the file can be read, or -1 with errno: ENOENT if it is not a file of
 * /sys/kernel/perfmon, EACCES if it is opened for writing. Only pfm_set_config() changes the
 * configuration.
 */
int pfm_sysfs_open(const char *path, int flags);
int pfm_sysfs_access(const char *path, int mode);

#endif
