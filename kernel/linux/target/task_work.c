// SPDX-License-Identifier: GPL-2.0
/*
 * task_work.c - queues work that a thread does before it returns to user level, or when it exits.
 * Debian's kernels export task_work_add(), but kernel.org's do not: the function is looked up when
 * the module is loaded. If it is missing, the features that need task work are refused:
 * PFM_FL_INHERIT, PFM_FL_NOTIFY_BLOCK, and formats that want records.
 */
#include <linux/module.h>

#include "linux.h"

static bool task_work = true;
module_param(task_work, bool, 0444);
MODULE_PARM_DESC(task_work, "N: as on a kernel that does not export task_work_add()");

static typeof(task_work_add) *add;

void lx_task_work_init(void)
{
	if (task_work)
		add = symbol_get(task_work_add);
}

void lx_task_work_exit(void)
{
	if (add)
		symbol_put(task_work_add);
}

bool lx_has_task_work(void)
{
	return add;
}

int lx_task_work(struct task_struct *task, struct callback_head *work, enum task_work_notify_mode mode)
{
	return add(task, work, mode);
}

int lx_check_create(struct pfm_machine *m, uint32_t flags)
{
	if ((flags & PFM_FL_ON_EXEC) && !(flags & PFM_FL_INHERIT))
		return pfm_refuse(-EINVAL, "ON_EXEC needs INHERIT");
	if (add || !(flags & (PFM_FL_INHERIT | PFM_FL_NOTIFY_BLOCK)))
		return 0;
	return pfm_refuse(-EOPNOTSUPP, "%s needs task_work_add(), which this kernel does not export to modules",
			  flags & PFM_FL_INHERIT ? "INHERIT" : "NOTIFY_BLOCK");
}
