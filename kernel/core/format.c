// SPDX-License-Identifier: GPL-2.0 OR MIT
/* format.c - the list of sampling formats (3.5.2, 3.5.8, 3.5.9). */
#include "core.h"

static struct pfm_buffer_fmt *formats;		/* protected by pfm_os_lock() */

static bool same_name(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static struct pfm_buffer_fmt **find_uuid(const unsigned char *uuid)
{
	struct pfm_buffer_fmt **p = &formats;

	while (*p && memcmp((*p)->fmt_uuid, uuid, sizeof(pfm_uuid_t)))
		p = &(*p)->next;
	return p;
}

static struct pfm_buffer_fmt *find_name(const char *name)
{
	struct pfm_buffer_fmt *fmt = formats;

	while (fmt && !same_name(fmt->fmt_name, name))
		fmt = fmt->next;
	return fmt;
}

int pfm_register_buffer_fmt(pfm_buffer_fmt_t *fmt)
{
	struct pfm_buffer_fmt **end;
	int ret = 0;

	if (!fmt || !fmt->fmt_name || !fmt->fmt_name[0] ||
	    (!fmt->fmt_handler && !fmt->fmt_ops) ||
	    pfm_all_zero(fmt->fmt_uuid, sizeof(fmt->fmt_uuid)) || (fmt->fmt_flags & ~PFM_FMTFL_NOSET))
		return EINVAL;
	if (fmt->fmt_msgq_depth < 1)
		fmt->fmt_msgq_depth = 1;
	pfm_os_lock();
	end = find_uuid(fmt->fmt_uuid);
	if (*end || find_name(fmt->fmt_name)) {
		ret = EBUSY;
	} else {
		fmt->next = NULL;
		fmt->users = 0;
		*end = fmt;
	}
	pfm_os_unlock();
	return ret;
}

int pfm_unregister_buffer_fmt(pfm_uuid_t uuid)
{
	struct pfm_buffer_fmt **p;
	int ret = 0;

	pfm_os_lock();
	p = find_uuid(uuid);
	if (!*p)
		ret = EINVAL;
	else if ((*p)->users)
		ret = EBUSY;
	else
		*p = (*p)->next;
	pfm_os_unlock();
	return ret;
}

static struct pfm_buffer_fmt *get(struct pfm_buffer_fmt *fmt)
{
	if (fmt && fmt->get && !fmt->get(fmt))
		fmt = NULL;
	if (fmt)
		fmt->users++;
	return fmt;
}

struct pfm_buffer_fmt *pfm_fmt_get_uuid(const unsigned char *uuid)
{
	struct pfm_buffer_fmt *fmt;

	pfm_os_lock();
	fmt = get(*find_uuid(uuid));
	pfm_os_unlock();
	return fmt;
}

struct pfm_buffer_fmt *pfm_fmt_get_name(const char *name)
{
	struct pfm_buffer_fmt *fmt;

	pfm_os_lock();
	fmt = get(find_name(name));
	pfm_os_unlock();
	return fmt;
}

void pfm_fmt_put(struct pfm_buffer_fmt *fmt)
{
	pfm_os_lock();
	fmt->users--;
	if (fmt->put)
		fmt->put(fmt);
	pfm_os_unlock();
}

static void describe(pfarg_fmtinfo_t *info, const struct pfm_buffer_fmt *fmt)
{
	memset(info, 0, sizeof(*info));
	pfm_copy_name(info->fmt_name, fmt->fmt_name, sizeof(info->fmt_name));
	memcpy(info->fmt_uuid, fmt->fmt_uuid, sizeof(info->fmt_uuid));
	info->fmt_flags = fmt->fmt_flags;
	info->fmt_version = fmt->fmt_version;
	info->fmt_arg_size = fmt->fmt_arg_size;
}

int pfm_fmt_list(pfarg_fmtinfo_t *infos, int n)
{
	int count = 0;

	pfm_os_lock();
	for (struct pfm_buffer_fmt *fmt = formats; fmt; fmt = fmt->next, count++)
		if (count < n)
			describe(&infos[count], fmt);
	pfm_os_unlock();
	return count;
}
