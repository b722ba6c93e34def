/* SPDX-License-Identifier: MIT */
/*
 * structs.c - the structures of perfmon.h as Lua tables.
 *
 * One description of a structure serves both directions. Field names are the structure's own
 * without their prefix.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/args.h"
#include "base/describe.h"
#include "base/flags.h"
#include "base/perfmon.h"
#include "base/u64.h"

#define NS_PER_S 1000000000U

MARKED_STRUCT(lpfm_pmc_struct, pfarg_pmc_t, reg_flags, false,
	FIELD(pfarg_pmc_t, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(pfarg_pmc_t, reg_set, "set", U16, INOUT, NULL, 0),
	FIELD(pfarg_pmc_t, reg_value, "value", U64, INOUT, NULL, 0),
	FIELD(pfarg_pmc_t, reg_flags, "flags", FLAGS, INOUT, lpfm_pmc_flags, 0));

MARKED_STRUCT(lpfm_pmd_struct, pfarg_pmd_t, reg_flags, true,
	FIELD(pfarg_pmd_t, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(pfarg_pmd_t, reg_set, "set", U16, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_value, "value", U64, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_flags, "flags", FLAGS, INOUT, lpfm_pmd_flags, 0),
	FIELD(pfarg_pmd_t, reg_long_reset, "long_reset", U64, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_short_reset, "short_reset", U64, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_last_reset_val, "last_reset", U64, OUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_ovfl_switch_cnt, "switch_cnt", NAT, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_reset_pmds, "reset_pmds", BITS, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_smpl_pmds, "smpl_pmds", BITS, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_smpl_eventid, "eventid", U64, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_random_mask, "random_mask", NAT, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_random_seed, "random_seed", U32, INOUT, NULL, 0));

MARKED_STRUCT(lpfm_read_struct, pfarg_pmd_t, reg_flags, true,
	FIELD(pfarg_pmd_t, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(pfarg_pmd_t, reg_set, "set", U16, INOUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_flags, "flags", FLAGS, IN, lpfm_pmd_flags, 0),
	FIELD(pfarg_pmd_t, reg_value, "value", U64, OUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_last_reset_val, "last_reset", U64, OUT, NULL, 0),
	FIELD(pfarg_pmd_t, reg_ovfl_switch_cnt, "switch_cnt", NAT, OUT, NULL, 0));

MARKED_STRUCT(lpfm_set_struct, pfarg_setdesc_t, set_flags, true,
	FIELD(pfarg_setdesc_t, set_id, "id", U16, NEED, NULL, 0),
	FIELD(pfarg_setdesc_t, set_id_next, "id_next", U16, INOUT, NULL, 0),
	FIELD(pfarg_setdesc_t, set_flags, "flags", FLAGS, INOUT, lpfm_set_flags, 0),
	FIELD(pfarg_setdesc_t, set_timeout, "timeout", NAT, INOUT, NULL, 0));

MARKED_STRUCT(lpfm_deleted_set_struct, pfarg_setdesc_t, set_flags, true,
	FIELD(pfarg_setdesc_t, set_id, "id", U16, NEED, NULL, 0));

MARKED_STRUCT(lpfm_setinfo_struct, pfarg_setinfo_t, set_flags, true,
	FIELD(pfarg_setinfo_t, set_id, "id", U16, NEED, NULL, 0),
	FIELD(pfarg_setinfo_t, set_id_next, "id_next", U16, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_flags, "flags", FLAGS, OUT, lpfm_set_flags, 0),
	FIELD(pfarg_setinfo_t, set_ovfl_pmds, "ovfl_pmds", BITS, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_runs, "runs", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_timeout, "timeout", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_act_duration, "act_duration", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_avail_pmcs, "avail_pmcs", BITS, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_avail_pmds, "avail_pmds", BITS, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_mmap_offset, "mmap_offset", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_lost, "lost", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_throttled, "throttled", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_blind, "blind", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_late, "late", NAT, OUT, NULL, 0),
	FIELD(pfarg_setinfo_t, set_gap, "gap", NAT, OUT, NULL, 0));

MARKED_STRUCT(lpfm_reginfo_struct, pfarg_reginfo_t, reg_flags, true,
	FIELD(pfarg_reginfo_t, reg_num, "num", U16, NEED, NULL, 0),
	FIELD(pfarg_reginfo_t, reg_name, "name", TEXT, OUT, NULL, PFM_REG_NAME_LEN),
	FIELD(pfarg_reginfo_t, reg_type, "type", TYPE, OUT, lpfm_reg_types, 0),
	FIELD(pfarg_reginfo_t, reg_kind, "kind", FLAGS, OUT, lpfm_reg_kinds, 0),
	FIELD(pfarg_reginfo_t, reg_def_value, "def_value", U64, OUT, NULL, 0),
	FIELD(pfarg_reginfo_t, reg_rsvd_mask, "rsvd_mask", U64, OUT, NULL, 0),
	FIELD(pfarg_reginfo_t, reg_index, "index", NAT, OUT, NULL, PFM_REG_IDX_NONE),
	FIELD(pfarg_reginfo_t, reg_width, "width", U16, OUT, NULL, 0),
	FIELD(pfarg_reginfo_t, reg_ctrl, "ctrl", U16, OUT, NULL, PFM_REG_NO_CTRL));

STRUCT(lpfm_config_struct, pfarg_config_t, false,
	FIELD(pfarg_config_t, cf_version, "version", U32, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_flags, "flags", U32, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_impl_pmcs, "impl_pmcs", BITS, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_impl_pmds, "impl_pmds", BITS, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_sys_gid, "sys_gid", GROUP, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_thread_gid, "thread_gid", GROUP, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_arg_size_max, "arg_size_max", NAT, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_smpl_buf_size_max, "smpl_buf_size_max", NAT, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_counter_width, "counter_width", U16, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_ovfl_rate_max, "ovfl_rate_max", NAT, INOUT, NULL, 0),
	FIELD(pfarg_config_t, cf_smpl_buf_size_cur, "smpl_buf_size_cur", NAT, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_thread_sessions, "thread_sessions", NAT, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_sys_sessions, "sys_sessions", NAT, OUT, NULL, 0),
	FIELD(pfarg_config_t, cf_pmu, "pmu", TEXT, OUT, NULL, 64));

STRUCT(lpfm_fmt_struct, pfarg_fmtinfo_t, false,
	FIELD(pfarg_fmtinfo_t, fmt_name, "name", TEXT, OUT, NULL, PFM_FMT_NAME_LEN),
	FIELD(pfarg_fmtinfo_t, fmt_uuid, "uuid", UUID, OUT, NULL, 0),
	FIELD(pfarg_fmtinfo_t, fmt_version, "version", U32, OUT, NULL, 0),
	FIELD(pfarg_fmtinfo_t, fmt_flags, "flags", FLAGS, OUT, lpfm_fmt_flags, 0),
	FIELD(pfarg_fmtinfo_t, fmt_arg_size, "arg_size", NAT, OUT, NULL, 0));

const struct lpfm_field *lpfm_struct_field(const struct lpfm_struct *rec, const char *name)
{
	for (const struct lpfm_field *f = rec->fields; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

/* --- one field ------------------------------------------------------------------------------ */

static uint64_t read_nat(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (lua_type(L, idx) == LUA_TNUMBER && lua_tonumber(L, idx) < 0)
		lpfm_bad_value(L, site, "integer of 0 or more", idx);
	return lpfm_to_u64(L, idx, site);
}

static uint32_t read_group(lua_State *L, int idx, const struct lpfm_site *site)
{
	int64_t gid = lpfm_to_int(L, idx, site, -1, UINT32_MAX - 1);

	return gid < 0 ? PFM_GROUP_ANY : (uint32_t)gid;
}

static void read_time(lua_State *L, int idx, const struct lpfm_site *site, struct timespec *t)
{
	uint64_t ns = read_nat(L, idx, site);

	t->tv_sec = (time_t)(ns / NS_PER_S);
	t->tv_nsec = (long)(ns % NS_PER_S);
}

static void push_time(lua_State *L, const struct timespec *t)
{
	lpfm_push_nat(L, (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec);
}

void lpfm_field_read(lua_State *L, int idx, const struct lpfm_field *field, void *base,
		     const struct lpfm_site *site)
{
	void *at = (char *)base + field->offset;

	switch (field->kind) {
	case LPFM_U16:
		*(uint16_t *)at = (uint16_t)lpfm_to_int(L, idx, site, 0, UINT16_MAX);
		break;
	case LPFM_U32:
		*(uint32_t *)at = (uint32_t)lpfm_to_int(L, idx, site, 0, UINT32_MAX);
		break;
	case LPFM_U64:
		*(uint64_t *)at = lpfm_to_u64(L, idx, site);
		break;
	case LPFM_NAT:
		*(uint64_t *)at = read_nat(L, idx, site);
		break;
	case LPFM_BITS:
		lpfm_to_bits(L, idx, site, at, PFM_MAX_PMDS);
		break;
	case LPFM_FLAGS:
		*(uint32_t *)at = lpfm_to_flags(L, idx, site, field->flags);
		break;
	case LPFM_GROUP:
		*(uint32_t *)at = read_group(L, idx, site);
		break;
	case LPFM_TIME:
		read_time(L, idx, site, at);
		break;
	}
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/*
 * Parses a UUID like 4d72bec0-0664-4143-82b4-d3fd27243c97, with the dashes at these places or
 * without dashes.
 */
bool lpfm_parse_uuid(const char *text, unsigned char *uuid)
{
	int n = 0;

	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (*text == '-')
			continue;
		if (digit < 0 || n == 32)
			return false;
		uuid[n / 2] = (unsigned char)(uuid[n / 2] << 4 | digit);
		n++;
	}
	return n == 32;
}

void lpfm_push_uuid(lua_State *L, const unsigned char *u)
{
	char text[40];

	snprintf(text, sizeof(text),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
	lua_pushstring(L, text);
}

static void push_group(lua_State *L, uint32_t gid)
{
	lua_pushnumber(L, gid == PFM_GROUP_ANY ? -1.0 : (lua_Number)gid);
}

/* Pushes a value, or nil if it is the field's value for "none". */
static void push_unless_none(lua_State *L, const struct lpfm_field *field, uint64_t value)
{
	if (field->none && value == field->none)
		lua_pushnil(L);
	else if (field->kind == LPFM_U64)
		lpfm_push_u64(L, value);
	else
		lpfm_push_nat(L, value);
}

void lpfm_field_push(lua_State *L, const struct lpfm_field *field, const void *base)
{
	const void *at = (const char *)base + field->offset;

	switch (field->kind) {
	case LPFM_U16:
		push_unless_none(L, field, *(const uint16_t *)at);
		break;
	case LPFM_U32:
		push_unless_none(L, field, *(const uint32_t *)at);
		break;
	case LPFM_U64:
	case LPFM_NAT:
		push_unless_none(L, field, *(const uint64_t *)at);
		break;
	case LPFM_BITS:
		lpfm_push_bits(L, at);
		break;
	case LPFM_FLAGS:
		lpfm_push_flags(L, *(const uint32_t *)at & ~PFM_REG_RETFL_MASK, field->flags);
		break;
	case LPFM_TYPE:
		lpfm_push_type(L, *(const uint16_t *)at, field->flags);
		break;
	case LPFM_GROUP:
		push_group(L, *(const uint32_t *)at);
		break;
	case LPFM_TEXT:
		lua_pushlstring(L, at, strnlen(at, field->none));
		break;
	case LPFM_UUID:
		lpfm_push_uuid(L, at);
		break;
	case LPFM_TIME:
		push_time(L, at);
		break;
	}
}

/* --- a structure ---------------------------------------------------------------------------- */

/* Returns the field with the name at -2; raises an error if there is none. */
static const struct lpfm_field *known_field(lua_State *L, const struct lpfm_struct *rec,
					    struct lpfm_site *site)
{
	const struct lpfm_field *field;

	field = lpfm_struct_field(rec, lpfm_field_name(L, -2, site));
	if (!field)
		lpfm_bad(L, site, "unknown field '%s'", lua_tostring(L, -2));
	if (!(field->dir & LPFM_IN))
		lpfm_bad(L, site, "field '%s' cannot be set", field->name);
	return field;
}

static void read_table(lua_State *L, int idx, const struct lpfm_struct *rec, void *base,
		       struct lpfm_site *site)
{
	uint32_t given = 0;

	lua_pushnil(L);
	while (lua_next(L, idx)) {
		const struct lpfm_field *field = known_field(L, rec, site);

		site->field = field->name;
		lpfm_field_read(L, lua_gettop(L), field, base, site);
		site->field = NULL;
		given |= 1U << (field - rec->fields);
		lua_pop(L, 1);
	}
	for (const struct lpfm_field *f = rec->fields; f->name; f++)
		if (f->dir & LPFM_NEED && !(given & 1U << (f - rec->fields)))
			lpfm_bad(L, site, "field '%s' is missing", f->name);
}

void lpfm_struct_read(lua_State *L, int idx, const struct lpfm_struct *rec, void *base,
		      struct lpfm_site *site)
{
	if (lua_istable(L, idx))
		read_table(L, idx, rec, base, site);
	else if (rec->plain && lua_type(L, idx) == LUA_TNUMBER)
		lpfm_field_read(L, idx, &rec->fields[0], base, site);
	else
		lpfm_bad_value(L, site, rec->plain ? "number or table" : "table", idx);
}

/* Pushes the names of the fields that are returned; returns how many they are. */
static int push_names(lua_State *L, const struct lpfm_struct *rec)
{
	int n = 0;

	luaL_checkstack(L, 40, "names");
	for (const struct lpfm_field *f = rec->fields; f->name; f++)
		if (f->dir & LPFM_OUT) {
			lua_pushstring(L, f->name);
			n++;
		}
	return n;
}

/* Pushes the structure as a table of n fields; their names are on the stack from idx on. */
static void push_named(lua_State *L, const struct lpfm_struct *rec, const void *base, int idx, int n)
{
	lua_createtable(L, 0, n);
	for (const struct lpfm_field *f = rec->fields; f->name; f++) {
		if (!(f->dir & LPFM_OUT))
			continue;
		lua_pushvalue(L, idx++);
		lpfm_field_push(L, f, base);
		lua_rawset(L, -3);
	}
}

/* Replaces the names from idx on by the value on top. */
static void drop_names(lua_State *L, int idx)
{
	lua_replace(L, idx);
	lua_settop(L, idx);
}

void lpfm_struct_push(lua_State *L, const struct lpfm_struct *rec, const void *base)
{
	int names = lua_gettop(L) + 1, n = push_names(L, rec);

	push_named(L, rec, base, names, n);
	drop_names(L, names);
}

static bool is_zero(const struct lpfm_field *field, const void *base)
{
	static const uint64_t zeros[PFM_PMD_BV];
	const void *at = (const char *)base + field->offset;

	switch (field->kind) {
	case LPFM_U16:
		return !*(const uint16_t *)at;
	case LPFM_U32:
		return !*(const uint32_t *)at;
	case LPFM_FLAGS:
		return !(*(const uint32_t *)at & ~PFM_REG_RETFL_MASK);
	case LPFM_BITS:
		return !memcmp(at, zeros, sizeof(zeros));
	default:
		return !*(const uint64_t *)at;
	}
}

void lpfm_struct_push_given(lua_State *L, const struct lpfm_struct *rec, const void *base)
{
	lua_newtable(L);
	for (const struct lpfm_field *f = rec->fields; f->name; f++) {
		if (!(f->dir & LPFM_IN) || (f != rec->fields && is_zero(f, base)))
			continue;
		lpfm_field_push(L, f, base);
		lua_setfield(L, -2, f->name);
	}
}

/* --- lists of structures -------------------------------------------------------------------- */

/* Refuses {num=4} where {{num=4}} is meant. */
static void refuse_lone_record(lua_State *L, int idx, const struct lpfm_site *site)
{
	lua_pushnil(L);
	if (lua_next(L, idx))
		lpfm_bad(L, site, "list expected, got a table without element 1 "
			 "(a list of one is written {{...}})");
}

/*
 * Refuses a list with a hole, after which elements would be omitted silently. Only the element
 * after the end is looked at.
 */
static void refuse_hole(lua_State *L, int idx, size_t n, const struct lpfm_site *site)
{
	for (lua_pushnumber(L, (lua_Number)n); lua_next(L, idx); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TNUMBER)
			lpfm_bad(L, site, "element %d is behind a hole: there is no element %d",
				 (int)lua_tonumber(L, -2), (int)n + 1);
}

int lpfm_list_length(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call)
{
	struct lpfm_site site = { .call = call };
	size_t n;

	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "list", idx);
	n = lua_objlen(L, idx);
	if (n > INT_MAX / rec->size)
		lpfm_bad(L, &site, "the list is too long");
	if (!n)
		refuse_lone_record(L, idx, &site);
	else
		refuse_hole(L, idx, n, &site);
	return (int)n;
}

/*
 * Fills in a structure from a number, the value of its first field, as most vectors are given.
 * Returns false if the element is not such a number: then lpfm_struct_read() must read it.
 */
static inline bool fill_plain(lua_State *L, int idx, const struct lpfm_struct *rec, void *base)
{
	lua_Number num;

	if (!rec->plain || lua_type(L, idx) != LUA_TNUMBER)
		return false;
	num = lua_tonumber(L, idx);
	if (!(num >= 0 && num <= UINT16_MAX) || num != (double)(int)num)
		return false;
	*(uint16_t *)((char *)base + rec->fields[0].offset) = (uint16_t)(int)num;
	return true;
}

void lpfm_list_fill(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
		    void *base, int n)
{
	struct lpfm_site site = { .call = call };
	int top = lua_gettop(L) + 1;

	luaL_checkstack(L, 8, call);
	for (int i = 0; i < n; i++) {
		void *element = (char *)base + (size_t)i * rec->size;

		lua_rawgeti(L, idx, i + 1);
		if (!fill_plain(L, top, rec, element)) {
			site.element = i + 1;
			lpfm_struct_read(L, top, rec, element, &site);
		}
		lua_pop(L, 1);
	}
}

void *lpfm_list_read_small(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
			   int *n, void *small, size_t room)
{
	size_t size;
	void *base;

	*n = lpfm_list_length(L, idx, rec, call);
	size = (size_t)*n * rec->size;
	base = size <= room ? small : lua_newuserdata(L, size);
	memset(base, 0, size);
	lpfm_list_fill(L, idx, rec, call, base, *n);
	return base;
}

void *lpfm_list_read(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call, int *n)
{
	static uint64_t nothing;	/* the data of an empty list */

	return lpfm_list_read_small(L, idx, rec, call, n, &nothing, 0);
}

int lpfm_list_done(const struct lpfm_struct *rec, const void *base, int n, int ret)
{
	if (!ret)
		return n;
	for (int i = 0; i < n; i++)
		if (PFM_REG_HAS_ERROR(*(const uint32_t *)((const char *)base + (size_t)i * rec->size +
							  rec->flags_offset)))
			return i;
	return 0;
}

/* The names of the fields are pushed once, and used for all structures. */
void lpfm_list_push(lua_State *L, const struct lpfm_struct *rec, const void *base, int n)
{
	int names = lua_gettop(L) + 1, fields = push_names(L, rec);

	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		push_named(L, rec, (const char *)base + (size_t)i * rec->size, names, fields);
		lua_rawseti(L, -2, i + 1);
	}
	drop_names(L, names);
}
