// SPDX-License-Identifier: GPL-2.0
/* format.c - sampling formats, which are modules of their own (3.5.2, 3.5.8, 3.5.9). */
#include <linux/ctype.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>

#include "linux.h"
#include "perfmon_module.h"

/*
 * Takes a reference to the module and returns true, but only if the module is LIVE. While the
 * module's init function runs, this returns false: if init fails, the kernel unloads the module
 * regardless of references.
 */
bool lx_module_hold(struct module *owner)
{
	return READ_ONCE(owner->state) == MODULE_STATE_LIVE && try_module_get(owner);
}

static bool hold(struct pfm_buffer_fmt *fmt)
{
	return lx_module_hold(fmt->owner);
}

static void release(struct pfm_buffer_fmt *fmt)
{
	module_put(fmt->owner);
}

DEFINE_MUTEX(lx_modprobe);

/* the request to modprobe for all formats */
static struct lx_module_request request;
static DEFINE_MUTEX(registering);	/* keeps the core's list and /sys in agreement */

static int add(pfm_buffer_fmt_t *fmt)
{
	int ret = (pfm_register_buffer_fmt)(fmt);

	if (ret)
		return ret;
	ret = lx_sysfs_add_format(fmt);
	if (ret)
		(pfm_unregister_buffer_fmt)(fmt->fmt_uuid);
	return -ret;
}

int pfm_module_add_fmt(pfm_buffer_fmt_t *fmt, struct module *owner)
{
	int ret;

	if (!fmt)
		return EINVAL;
	fmt->owner = owner;
	fmt->get = hold;
	fmt->put = release;
	mutex_lock(&registering);
	ret = add(fmt);
	mutex_unlock(&registering);
	return ret;
}
EXPORT_SYMBOL_GPL(pfm_module_add_fmt);

int pfm_module_remove_fmt(unsigned char *uuid)
{
	int ret;

	mutex_lock(&registering);
	ret = (pfm_unregister_buffer_fmt)(uuid);
	if (!ret)
		lx_sysfs_remove_format(uuid);
	lx_module_request_again(&request);
	mutex_unlock(&registering);
	return ret;
}
EXPORT_SYMBOL_GPL(pfm_module_remove_fmt);

/* --- loading the module of a format on demand ----------------------------------------------- */

/* Returns true if the name may be passed to modprobe. The name comes from the caller. */
static bool plain(const char *name)
{
	while (isalnum(*name) || *name == '-' || *name == '_' || *name == '.')
		name++;
	return !*name;
}

/*
 * Returns true if the request should be made now: it has not been made, or it failed more than a
 * second ago, perhaps for lack of memory.
 */
bool lx_module_requested(struct lx_module_request *d)
{
	return !READ_ONCE(d->met) && (!READ_ONCE(d->tried) || time_after(jiffies, READ_ONCE(d->tried) + HZ));
}

/* A killed thread did not wait for the result, so other threads may ask at once. */
void lx_module_request_met(struct lx_module_request *d, int err)
{
	if (fatal_signal_pending(current))
		return;
	WRITE_ONCE(d->tried, jiffies | 1);
	WRITE_ONCE(d->met, !err);
}

void lx_module_request_again(struct lx_module_request *d)
{
	WRITE_ONCE(d->tried, 0);
	WRITE_ONCE(d->met, false);
}

void lx_formats_load_module(void)
{
	if (lx_module_requested(&request))
		lx_module_request_met(&request, lx_request_module("perfmon-fmt"));
}

struct pfm_buffer_fmt *lx_format_by_name(const char *name)
{
	struct pfm_buffer_fmt *fmt = pfm_fmt_get_name(name);

	if (fmt || !*name || !plain(name))
		return fmt;
	lx_request_module("perfmon-fmt-%s", name);
	return pfm_fmt_get_name(name);
}

struct pfm_buffer_fmt *lx_format_by_uuid(const unsigned char *uuid)
{
	struct pfm_buffer_fmt *fmt = pfm_fmt_get_uuid(uuid);

	if (fmt)
		return fmt;
	lx_request_module("perfmon-fmt-%pUb", uuid);
	return pfm_fmt_get_uuid(uuid);
}
