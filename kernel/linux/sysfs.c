// SPDX-License-Identifier: GPL-2.0
/*
 * sysfs.c - /sys/kernel/perfmon: configuration, sessions, formats, and the logical PMU. The mapping
 * of its registers is also in /proc/perfmon_map, where tools of 2005 look for it.
 */
#include <linux/kobject.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "linux.h"

static struct kobject *top, *formats_dir, *pmu_dir;

/* --- configuration and sessions ------------------------------------------------------------- */

static u64 read_field(const u64 *field)
{
	u64 value;

	pfm_os_lock();
	value = *field;
	pfm_os_unlock();
	return value;
}

#define SHOW(name, field)							\
static ssize_t name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{										\
	return sysfs_emit(buf, "%llu\n", read_field(&lx_machine.field));	\
}

SHOW(task_sessions_count, thread_sessions)
SHOW(sys_sessions_count, sys_sessions)
SHOW(smpl_buffer_mem_cur, smpl_buf_size_cur)
SHOW(smpl_buffer_mem_max, smpl_buf_size_max)
SHOW(arg_mem_max, arg_size_max)
SHOW(ovfl_rate_max, ovfl_rate_max)

static ssize_t version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u.%u\n", PFM_VERSION_MAJ, PFM_VERSION_MIN);
}

/* Applies a new value. The core checks it, as it does for pfm_set_config(). */
static ssize_t change(void (*apply)(pfarg_config_t *cfg, u64 value), u64 value, size_t n)
{
	pfarg_config_t cfg;
	int ret;

	mutex_lock(&lx_config_lock);
	lx_pmu_lock();
	ret = pfm_do_get_config(&lx_machine, &cfg);
	lx_pmu_unlock();
	if (!ret) {
		apply(&cfg, value);
		ret = pfm_do_set_config(&lx_machine, &cfg);
	}
	mutex_unlock(&lx_config_lock);
	return ret ? ret : n;
}

/* A group's number, or -1 for every group (3.1.16). */
static int parse_group(const char *buf, unsigned int base, s64 *gid)
{
	int ret = kstrtos64(buf, base, gid);

	return !ret && (*gid < -1 || *gid >= PFM_GROUP_ANY) ? -EINVAL : ret;
}

static ssize_t show_group(char *buf, u32 gid)
{
	return sysfs_emit(buf, "%lld\n", gid == PFM_GROUP_ANY ? -1LL : gid);
}

#define STORE(name, field, parse, type)						\
static void name##_apply(pfarg_config_t *cfg, u64 value)			\
{										\
	cfg->field = value;							\
}										\
static ssize_t name##_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf, size_t n) \
{										\
	type value;								\
										\
	return parse(buf, 0, &value) ? -EINVAL : change(name##_apply, value, n); \
}

STORE(smpl_buffer_mem_max, cf_smpl_buf_size_max, kstrtou64, u64)
STORE(arg_mem_max, cf_arg_size_max, kstrtou64, u64)
STORE(ovfl_rate_max, cf_ovfl_rate_max, kstrtou64, u64)
STORE(sys_group, cf_sys_gid, parse_group, s64)
STORE(task_group, cf_thread_gid, parse_group, s64)

static ssize_t sys_group_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return show_group(buf, READ_ONCE(lx_machine.sys_gid));
}

static ssize_t task_group_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return show_group(buf, READ_ONCE(lx_machine.thread_gid));
}

#define RO(name) static struct kobj_attribute name##_attr = __ATTR_RO(name)
#define RW(name) static struct kobj_attribute name##_attr = __ATTR_RW(name)

RO(version);
RO(task_sessions_count);
RO(sys_sessions_count);
RO(smpl_buffer_mem_cur);
RW(smpl_buffer_mem_max);
RW(arg_mem_max);
RW(ovfl_rate_max);
RW(sys_group);
RW(task_group);

static const struct attribute *top_attrs[] = {
	&version_attr.attr, &task_sessions_count_attr.attr, &sys_sessions_count_attr.attr,
	&smpl_buffer_mem_cur_attr.attr, &smpl_buffer_mem_max_attr.attr, &arg_mem_max_attr.attr,
	&ovfl_rate_max_attr.attr, &sys_group_attr.attr, &task_group_attr.attr, NULL
};

static ssize_t model_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	ssize_t n;

	lx_pmu_lock();
	n = sysfs_emit(buf, "%s\n", lx_machine.pmu->name);
	lx_pmu_unlock();
	return n;
}

/* --- the mapping: a line for each register, with its default and the writable bits ---------- */

#define MAP_PROC	"perfmon_map"
#define MAP_LINE	"%s%u:0x%llx:0x%llx:%s\n"
#define MAP_ARGS(kind, r) kind, (r)->num, (r)->dfl, ~(r)->rsvd, (r)->name

typedef void (*mapping_fn)(void *to, const char *kind, const struct pfm_reg *reg);

static void each_mapping(mapping_fn fn, void *to)
{
	const struct pfm_pmu *pmu;

	lx_pmu_lock();
	pmu = lx_machine.pmu;
	for (u16 i = 0; i < pmu->num_pmcs; i++)
		fn(to, "PMC", &pmu->pmcs[i]);
	for (u16 i = 0; i < pmu->num_pmds; i++)
		fn(to, "PMD", &pmu->pmds[i]);
	lx_pmu_unlock();
}

struct page_text {
	char	*buf;
	int	len;
};

static void map_to_page(void *to, const char *kind, const struct pfm_reg *reg)
{
	struct page_text *text = to;

	text->len += sysfs_emit_at(text->buf, text->len, MAP_LINE, MAP_ARGS(kind, reg));
}

static ssize_t mappings_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct page_text text = { .buf = buf };

	each_mapping(map_to_page, &text);
	return text.len;
}

static void map_to_seq(void *to, const char *kind, const struct pfm_reg *reg)
{
	seq_printf(to, MAP_LINE, MAP_ARGS(kind, reg));
}

static int perfmon_map_show(struct seq_file *m, void *unused)
{
	each_mapping(map_to_seq, m);
	return 0;
}

RO(model);
RO(mappings);

/* --- a directory for each register and for each format ---------------------------------------- */

struct lx_node {
	struct kobject		kobj;
	struct list_head	entry;
	const void		*what;		/* a struct pfm_reg or a struct pfm_buffer_fmt */
	/*
	 * the PMU or the format to which the node belongs: all nodes of an owner are removed
	 * together
	 */
	const void		*owner;
};

static LIST_HEAD(nodes);
static DEFINE_MUTEX(nodes_lock);

static const struct pfm_reg *reg_of(struct kobject *kobj)
{
	return container_of(kobj, struct lx_node, kobj)->what;
}

static const struct pfm_buffer_fmt *fmt_of(struct kobject *kobj)
{
	return container_of(kobj, struct lx_node, kobj)->what;
}

static ssize_t name_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", reg_of(kobj)->name);
}

static ssize_t dfl_val_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%llx\n", reg_of(kobj)->dfl);
}

static ssize_t rsvd_msk_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%llx\n", reg_of(kobj)->rsvd);
}

static ssize_t width_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", reg_of(kobj)->width ? reg_of(kobj)->width : 64);
}

static ssize_t addr_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%llx\n", reg_of(kobj)->index);
}

RO(name);
RO(dfl_val);
RO(rsvd_msk);
RO(width);
RO(addr);

static struct attribute *reg_attrs[] = {
	&name_attr.attr, &dfl_val_attr.attr, &rsvd_msk_attr.attr, &width_attr.attr, &addr_attr.attr, NULL
};
ATTRIBUTE_GROUPS(reg);

/* The version is printed without a newline, as in perfmon 2.x. */
static ssize_t fmt_version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u32 v = fmt_of(kobj)->fmt_version;

	return sysfs_emit(buf, "%u.%u", PFM_VERSION_MAJOR(v), PFM_VERSION_MINOR(v));
}

static ssize_t uuid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", fmt_of(kobj)->fmt_uuid);
}

static struct kobj_attribute fmt_version_attr = __ATTR(version, 0444, fmt_version_show, NULL);
RO(uuid);

static struct attribute *fmt_attrs[] = { &fmt_version_attr.attr, &uuid_attr.attr, NULL };
ATTRIBUTE_GROUPS(fmt);

static void node_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct lx_node, kobj));
}

static const struct kobj_type reg_type = {
	.release = node_release, .sysfs_ops = &kobj_sysfs_ops, .default_groups = reg_groups,
};
static const struct kobj_type fmt_type = {
	.release = node_release, .sysfs_ops = &kobj_sysfs_ops, .default_groups = fmt_groups,
};

static int add_node(struct kobject *parent, const struct kobj_type *type, const void *what,
		    const void *owner, const char *name)
{
	struct lx_node *node = kzalloc(sizeof(*node), GFP_KERNEL);
	int ret;

	if (!node)
		return -ENOMEM;
	node->what = what;
	node->owner = owner;
	ret = kobject_init_and_add(&node->kobj, type, parent, "%s", name);
	if (ret) {
		kobject_put(&node->kobj);
		return ret;
	}
	mutex_lock(&nodes_lock);
	list_add(&node->entry, &nodes);
	mutex_unlock(&nodes_lock);
	return 0;
}

/*
 * Removes the owner's nodes. When this returns, none of their files is being read: kobject_del()
 * waits for the readers.
 */
static void remove_nodes(const void *owner)
{
	struct lx_node *node, *next;

	mutex_lock(&nodes_lock);
	list_for_each_entry_safe(node, next, &nodes, entry)
		if (node->owner == owner) {
			list_del(&node->entry);
			kobject_del(&node->kobj);
			kobject_put(&node->kobj);
		}
	mutex_unlock(&nodes_lock);
}

static int add_regs(const struct pfm_pmu *pmu, const struct pfm_reg *regs, u16 n, const char *prefix, bool hw)
{
	char name[12];
	int ret = 0;

	for (u16 i = 0; i < n && !ret; i++) {
		if (lx_is_hw(regs[i].num) != hw)
			continue;
		snprintf(name, sizeof(name), "%s%u", prefix, regs[i].num);
		ret = add_node(pmu_dir, &reg_type, &regs[i], pmu, name);
	}
	return ret;
}

static int add_pmu(const struct pfm_pmu *pmu, bool hw)
{
	int ret = add_regs(pmu, pmu->pmcs, pmu->num_pmcs, "pmc", hw);

	if (!ret)
		ret = add_regs(pmu, pmu->pmds, pmu->num_pmds, "pmd", hw);
	if (ret)
		remove_nodes(pmu);
	return ret;
}

int lx_sysfs_add_pmu(const struct pfm_pmu *pmu)
{
	return add_pmu(pmu, true);
}

void lx_sysfs_remove_pmu(const struct pfm_pmu *pmu)
{
	remove_nodes(pmu);
}

int lx_sysfs_add_format(const struct pfm_buffer_fmt *fmt)
{
	return add_node(formats_dir, &fmt_type, fmt, fmt, fmt->fmt_name);
}

static const void *format_with(const unsigned char *uuid)
{
	const void *fmt = NULL;
	struct lx_node *node;

	mutex_lock(&nodes_lock);
	list_for_each_entry(node, &nodes, entry)
		if (node->kobj.ktype == &fmt_type && !memcmp(fmt_of(&node->kobj)->fmt_uuid, uuid,
							     sizeof(pfm_uuid_t)))
			fmt = node->what;
	mutex_unlock(&nodes_lock);
	return fmt;
}

void lx_sysfs_remove_format(const unsigned char *uuid)
{
	const void *fmt = format_with(uuid);

	if (fmt)
		remove_nodes(fmt);
}

static int fill(void)
{
	int ret;

	pmu_dir = kobject_create_and_add("pmu_desc", top);
	formats_dir = kobject_create_and_add("formats", top);
	if (!pmu_dir || !formats_dir)
		return -ENOMEM;
	ret = sysfs_create_files(top, top_attrs);
	if (!ret)
		ret = sysfs_create_file(pmu_dir, &model_attr.attr);
	if (!ret)
		ret = sysfs_create_file(pmu_dir, &mappings_attr.attr);
	if (!ret)	/* On a kernel without /proc the file is missing, which is not an error. */
		proc_create_single(MAP_PROC, 0444, NULL, perfmon_map_show);
	return ret ? ret : add_pmu(lx_machine.pmu, false);
}

int lx_sysfs_init(void)
{
	int ret;

	top = kobject_create_and_add("perfmon", kernel_kobj);
	if (!top)
		return -ENOMEM;
	ret = fill();
	if (ret)
		lx_sysfs_exit();
	return ret;
}

void lx_sysfs_exit(void)
{
	remove_proc_subtree(MAP_PROC, NULL);
	remove_nodes(lx_machine.pmu);	/* The nodes of formats were removed with their modules. */
	kobject_put(pmu_dir);
	kobject_put(formats_dir);
	kobject_put(top);
}
