/* SPDX-License-Identifier: MIT */
/* sysfs.h - /sys/kernel/perfmon where there is no perfmon.ko to make it. Inside kernel/user. */
#ifndef PFM_USER_SYSFS_H
#define PFM_USER_SYSFS_H

/*
 * As open(2) and access(2), for paths that libc's do not find. open: a descriptor that reads the file; -1 with ENOENT:
 * it is none of /sys/kernel/perfmon's, EACCES: it is to be written, which pfm_set_config() does.
 */
int pfm_sysfs_open(const char *path, int flags);
int pfm_sysfs_access(const char *path, int mode);

#endif
