/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perfmon_module.h - for modules that bring a sampling format or a PMU description to perfmon.ko.
 *
 * Such a module can be loaded and removed at any time. While a context uses what it brought it cannot be
 * removed, and until its init function has returned, or once its removal has begun, no context can get it.
 */
#ifndef PERFMON_MODULE_H
#define PERFMON_MODULE_H

#include <linux/module.h>

#include "format.h"
#include "pmu.h"

/*
 * Formats, 3.5.8 and 3.5.9: pfm_register_buffer_fmt(fmt) at the start, pfm_unregister_buffer_fmt(uuid) at the
 * end; 0 or a positive errno, as the specification has it. Call-backs: core/format.h. fmt_handler and fmt_restart
 * run with interrupts off, also in an NMI: they take no lock and do not sleep.
 */
int pfm_module_add_fmt(pfm_buffer_fmt_t *fmt, struct module *owner);
int pfm_module_remove_fmt(unsigned char *uuid);
#define pfm_register_buffer_fmt(fmt)	pfm_module_add_fmt(fmt, THIS_MODULE)
#define pfm_unregister_buffer_fmt(uuid)	pfm_module_remove_fmt(uuid)

/*
 * By these names modprobe finds a module when a context asks for its format, or somebody for the list of all:
 * name and UUID as in /sys.
 */
#define PFM_FMT_ALIAS(name, uuid) \
	MODULE_ALIAS("perfmon-fmt"); \
	MODULE_ALIAS("perfmon-fmt-" name); \
	MODULE_ALIAS("perfmon-fmt-" uuid)

/*
 * A PMU description: the hardware's registers, with numbers below 64, and virtual PMDs. PMC and PMD n are
 * counter n of perf's driver for the processor; what there are more than it has is left out. Software counters
 * are added. There can be one description at a time; contexts keep the one they were created with.
 * 0; -EBUSY: there is one; -ENODEV: perf has no counters here; -EINVAL: the tables are not in order; -ENOMEM.
 */
int pfm_module_add_pmu(const struct pfm_pmu *pmu, struct module *owner);
void pfm_module_remove_pmu(const struct pfm_pmu *pmu);
#define pfm_register_pmu(pmu)	pfm_module_add_pmu(pmu, THIS_MODULE)
#define pfm_unregister_pmu(pmu)	pfm_module_remove_pmu(pmu)

#endif
