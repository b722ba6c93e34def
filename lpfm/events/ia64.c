/* SPDX-License-Identifier: MIT */
/*
 * ia64.c - the options of dispatch_events for Itaniums, and the results that they add.
 *
 * itanium2 = {code_ranges = {{start, end, plm =}, ...}, invert =, fine = false,
 *   data_ranges = {{start, end}, ...}, opcode8 =, opcode9 =,
 *   iear = {mode =, umask =, plm =, ism =}, dear = {...},
 *   btb = {ds =, tm =, ptm =, ppm =, brt =, plm =},
 *   counters = {{thres =, ism =, unchecked =}, ...}}
 * itanium = the same without invert and fine,
 *   btb = {tar =, tac =, bac =, tm =, ptm =, ppm =, plm =}
 * montecito = as itanium2 without ism, demand_fetch =, prefetch_match =,
 *   opcode1 = {m =, i =, f =, b =, match =, mask =}, opcode2 = {...} instead of
 *   opcode8 and opcode9, etb = {tm =, ptm =, ppm =, brt =, plm =} instead of btb,
 *   ipear = {delay =, plm =}
 */
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "events/events.h"
#include "events/ia64.h"

#define IBR_PMC	256
#define DBR_PMC	264
#define RANGES	4

struct lpfm_ia64 {
	const struct ia64_options *options;
	union {
		pfmlib_ita_input_param_t	ita;
		pfmlib_ita2_input_param_t	ita2;
		pfmlib_mont_input_param_t	mont;
	} in;
	union {
		pfmlib_ita_output_param_t	ita;
		pfmlib_ita2_output_param_t	ita2;
		pfmlib_mont_output_param_t	mont;
	} out;
};

void *lpfm_ia64_in(struct lpfm_ia64 *x)
{
	return x ? &x->in : NULL;
}

void *lpfm_ia64_out(struct lpfm_ia64 *x)
{
	return x ? &x->out : NULL;
}

static unsigned char *at(struct lpfm_ia64 *x, size_t offset)
{
	return (unsigned char *)&x->in + offset;
}

/* --- values --------------------------------------------------------------------------------- */

static void put(unsigned char *to, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*to = (unsigned char)value;
		break;
	case 2:
		memcpy(to, &(uint16_t){ (uint16_t)value }, size);
		break;
	case 4:
		memcpy(to, &(uint32_t){ (uint32_t)value }, size);
		break;
	default:
		memcpy(to, &value, size);
	}
}

static unsigned long get_long(const unsigned char *from)
{
	unsigned long value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static uint64_t to_number(lua_State *L, const struct ia64_field *f, const struct lpfm_site *site)
{
	uint64_t value = lpfm_to_u64(L, -1, site);
	char expected[32];

	if (value <= f->max)
		return value;
	snprintf(expected, sizeof(expected), "0 to %llu", (unsigned long long)f->max);
	return (uint64_t)lpfm_bad_value(L, site, expected, -1);
}

static bool to_boolean(lua_State *L, const struct lpfm_site *site)
{
	if (!lua_isboolean(L, -1))
		lpfm_bad_value(L, site, "boolean", -1);
	return lua_toboolean(L, -1);
}

static uint64_t to_mode(lua_State *L, const struct ia64_field *f, const struct lpfm_site *site)
{
	static const char *const modes[] = { "cache", "tlb", "alat" };

	for (uint64_t i = 0; i <= f->max; i++)
		if (lua_type(L, -1) == LUA_TSTRING && !strcmp(modes[i], lua_tostring(L, -1)))
			return i;
	return (uint64_t)lpfm_bad_value(L, site, f->max == 2 ? "\"cache\", \"tlb\" or \"alat\"" :
					"\"cache\" or \"tlb\"", -1);
}

/* Reads the value on top into a field of the structure at to. */
static void read_value(lua_State *L, unsigned char *to, const struct ia64_field *f, const struct lpfm_site *site)
{
	uint64_t value = 0;

	switch (f->kind) {
	case IA64_NUMBER:
		value = to_number(L, f, site);
		break;
	case IA64_BOOLEAN:
		value = to_boolean(L, site) ? f->max : 0;
		break;
	case IA64_MODE:
		value = to_mode(L, f, site);
		break;
	}
	put(to + f->offset, f->size, value);
}

/* --- structures ----------------------------------------------------------------------------- */

static void want_table(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, site, "table", idx);
}

/*
 * Reads the table on top into the structure at to. Raises an error if the structure has a mode, and
 * the table gives none.
 */
static void read_fields(lua_State *L, unsigned char *to, const struct ia64_field *fields, struct lpfm_site site)
{
	const struct ia64_field *f;

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		site.field = NULL;
		site.field = lpfm_field_name(L, -2, &site);
		for (f = fields; f->name && strcmp(f->name, site.field); f++)
			;
		if (!f->name)
			lpfm_bad(L, &site, "unknown field");
		read_value(L, to, f, &site);
	}
	if (fields->kind != IA64_MODE)
		return;
	lua_getfield(L, -1, fields->name);
	site.field = fields->name;
	read_value(L, to, fields, &site);
	lua_pop(L, 1);
}

static void read_part(lua_State *L, struct lpfm_ia64 *x, const struct ia64_part *p, struct lpfm_site site)
{
	unsigned char *to = at(x, p->offset);

	*to = 1;
	if (!p->fields->name) {
		read_value(L, to, p->fields, &site);
		return;
	}
	want_table(L, -1, &site);
	site.arg = lua_pushfstring(L, "%s.%s", x->options->name, p->name);
	lua_insert(L, -2);
	read_fields(L, to, p->fields, site);
	lua_remove(L, -2);
}

static void read_counters(lua_State *L, struct lpfm_ia64 *x, struct lpfm_site site)
{
	const struct ia64_options *o = x->options;

	want_table(L, -1, &site);
	if (lua_objlen(L, -1) > (size_t)o->num_counters)
		lpfm_bad(L, &site, "%s has %d counters", o->name, o->num_counters);
	for (int i = 0; i < o->num_counters; i++) {
		lua_rawgeti(L, -1, i + 1);
		site.element = i + 1;
		site.field = "counters";
		if (!lua_isnil(L, -1)) {
			want_table(L, -1, &site);
			read_fields(L, at(x, o->counters + (size_t)i * o->counter_size), o->counter, site);
		}
		lua_pop(L, 1);
	}
}

/* --- ranges --------------------------------------------------------------------------------- */

static uint64_t limit(lua_State *L, int i, const struct lpfm_site *site)
{
	uint64_t value;

	lua_rawgeti(L, -1, i);
	value = lpfm_to_u64(L, -1, site);
	lua_pop(L, 1);
	return value;
}

/* Reads {start, end, plm =}, which is on top, into the range at to. */
static void read_range(lua_State *L, unsigned char *to, const struct ia64_ranges *r, struct lpfm_site site)
{
	if (!lua_istable(L, -1))
		lpfm_bad_value(L, &site, "range {start, end}", -1);
	put(to + r->start, sizeof(unsigned long), limit(L, 1, &site));
	put(to + r->end, sizeof(unsigned long), limit(L, 2, &site));
	lua_getfield(L, -1, "plm");
	site.field = "plm";
	if (!lua_isnil(L, -1))
		put(to + r->plm, sizeof(unsigned int), (uint64_t)lpfm_to_int(L, -1, &site, 0, 15));
	lua_pop(L, 1);
}

static void read_ranges(lua_State *L, unsigned char *to, const struct ia64_ranges *r, struct lpfm_site site)
{
	int n;

	want_table(L, -1, &site);
	n = (int)lua_objlen(L, -1);
	if (n < 1 || n > RANGES)
		lpfm_bad(L, &site, "1 to %d ranges expected, got %d", RANGES, n);
	to[r->used] = 1;
	for (int i = 0; i < n; i++) {
		lua_rawgeti(L, -1, i + 1);
		site.element = i + 1;
		read_range(L, to + r->limits + (size_t)i * r->stride, r, site);
		lua_pop(L, 1);
	}
}

/* --- the table of options ------------------------------------------------------------------- */

/*
 * Reads the value on top if the option `key` is a list, of ranges or counters. Returns false if it
 * is another option.
 */
static bool read_list(lua_State *L, struct lpfm_ia64 *x, const char *key, const struct lpfm_site *site)
{
	const struct ia64_options *o = x->options;

	if (!strcmp(key, "code_ranges"))
		read_ranges(L, at(x, o->code), o->ranges, *site);
	else if (!strcmp(key, "data_ranges"))
		read_ranges(L, at(x, o->data), o->ranges, *site);
	else if (!strcmp(key, "counters"))
		read_counters(L, x, *site);
	else
		return false;
	return true;
}

static bool read_flag(lua_State *L, struct lpfm_ia64 *x, const char *key, const struct lpfm_site *site)
{
	unsigned char *to = at(x, x->options->code + x->options->ranges->flags);
	unsigned int flags;

	for (const struct ia64_flag *f = x->options->flags; f->name; f++) {
		if (strcmp(f->name, key))
			continue;
		memcpy(&flags, to, sizeof(flags));
		put(to, sizeof(flags), to_boolean(L, site) == f->when ? flags | f->flag : flags);
		return true;
	}
	return false;
}

static void read_option(lua_State *L, struct lpfm_ia64 *x, struct lpfm_site site)
{
	const struct ia64_part *p = x->options->parts;

	site.field = lpfm_field_name(L, -2, &site);
	while (p->name && strcmp(p->name, site.field))
		p++;
	if (p->name)
		read_part(L, x, p, site);
	else if (!read_list(L, x, site.field, &site) && !read_flag(L, x, site.field, &site))
		lpfm_bad(L, &site, "unknown field");
}

/*
 * Refuses the options of another model: the library would interpret its structure as that of the
 * model in use.
 */
static void check_model(lua_State *L, const struct ia64_options *o, const struct lpfm_site *site,
			const pfmlib_input_param_t *in)
{
	unsigned int maxincr;

	/* one event suffices: the library refuses events of two models anyway */
	for (unsigned int i = 0; i < in->pfp_event_count; i++)
		if (o->is_event(in->pfp_events[i].event, &maxincr) == PFMLIB_SUCCESS)
			return;
	lpfm_bad(L, site, "for events of %s alone", o->name);
}

static struct lpfm_ia64 *read_options(lua_State *L, int idx, const char *call, const struct ia64_options *o,
				      const pfmlib_input_param_t *in)
{
	struct lpfm_site site = { .call = call, .arg = o->name };
	struct lpfm_ia64 *x;

	want_table(L, idx, &site);
	x = lua_newuserdata(L, sizeof(*x));
	memset(x, 0, sizeof(*x));
	x->options = o;
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
		read_option(L, x, site);
	check_model(L, o, &site, in);
	return x;
}

struct lpfm_ia64 *lpfm_ia64_new(lua_State *L, int idx, const char *call, const pfmlib_input_param_t *in)
{
	struct lpfm_ia64 *x = NULL;

	for (const struct ia64_options *o = lpfm_ia64_options; o->name; o++) {
		lua_getfield(L, idx, o->name);
		if (!lua_isnil(L, -1))
			x = read_options(L, lua_gettop(L), call, o, in);
	}
	return x;
}

/* --- results -------------------------------------------------------------------------------- */

static void append_registers(lua_State *L, int pmcs, const pfmlib_ita2_output_rr_t *rr, int base)
{
	for (unsigned int i = 0; i < rr->rr_nbr_used; i++) {
		lpfm_push_pmc(L, (unsigned int)base + rr->rr_br[i].reg_num, rr->rr_br[i].reg_value);
		lua_rawseti(L, pmcs, (int)lua_objlen(L, pmcs) + 1);
	}
}

/* Pushes, for each range, how many bytes are covered before and behind it. */
static void push_excess(lua_State *L, const unsigned char *in, const struct ia64_ranges *r,
			const pfmlib_ita2_output_rr_t *out)
{
	const unsigned char *range = in + r->limits;

	lua_newtable(L);
	for (int i = 0; i < RANGES && in[r->used]; i++, range += r->stride) {
		if (!get_long(range + r->start) && !get_long(range + r->end))
			break;
		lua_createtable(L, 0, 2);
		lpfm_set_u64(L, "before", out->rr_infos[i].rr_soff);
		lpfm_set_u64(L, "behind", out->rr_infos[i].rr_eoff);
		lua_rawseti(L, -2, i + 1);
	}
}

void lpfm_ia64_push(lua_State *L, int pmcs, struct lpfm_ia64 *x)
{
	const struct ia64_options *o = x->options;
	const pfmlib_ita2_output_rr_t *code = (const void *)((const char *)&x->out + o->code_out);
	const pfmlib_ita2_output_rr_t *data = (const void *)((const char *)&x->out + o->data_out);

	append_registers(L, pmcs, code, IBR_PMC);
	append_registers(L, pmcs, data, DBR_PMC);
	lua_createtable(L, 0, 2);
	push_excess(L, at(x, o->code), o->ranges, code);
	lua_setfield(L, -2, "code");
	push_excess(L, at(x, o->data), o->ranges, data);
	lua_setfield(L, -2, "data");
	lua_setfield(L, -2, "ranges");
}
