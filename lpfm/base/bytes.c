/* SPDX-License-Identifier: MIT */
/* bytes.c - single values in memory, by type and offset. */
#include <string.h>

#include "base/args.h"
#include "base/bytes.h"
#include "base/u64.h"

enum type { U8, U16, U32, U64, DOUBLE };

static const char *const names[] = { "u8", "u16", "u32", "u64", "double", NULL };
static const unsigned char widths[] = { 1, 2, 4, 8, 8 };

/*
 * Reads argument idx, a type, and the next one, an offset at which a value of that type lies within
 * size bytes.
 */
static enum type place(lua_State *L, int idx, const char *call, size_t size, size_t *offset)
{
	struct lpfm_site site = { .call = call };
	enum type type = (enum type)luaL_checkoption(L, idx, NULL, names);

	*offset = (size_t)lpfm_arg_int(L, idx + 1, call, "offset", 0, 1LL << 53);
	if (size < widths[type] || *offset > size - widths[type])
		lpfm_bad(L, &site, "a %s at offset %f is not within the %f bytes", names[type],
			 (lua_Number)*offset, (lua_Number)size);
	return type;
}

int lpfm_bytes_get(lua_State *L, int idx, const char *call, const void *at, size_t size)
{
	uint64_t value = 0;
	size_t offset;
	enum type type = place(L, idx, call, size, &offset);
	double number;

	if (type == DOUBLE) {
		memcpy(&number, (const char *)at + offset, sizeof(number));
		lua_pushnumber(L, number);
		return 1;
	}
	/* supported machines are little-endian: the first bytes of value are its lowest ones */
	memcpy(&value, (const char *)at + offset, widths[type]);
	lpfm_push_u64(L, value);
	return 1;
}

void lpfm_bytes_put(lua_State *L, int idx, const char *call, void *at, size_t size)
{
	struct lpfm_site site = { .call = call, .arg = "value" };
	size_t offset;
	enum type type = place(L, idx, call, size, &offset);
	uint64_t value;
	double number;

	if (type == DOUBLE) {
		number = luaL_checknumber(L, idx + 2);
		memcpy((char *)at + offset, &number, sizeof(number));
		return;
	}
	if (type == U64)
		value = lpfm_to_u64(L, idx + 2, &site);
	else
		value = (uint64_t)lpfm_to_int(L, idx + 2, &site, 0, (1LL << 8 * widths[type]) - 1);
	memcpy((char *)at + offset, &value, widths[type]);
}
