/* SPDX-License-Identifier: MIT */
/*
 * encode.c - makes the header and the samples of a block, in the default format (layout of 2.x).
 */
/***
@submodule lpfm.samples
*/
#include <string.h>

#include "base/args.h"
#include "base/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "samples/buffer.h"
#include "samples/entry.h"

/***
Returns the header of a block.
@function head
@int count samples
@int size of the samples, in bytes
@treturn string `lpfm.samples.head_size` bytes, to be followed by the samples
@usage
local sample = samples.sample { ip = 0x1000, tid = 7, ovfl_pmd = 65 }
for s in samples.each(samples.head(1, #sample) .. sample, {}) do assert(s.tid == 7) end
*/
int lpfm_encode_head(lua_State *L)
{
	pfm_dfl_smpl_hdr_t hdr = {
		.hdr_count = (uint64_t)lpfm_arg_int(L, 1, "head", "count", 0, 1LL << 53),
		.hdr_cur_offs = sizeof(hdr) + (uint64_t)lpfm_arg_int(L, 2, "head", "size", 0, 1LL << 53),
	};

	lua_pushlstring(L, (const char *)&hdr, sizeof(hdr));
	return 1;
}

/* Stores the lower width bytes of a value. */
static void store(unsigned char *at, unsigned int width, uint64_t value)
{
	uint16_t half = (uint16_t)value;
	uint32_t word = (uint32_t)value;

	memcpy(at, width == sizeof(half) ? (void *)&half : width == sizeof(word) ? (void *)&word : (void *)&value,
	       width);
}

/* Reads the fields of the table at 1 into an entry. */
static void read_fields(lua_State *L, unsigned char *entry)
{
	struct lpfm_site site = { .call = "sample" };

	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
		enum lpfm_smpl_field field;
		struct lpfm_place place;
		uint64_t value;

		site.field = NULL;
		if (!name)
			lpfm_bad_value(L, &site, "name of a field", lua_gettop(L) - 1);
		field = lpfm_smpl_field(name);
		if (field == LPFM_SMPL_FIELDS)
			lpfm_bad(L, &site, "unknown field '%s' (known: %s)", name, lpfm_smpl_names_text(L));
		site.field = lpfm_smpl_names[field].name;
		value = lpfm_to_u64(L, lua_gettop(L), &site);
		place = lpfm_smpl_names[field].at[LPFM_ENTRY_2X];
		store(entry + place.offset, place.width, value);
	}
}

/***
Returns a sample as it lies in a block.
@function sample
@tparam table fields ip, tid, pid, cpu, tstamp (ns), set, ovfl_pmd, last_reset; those left out are 0
@tparam[opt] table values of its PMDs, ascending by their numbers: a list
@treturn string its bytes: `lpfm.samples.entry_size`, and 8 for each value
@raise on wrong types and unknown fields
@usage assert(#samples.sample({ ip = 0x1000 }, { 5, 6 }) == samples.entry_size + 2 * 8)
*/
int lpfm_encode_sample(lua_State *L)
{
	struct lpfm_site site = { .call = "sample", .arg = "values" };
	unsigned char bytes[sizeof(pfm_dfl_smpl_entry_t) + PFM_MAX_PMDS * sizeof(uint64_t)] = { 0 };
	size_t n = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	if (!lua_isnoneornil(L, 2)) {
		luaL_checktype(L, 2, LUA_TTABLE);
		n = lua_objlen(L, 2);
		luaL_argcheck(L, n <= PFM_MAX_PMDS, 2, "too many values");
	}
	lua_settop(L, 2);
	read_fields(L, bytes);
	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		lua_rawgeti(L, 2, (int)i + 1);
		value = lpfm_to_u64(L, 3, &site);
		memcpy(bytes + sizeof(pfm_dfl_smpl_entry_t) + i * sizeof(value), &value, sizeof(value));
		lua_pop(L, 1);
	}
	lua_pushlstring(L, (const char *)bytes, sizeof(pfm_dfl_smpl_entry_t) + n * sizeof(uint64_t));
	return 1;
}
