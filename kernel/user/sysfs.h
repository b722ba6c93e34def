/* SPDX-License-Identifier: MIT */
/* sysfs.h - /sys/kernel/perfmon on systems without perfmon.ko. */
#ifndef PFM_USER_SYSFS_H
#define PFM_USER_SYSFS_H

/*
 * These do what open(2) and access(2) do, for paths that libc does not find. open() returns a
 * descriptor from which the file can be read, or -1 with errno: ENOENT if it is not a file of
 * /sys/kernel/perfmon, EACCES if it is opened for writing. Only pfm_set_config() changes the
 * configuration.
 */
int pfm_sysfs_open(const char *path, int flags);
int pfm_sysfs_access(const char *path, int mode);

#endif
