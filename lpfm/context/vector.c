/* SPDX-License-Identifier: MIT */
/* vector.c - register vectors that are made once and used again and again. */
/***
Prepared register vectors.

lpfm.pmds{...} and lpfm.pmcs{...} check and convert a vector once; ctx:read_pmds, ctx:write_pmds and
ctx:write_pmcs take it again and again without allocation. A read leaves the values in the vector:
v:values(), v[i]. If the same vector is written afterwards, these values are written.

@classmod vector
*/
#include <errno.h>

#include "base/args.h"
#include "base/object.h"
#include "base/structs.h"
#include "context/vector.h"

const struct lpfm_class lpfm_pmds_class = { "lpfm.pmds", NULL };
const struct lpfm_class lpfm_pmcs_class = { "lpfm.pmcs", NULL };

static void note_write_flags(struct lpfm_vector *v)
{
	for (int i = 0; v->rec == &lpfm_pmd_struct && i < v->n; i++)
		if (((pfarg_pmd_t *)v->data)[i].reg_flags & ~PFM_REGFL_READ_RESET)
			v->write_flags = true;
}

void lpfm_vector_new(lua_State *L, int idx, const struct lpfm_class *class,
		     const struct lpfm_struct *rec, const char *call)
{
	int n = lpfm_list_length(L, idx, rec, call);
	size_t bytes = (size_t)n * rec->size;
	struct lpfm_vector *v = lpfm_object_new(L, sizeof(*v) + bytes + (size_t)n * sizeof(uint32_t));

	v->rec = rec;
	v->n = n;
	lpfm_object_arm(L, v, class);
	lpfm_list_fill(L, idx, rec, call, v->data, n);
	note_write_flags(v);
}

/*
 * Reads the vector without the flags that are meant for writes: they are removed before the read,
 * and restored after it.
 */
int lpfm_vector_read_flagged(int fd, struct lpfm_vector *v)
{
	pfarg_pmd_t *pmds = (pfarg_pmd_t *)v->data;
	uint32_t *saved = (uint32_t *)&pmds[v->n];
	int ret, err;

	for (int i = 0; i < v->n; i++) {
		saved[i] = pmds[i].reg_flags;
		pmds[i].reg_flags &= PFM_REGFL_READ_RESET;
	}
	ret = pfm_read_pmds(fd, pmds, v->n);
	err = errno;
	for (int i = 0; i < v->n; i++)
		pmds[i].reg_flags = saved[i] | (pmds[i].reg_flags & PFM_REG_RETFL_MASK);
	errno = err;
	return ret;
}

static struct lpfm_vector *self(lua_State *L)
{
	struct lpfm_vector *v = lpfm_object_test(L, 1, &lpfm_pmds_class);

	return v ? v : lpfm_object_check(L, 1, &lpfm_pmcs_class);
}

static void *element(lua_State *L, struct lpfm_vector *v, int idx, const char *call)
{
	int64_t i = lpfm_arg_int(L, idx, call, "index", 1, v->n);

	return (char *)v->data + (size_t)(i - 1) * v->rec->size;
}

static const struct lpfm_field *field(lua_State *L, const struct lpfm_vector *v, int idx,
				      const char *call)
{
	const char *name = lpfm_opt_string(L, idx, "value");
	const struct lpfm_field *f = lpfm_struct_field(v->rec, name);

	if (!f)
		luaL_error(L, "%s: unknown field '%s'", call, name);
	return f;
}

/***
Returns a field of an element.
@function vector:get
@int i index of the element, from 1
@string[opt="value"] name of the field
@return its value
@raise if there is no such element or field
@usage
local v = require("lpfm").pmds { 64, { num = 66, value = -1000 } }
assert(v:get(2) == -1000 and v:get(1, "num") == 64 and #v == 2)
*/
static int vector_get(lua_State *L)
{
	struct lpfm_vector *v = self(L);
	void *e = element(L, v, 2, "get");

	lpfm_field_push(L, field(L, v, 3, "get"), e);
	return 1;
}

/***
Changes a field of an element.
@function vector:set
@int i index of the element, from 1
@string name name of the field
@param value as in ctx:write_pmds
@return the vector
@raise if there is no such element, or no such field to set, or the value is not one for it
@usage
local v = require("lpfm").pmds { 64 }
assert(v:set(1, "long_reset", -5):get(1, "long_reset") == -5)
*/
static int vector_set(lua_State *L)
{
	struct lpfm_vector *v = self(L);
	void *e = element(L, v, 2, "set");
	struct lpfm_site site = { .call = "set", .field = lpfm_check_string(L, 3) };
	const struct lpfm_field *f = field(L, v, 3, "set");

	luaL_checkany(L, 4);
	if (!(f->dir & LPFM_IN))
		lpfm_bad(L, &site, "cannot be set");
	lpfm_field_read(L, 4, f, e, &site);
	note_write_flags(v);
	lua_settop(L, 1);
	return 1;
}

/***
Returns all values.
@function vector:values
@return value of element 1
@return value of element 2, ...
@usage assert(select("#", require("lpfm").pmds({ 64, 65 }):values()) == 2)
*/
static int vector_values(lua_State *L)
{
	struct lpfm_vector *v = self(L);
	const struct lpfm_field *f = lpfm_struct_field(v->rec, "value");

	luaL_checkstack(L, v->n + 4, "too many values to return; use get()");
	for (int i = 0; i < v->n; i++)
		lpfm_field_push(L, f, (char *)v->data + (size_t)i * v->rec->size);
	return v->n;
}

static int vector_len(lua_State *L)
{
	lua_pushinteger(L, self(L)->n);
	return 1;
}

/* v[i] is the value of element i, or nil beyond the end; v.name is a method. */
static int vector_index(lua_State *L)
{
	struct lpfm_vector *v = self(L);

	if (lua_type(L, 2) != LUA_TNUMBER) {
		lua_pushvalue(L, 2);
		lpfm_upvalue_get(L);
		return 1;
	}
	if (lua_tonumber(L, 2) == v->n + 1) {
		lua_pushnil(L);
		return 1;
	}
	lpfm_field_push(L, lpfm_struct_field(v->rec, "value"), element(L, v, 2, v->head.class->name));
	return 1;
}

static int vector_newindex(lua_State *L)
{
	struct lpfm_vector *v = self(L);
	struct lpfm_site site = { .call = v->head.class->name, .field = "value" };
	void *e = element(L, v, 2, site.call);

	lpfm_field_read(L, 3, lpfm_struct_field(v->rec, "value"), e, &site);
	return 0;
}

static int vector_tostring(lua_State *L)
{
	struct lpfm_vector *v = self(L);

	lua_pushfstring(L, "%s: %d element%s", v->head.class->name, v->n, v->n == 1 ? "" : "s");
	return 1;
}

static const luaL_Reg methods[] = {
	{ "get", vector_get },
	{ "set", vector_set },
	{ "values", vector_values },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__len", vector_len },
	{ "__newindex", vector_newindex },
	{ "__tostring", vector_tostring },
	{ NULL, NULL }
};

/* Makes the methods' table the upvalue of an __index that also accepts numbers. */
static void class_new(lua_State *L, const struct lpfm_class *class)
{
	lpfm_class_new(L, class, methods, metas);
	lpfm_class_index(L, class, vector_index);
}

void lpfm_open_vector(lua_State *L)
{
	class_new(L, &lpfm_pmds_class);
	class_new(L, &lpfm_pmcs_class);
}
