/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perfmon_module.h - for modules that add a sampling format or a PMU description to perfmon.ko.
 *
 * Such a module can be loaded and removed at any time, but it cannot be removed while a context
 * uses its format or description. A context cannot begin to use these before the module's init
 * function has returned, nor after the module's removal has begun.
 */
#ifndef PERFMON_MODULE_H
#define PERFMON_MODULE_H

#include <linux/module.h>

#include "format.h"
#include "perfmon/uuid.h"
#include "pmu.h"

/* --- a sampling format ---------------------------------------------------------------------- */

/*
 * 3.5.8 and 3.5.9: the module calls pfm_register_buffer_fmt(fmt) when it is loaded and
 * pfm_unregister_buffer_fmt(uuid) when it is removed. Both return 0 or a positive errno, as the
 * specification says. core/format.h describes the call-backs of a format. fmt_handler and
 * fmt_restart run with interrupts off, and also in an NMI: they must take no lock and not sleep.
 */
int pfm_module_add_fmt(pfm_buffer_fmt_t *fmt, struct module *owner);
int pfm_module_remove_fmt(unsigned char *uuid);
#define pfm_register_buffer_fmt(fmt)	pfm_module_add_fmt(fmt, THIS_MODULE)
#define pfm_unregister_buffer_fmt(uuid)	pfm_module_remove_fmt(uuid)

/*
 * Defines the aliases by which modprobe finds a module when a context is created with its format,
 * or when a program asks for the list of all formats. PFM_FMT_ALIAS(PFM_TOY_SMPL) needs the macros
 * PFM_TOY_SMPL_NAME and PFM_TOY_SMPL_UUID_OF (perfmon/uuid.h), with the name and the UUID that the
 * format has.
 */
#define PFM_FMT_ALIAS(prefix) \
	MODULE_ALIAS("perfmon-fmt"); \
	MODULE_ALIAS("perfmon-fmt-" prefix##_NAME); \
	MODULE_ALIAS("perfmon-fmt-" prefix##_UUID_OF(PFM_UUID_TEXT))

/* Removes the formats from "formats" up to, but not including, end; the last one first. */
static inline void __maybe_unused pfm_module_remove_fmts(pfm_buffer_fmt_t *const *formats,
							 pfm_buffer_fmt_t *const *end)
{
	while (end > formats)
		pfm_unregister_buffer_fmt((*--end)->fmt_uuid);
}

/* Adds all n formats and returns 0, or adds none and returns a negative errno. */
static inline int __maybe_unused pfm_module_add_fmts(pfm_buffer_fmt_t *const *formats, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		int ret = pfm_register_buffer_fmt(formats[i]);

		if (ret) {
			pfm_module_remove_fmts(formats, formats + i);
			return -ret;
		}
	}
	return 0;
}

/*
 * Defines the init and exit functions of a module that consists of formats:
 * PFM_FORMAT_INIT(&pfm_fmt_toy, ...).
 */
#define PFM_FORMAT_INIT(...) \
	static pfm_buffer_fmt_t *const pfm_module_fmts[] = { __VA_ARGS__ }; \
	static int __init pfm_module_start(void) \
	{ \
		return pfm_module_add_fmts(pfm_module_fmts, ARRAY_SIZE(pfm_module_fmts)); \
	} \
	static void __exit pfm_module_end(void) \
	{ \
		pfm_module_remove_fmts(pfm_module_fmts, pfm_module_fmts + ARRAY_SIZE(pfm_module_fmts)); \
	} \
	module_init(pfm_module_start); \
	module_exit(pfm_module_end)

/*
 * Defines everything that a format module of perfmon itself needs: PFM_FORMAT_MODULE("what its
 * formats are", &pfm_fmt_toy, ...).
 */
#define PFM_FORMAT_MODULE(description, ...) \
	PFM_FORMAT_INIT(__VA_ARGS__); \
	PFM_MODULE_ABOUT(description)

/* --- a PMU description ---------------------------------------------------------------------- */

/*
 * A PMU description has the hardware's registers, with numbers below 64, and virtual PMDs. PMC n
 * and PMD n stand for counter n of perf's driver for the processor. perfmon.ko leaves out registers
 * beyond the driver's last counter, and adds the software counters. There can be one description at
 * a time; a context keeps the one that it was created with. pfm_register_pmu() returns 0, -EBUSY if
 * there is a description already, -ENODEV if perf has no counters for this processor, -EINVAL if a
 * table is not in ascending order or has a number that is not below 64, or -ENOMEM.
 */
int pfm_module_add_pmu(const struct pfm_pmu *pmu, struct module *owner);
void pfm_module_remove_pmu(const struct pfm_pmu *pmu);
#define pfm_register_pmu(pmu)	pfm_module_add_pmu(pmu, THIS_MODULE)
#define pfm_unregister_pmu(pmu)	pfm_module_remove_pmu(pmu)

/*
 * Defines the init and exit functions of a module that consists of a description: the argument is
 * the description, as in PFM_PMU_INIT(&pfm_pmu_toy), or a call that returns one.
 */
#define PFM_PMU_INIT(choose) \
	static const struct pfm_pmu *pfm_module_pmu; \
	static int __init pfm_module_start(void) \
	{ \
		pfm_module_pmu = choose; \
		return pfm_register_pmu(pfm_module_pmu); \
	} \
	static void __exit pfm_module_end(void) \
	{ \
		pfm_unregister_pmu(pfm_module_pmu); \
	} \
	module_init(pfm_module_start); \
	module_exit(pfm_module_end)

/*
 * Defines everything that a description module of perfmon itself needs: PFM_PMU_MODULE("the PMU of
 * ...", &pfm_pmu_toy).
 */
#define PFM_PMU_MODULE(description, choose) \
	PFM_PMU_INIT(choose); \
	PFM_MODULE_ABOUT(description)

#define PFM_MODULE_ABOUT(description) \
	MODULE_LICENSE("Dual MIT/GPL"); \
	MODULE_AUTHOR("The lpfm project"); \
	MODULE_DESCRIPTION("perfmon2: " description); \
	MODULE_VERSION("3.0")

#endif
