/* SPDX-License-Identifier: MIT */
/*
 * lpfm.h - what the files of the Lua module share.
 *
 * A file holds one noun. Functions named lpfm_open_*() add that noun's functions to the module's
 * table, which is on top of the stack. Everything here follows the Lua 5.1 C API alone.
 */
#ifndef LPFM_H
#define LPFM_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ffi/objects.h"
#include "perfmon/perfmon_dfl_smpl.h"

#define LPFM_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LPFM_EXPORT	__attribute__((visibility("default")))
#define LPFM_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* --- objects (object.c) --------------------------------------------------------------------- */

/*
 * Makes the class's metatable. Methods are found by name unless metas has an __index of its own; a
 * __gc of its own ends with lpfm_object_retire(), without one there is one that only does that.
 */
void lpfm_class_new(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods,
		    const luaL_Reg *metas);
/*
 * Pushes a zeroed userdata that is nothing yet: the caller makes it harmless to __gc, then arms it,
 * and only then acquires what it will hold.
 */
void *lpfm_object_new(lua_State *L, size_t size);
void lpfm_object_arm(lua_State *L, void *object, const struct lpfm_class *class);
void lpfm_object_retire(void *object);
/* The object at idx, or a raise if it is not of this class. */
void *lpfm_object_check(lua_State *L, int idx, const struct lpfm_class *class);

/* The object at idx, or NULL if it is not of this class. It is told by what it holds. */
static inline void *lpfm_object_test(lua_State *L, int idx, const struct lpfm_class *class)
{
	struct lpfm_head *head = lua_touserdata(L, idx);

	if (!head || lua_objlen(L, idx) < sizeof(*head) || head->class != class)
		return NULL;
	return head;
}

/* Keeps the value at idx alive as long as the userdata on top of the stack. */
void lpfm_object_anchor(lua_State *L, int idx);

/* --- arguments (args.c) --------------------------------------------------------------------- */

/* What an error message has to name; what is 0 or NULL is left out. */
struct lpfm_site {
	const char	*call;
	int		element;	/* of a vector, from 1 */
	const char	*field;
	const char	*arg;		/* name of an argument */
};

/* Raises "call: element N: field 'F': <expected> expected, got <the value at idx>". */
int lpfm_bad_value(lua_State *L, const struct lpfm_site *site, const char *expected, int idx);
/* Raises "call: element N: field 'F': <text>". */
int lpfm_bad(lua_State *L, const struct lpfm_site *site, const char *fmt, ...) LPFM_PRINTF(3, 4);

/* A 64-bit value: integral number, u64 object, decimal or hexadecimal string, 64-bit cdata. */
uint64_t lpfm_to_u64(lua_State *L, int idx, const struct lpfm_site *site);
/* An integral number from min to max, within +-2^53. */
int64_t lpfm_to_int(lua_State *L, int idx, const struct lpfm_site *site, int64_t min, int64_t max);
/* Argument idx of call as an integral number; opt: dflt if absent or nil. */
int64_t lpfm_arg_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
		     int64_t max);
int64_t lpfm_arg_opt_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
			 int64_t max, int64_t dflt);
/* Argument idx of call as a time in seconds: nanoseconds, or -1 if absent or nil (no limit). */
int64_t lpfm_arg_timeout(lua_State *L, int idx, const char *call);
/* A list of numbers below limit as a bit-vector, and back. */
void lpfm_to_bits(lua_State *L, int idx, const struct lpfm_site *site, uint64_t *bv,
		  unsigned int limit);
void lpfm_push_bits(lua_State *L, const uint64_t *bv);

/* --- records (structs.c): structures of the ABI as tables, in both directions ---------------- */

enum lpfm_kind {
	LPFM_U16, LPFM_U32, LPFM_U64,
	LPFM_NAT,	/* 64 bits that are a size, a number of things, or a time: never negative */
	LPFM_BITS,	/* a bit-vector as a list of register numbers */
	LPFM_FLAGS,	/* 32 bits by name */
	LPFM_TYPE,	/* 16 bits by name */
	LPFM_GROUP,	/* a group id, -1 for any */
	LPFM_TEXT,	/* characters ended by a zero */
	LPFM_UUID,
	LPFM_TIME,	/* a struct timespec as ns */
};

enum { LPFM_IN = 1, LPFM_OUT = 2, LPFM_NEED = 4 };

struct lpfm_flag;

struct lpfm_field {
	const char		*name;
	uint8_t			kind;
	uint8_t			dir;		/* LPFM_IN: can be given, _NEED: must be; _OUT: returned */
	uint16_t		offset;
	const struct lpfm_flag	*flags;		/* FLAGS, TYPE */
	uint64_t		none;		/* not 0: the value that is returned as nil */
};

struct lpfm_struct {
	size_t			size;
	int			flags_offset;	/* of the PFM_REG_RETFL_* bits, -1: none */
	bool			plain;		/* a number may stand for {first field = number} */
	const struct lpfm_field	*fields;	/* ended by one without a name */
};

extern const struct lpfm_struct lpfm_pmc_struct, lpfm_pmd_struct, lpfm_read_struct;
extern const struct lpfm_struct lpfm_set_struct, lpfm_setinfo_struct, lpfm_deleted_set_struct;
extern const struct lpfm_struct lpfm_reginfo_struct, lpfm_config_struct, lpfm_fmt_struct;

const struct lpfm_field *lpfm_struct_field(const struct lpfm_struct *rec, const char *name);
/* One field, the value being at idx. */
void lpfm_field_read(lua_State *L, int idx, const struct lpfm_field *field, void *base,
		     const struct lpfm_site *site);
void lpfm_field_push(lua_State *L, const struct lpfm_field *field, const void *base);
/* The table (or plain number) at idx into the structure at base; unknown fields raise. */
void lpfm_struct_read(lua_State *L, int idx, const struct lpfm_struct *rec, void *base,
		      struct lpfm_site *site);
void lpfm_struct_push(lua_State *L, const struct lpfm_struct *rec, const void *base);
/* A UUID as text. */
void lpfm_push_uuid(lua_State *L, const unsigned char *u);

/* The list at idx as n structures, in a userdata that it pushes. */
void *lpfm_list_read(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call, int *n);
/* The same; up to room bytes of them go to small, the caller's, and nothing is pushed. */
void *lpfm_list_read_small(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
			   int *n, void *small, size_t room);
/* The same into memory that has room for them: lua_objlen(L, idx) structures, zeroed. */
int lpfm_list_length(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call);
void lpfm_list_fill(lua_State *L, int idx, const struct lpfm_struct *rec, const char *call,
		    void *base, int n);
/* n structures as a list of tables. */
void lpfm_list_push(lua_State *L, const struct lpfm_struct *rec, const void *base, int n);

/* --- results (result.c) --------------------------------------------------------------------- */

/* nil, "call: reason", errno for a perfmon call that failed just now. */
int lpfm_fail(lua_State *L, const char *call);
/* true, or the failure, by what the call returned. */
int lpfm_result(lua_State *L, const char *call, int ret);
/* nil, "call: element N: reason", errno: the element is the one the call marked. */
int lpfm_fail_vector(lua_State *L, const char *call, const struct lpfm_struct *rec, void *base, int n);
/* nil, formatted message, err: for what is not a perfmon call. */
int lpfm_fail_errno(lua_State *L, int err, const char *fmt, ...) LPFM_PRINTF(3, 4);
/* nil, "timeout" */
int lpfm_timeout(lua_State *L);

/* --- 64-bit values (u64.c) ------------------------------------------------------------------ */

void lpfm_push_u64_object(lua_State *L, uint64_t value);

/* A number if it is exact when read as signed (|v| <= 2^53), else a u64 object. */
static inline void lpfm_push_u64(lua_State *L, uint64_t value)
{
	if (value + (1ULL << 53) <= 1ULL << 54)
		lua_pushnumber(L, (lua_Number)(int64_t)value);
	else
		lpfm_push_u64_object(L, value);
}

/* A number if it is exact when read as unsigned, else a u64 object. */
void lpfm_push_nat(lua_State *L, uint64_t value);
bool lpfm_is_u64(lua_State *L, int idx, uint64_t *value);
void lpfm_open_u64(lua_State *L);

/* --- names of bits and numbers (flags.c) ---------------------------------------------------- */

struct lpfm_flag {
	const char	*constant;	/* as the header has it */
	const char	*name;		/* without the prefix, as Lua has it */
	uint32_t	value;
};

extern const struct lpfm_flag lpfm_ctx_flags[], lpfm_pmc_flags[], lpfm_pmd_flags[];
extern const struct lpfm_flag lpfm_set_flags[], lpfm_msg_types[], lpfm_reg_types[];
extern const struct lpfm_flag lpfm_reg_kinds[], lpfm_fmt_flags[], lpfm_buf_flags[];

/* Flags at idx: a number, a name, or a list of both. */
uint32_t lpfm_to_flags(lua_State *L, int idx, const struct lpfm_site *site,
		       const struct lpfm_flag *flags);
/* As a list of names; bits without a name come as one number at the end. */
void lpfm_push_flags(lua_State *L, uint32_t value, const struct lpfm_flag *flags);
/* The name of one value, or the number. */
void lpfm_push_type(lua_State *L, uint32_t value, const struct lpfm_flag *types);
void lpfm_open_flags(lua_State *L);
void lpfm_open_errno(lua_State *L);

/* --- prepared vectors (vector.c) ------------------------------------------------------------ */

extern const struct lpfm_class lpfm_pmds_class, lpfm_pmcs_class;

/* Pushes the vector made of the list at idx. */
void lpfm_vector_new(lua_State *L, int idx, const struct lpfm_class *class,
		     const struct lpfm_struct *rec, const char *call);
int lpfm_vector_read_flagged(int fd, struct lpfm_vector *v);

/* pfm_read_pmds() with the flags of a read alone; a vector of lpfm.pmds. */
static inline int lpfm_vector_read(int fd, struct lpfm_vector *v)
{
	if (__builtin_expect(v->write_flags, 0))
		return lpfm_vector_read_flagged(fd, v);
	return pfm_read_pmds(fd, (pfarg_pmd_t *)v->data, v->n);
}

void lpfm_open_vector(lua_State *L);

/* --- contexts (create.c, context.c, registers.c, evtsets.c, message.c) ---------------------- */

extern const struct lpfm_class lpfm_context_class;

/* Raises: the argument is no context, or a closed one. */
struct lpfm_context *lpfm_context_refuse(lua_State *L, int idx);

/* Argument idx: an open context. */
static inline struct lpfm_context *lpfm_context_open(lua_State *L, int idx)
{
	struct lpfm_context *ctx = lpfm_object_test(L, idx, &lpfm_context_class);

	return __builtin_expect(ctx && ctx->fd >= 0, 1) ? ctx : lpfm_context_refuse(L, idx);
}

/* Its descriptor. */
static inline int lpfm_context_fd(lua_State *L, int idx)
{
	return lpfm_context_open(L, idx)->fd;
}

int lpfm_create(lua_State *L);			/* create.c */
/* lpfm.create with the options at idx, through fn: the format by name or, NULL, by the UUID in ctx. */
typedef int lpfm_create_fn(pfarg_ctx_t *ctx, const char *fmt_name, void *arg, size_t size);
int lpfm_create_with(lua_State *L, int idx, const char *call, lpfm_create_fn *fn);
/* 32 hexadecimal digits, with dashes or without. */
bool lpfm_parse_uuid(const char *text, unsigned char *uuid);
/* What a format of that name leaves in the buffer. */
enum lpfm_format lpfm_format_kind(const char *name);
void lpfm_open_context(lua_State *L);

/* Methods by topic, for the context's class. */
extern const luaL_Reg lpfm_register_methods[], lpfm_evtset_methods[], lpfm_message_methods[];

/* lpfm.poll (message.c) */
void lpfm_open_message(lua_State *L);

/* --- layouts of samples (layout.c) ---------------------------------------------------------- */

/* Makes room for n more; false without memory. */
bool lpfm_layouts_reserve(struct lpfm_layouts *ls, size_t n);
/* There is room for it. */
void lpfm_layouts_put(struct lpfm_layouts *ls, const pfarg_pmd_t *pmd);
void lpfm_layouts_drop_set(struct lpfm_layouts *ls, uint16_t set);
void lpfm_layouts_free(struct lpfm_layouts *ls);
/* An empty layout if that PMD was never programmed. */
const struct lpfm_layout *lpfm_layouts_find(const struct lpfm_layouts *ls, uint16_t set, uint16_t pmd);

/* --- sampling buffers (buffer.c, cursor.c, histogram.c; sample.h) --------------------------- */

int lpfm_context_buffer(lua_State *L);		/* the method ctx:buffer() */
void lpfm_open_buffer(lua_State *L);

/* lpfm.perfmonctl (perfmonctl.c) */
void lpfm_open_perfmonctl(lua_State *L);

/* --- the machine (machine.c) ---------------------------------------------------------------- */

bool lpfm_machine_is_sim(const char *name);
void lpfm_open_machine(lua_State *L);

/* --- other authors' parts ------------------------------------------------------------------- */

/*
 * sim.c: pushes the table of the simulator's methods. lpfm.machine() makes them methods of the
 * table it returns, so their first argument is that table.
 */
void lpfm_push_sim(lua_State *L);
/* events.c: pushes a table whose fields join the module's. */
int luaopen_lpfm_events(lua_State *L);

/* --- the modules ---------------------------------------------------------------------------- */

LPFM_EXPORT int luaopen_lpfm(lua_State *L);
LPFM_EXPORT int luaopen_lpfm_cdef(lua_State *L);
LPFM_EXPORT int luaopen_lpfm_proc(lua_State *L);

#endif
