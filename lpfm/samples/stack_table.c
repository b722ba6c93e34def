/* SPDX-License-Identifier: MIT */
/*
 * stack_table.c - tables of call stacks, as recordings contain them: each stack has a number, and
 * is stored once.
 */
/***
Call stacks by number, from 1; 0 is the stack without frames. A stack is a list of addresses, the
innermost first.
@classmod stack_table
*/
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "base/u64.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "samples/buffer.h"
#include "samples/walk.h"
#include "symbols/unwind.h"
#include "symbols/unwinder.h"

enum { FIRST_SLOTS = 1024, FIRST_WORDS = 4096, GAP_MAX = 1 << 20, FRAMES_MAX = 1024, CUT_MAX = 256 };
/* most words of a stack: the kernel's frames, the user's, a mark */
enum { WORDS_MAX = UINT16_MAX + FRAMES_MAX + 1 };
#define EXACT	(1LL << 53)	/* a Lua number holds all addresses below this one exactly */
enum { UNWINDER = 5, AHEAD, STOP };	/* indices of arguments of stack_table:samples */

/*
 * Set in the last word of a stack with further callers that could not be found; the rest of the
 * word is the reason, an enum symunwind_end.
 */
#define CUT_MARK	(1ULL << 63)

static const char *const end_words[SYMUNWIND_NUM_ENDS] = {
#define X(number, name, word, words) [number] = (word),
	SYMUNWIND_ENDS(X)
#undef X
};

struct slot {
	uint32_t	number;		/* 0: free */
	uint32_t	hash;
};

/*
 * Each stack is in words as the number of its frames, followed by them; the mark of an incomplete
 * stack counts as a frame.
 */
struct table {
	struct lpfm_head	head;
	uint64_t		*words;
	size_t			used, room;
	size_t			*at;		/* index in words of stack i + 1 */
	size_t			n, room_at;
	struct slot		*slots;		/* by hash of the stack */
	size_t			num_slots;	/* a power of two, or 0 */
	size_t			returned;	/* number of stacks that fresh() has returned */
	/* number of samples by how their stacks end */
	uint64_t		ended[SYMUNWIND_NUM_ENDS];
	uint64_t		*ips;	/* room to unwind a stack; NULL: none was unwound yet */
};

static void release(void *table)
{
	struct table *t = table;

	free(t->ips);
	free(t->words);
	free(t->at);
	free(t->slots);
}

static const struct lpfm_class table_class = { "lpfm.stack_table", release };

static struct table *self(lua_State *L)
{
	return lpfm_object_check(L, 1, &table_class);
}

/* --- the hash table ------------------------------------------------------------------------- */

static uint32_t hash(const uint64_t *ips, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ ips[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 16);
}

static bool is_in(const struct table *t, const struct slot *slot, const uint64_t *ips, size_t n)
{
	const uint64_t *known = t->words + t->at[slot->number - 1];

	return known[0] == n && !memcmp(known + 1, ips, n * sizeof(*ips));
}

/* Returns the slot of the stack, or the free one where it belongs, which gets the stack's hash. */
static struct slot *find(const struct table *t, const uint64_t *ips, size_t n)
{
	uint32_t h = hash(ips, n);
	struct slot *slot = &t->slots[h & (t->num_slots - 1)];

	while (slot->number && (slot->hash != h || !is_in(t, slot, ips, n)))
		slot = slot + 1 < t->slots + t->num_slots ? slot + 1 : t->slots;
	slot->hash = h;
	return slot;
}

static bool grow_slots(struct table *t)
{
	size_t n = t->num_slots ? t->num_slots * 2 : FIRST_SLOTS;
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < t->num_slots; i++) {
		size_t to = t->slots[i].hash & (n - 1);

		if (!t->slots[i].number)
			continue;
		while (slots[to].number)
			to = (to + 1) & (n - 1);
		slots[to] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->num_slots = n;
	return true;
}

/* Makes room for one more stack of n frames. Returns false if there is no memory. */
static bool reserve(struct table *t, size_t n)
{
	size_t room = t->room ? t->room : FIRST_WORDS, room_at = t->room_at ? t->room_at * 2 : FIRST_SLOTS;
	void *more;

	while (room - t->used < n + 1)
		room *= 2;
	if (room != t->room) {
		more = realloc(t->words, room * sizeof(*t->words));
		if (!more)
			return false;
		t->words = more;
		t->room = room;
	}
	if (t->n == t->room_at) {
		more = realloc(t->at, room_at * sizeof(*t->at));
		if (!more)
			return false;
		t->at = more;
		t->room_at = room_at;
	}
	return t->n * 4 < t->num_slots * 3 || grow_slots(t);
}

/* Returns the number of a stack; raises an error if there is no memory. */
static uint32_t number_of(lua_State *L, struct table *t, const uint64_t *ips, size_t n)
{
	struct slot *slot;

	if (!n)
		return 0;
	if (t->n == UINT32_MAX - 1 || !reserve(t, n))
		luaL_error(L, "not enough memory");
	slot = find(t, ips, n);
	if (slot->number)
		return slot->number;
	t->at[t->n] = t->used;
	t->words[t->used] = n;
	memcpy(t->words + t->used + 1, ips, n * sizeof(*ips));
	t->used += n + 1;
	slot->number = (uint32_t)++t->n;
	return slot->number;
}

/***
Makes a table without stacks.
@function lpfm.samples.stack_table
@treturn stack_table
@usage assert(#samples.stack_table() == 0)
*/
int lpfm_stack_table_new(lua_State *L)
{
	struct table *t = lpfm_object_new(L, sizeof(*t));

	lpfm_object_arm(L, t, &table_class);
	return 1;
}

/* --- stacks of a buffer's samples ----------------------------------------------------------- */

/* How the stacks of samples are unwound. */
struct unwinding {
	struct symunwind	*by;		/* NULL: they are not */
	uint64_t		*ips;		/* the table's room */
	uint16_t		max_frames;	/* most frames of a sample, both levels together */
};

/*
 * Stores the frames of a sample in u->ips: the kernel's, the user's as far as they are certain,
 * and, if further callers could not be found, a mark. Returns the number of words; *end receives
 * why the stack ends.
 */
static size_t unwind(struct unwinding *u, const struct lpfm_walk *w, enum symunwind_end *end)
{
	const unsigned char *at = lpfm_walk_at(w);
	/* records are aligned */
	const uint64_t *words = (const uint64_t *)(const void *)(at + w->frames_at);
	pfm_stack_smpl_sample_t s;
	size_t n = w->kernel;

	memcpy(&s, at, sizeof(s));
	memcpy(u->ips, words, n * sizeof(*u->ips));
	words += n;
	n += symunwind_frames(u->by, &(struct symunwind_stack){
		.pid = lpfm_walk_field(w, LPFM_SMPL_PID), .time = lpfm_walk_field(w, LPFM_SMPL_TSTAMP),
		.chain = words, .num_chain = w->user,
		.is_cut = (unsigned int)w->kernel + w->user >= u->max_frames,
		.regs = words + w->user, .num_regs = s.num_regs,
		.copy = words + w->user + s.num_regs, .size = s.stack_size,
	}, u->ips + n, FRAMES_MAX, end);
	if (*end != SYMUNWIND_WHOLE)
		u->ips[n++] = CUT_MARK + *end;
	return n;
}

/*
 * Writes the sample in the default format and, if there is a table, the number of its stack as a
 * further value.
 */
static void put_sample(lua_State *L, luaL_Buffer *out, struct table *t, const struct lpfm_walk *w,
		       struct unwinding *u)
{
	const unsigned char *at = lpfm_walk_at(w);
	/* records are aligned */
	const uint64_t *ips = (const uint64_t *)(const void *)(at + w->frames_at);
	enum symunwind_end end = SYMUNWIND_WHOLE;
	uint64_t number;

	luaL_addlstring(out, (const char *)at + offsetof(pfm_stack_smpl_sample_t, entry), sizeof(pfm_dfl_smpl_entry_t));
	luaL_addlstring(out, (const char *)at + sizeof(pfm_stack_smpl_sample_t),
			w->frames_at - sizeof(pfm_stack_smpl_sample_t));
	if (!t)
		return;
	if (u->by)
		number = number_of(L, t, u->ips, unwind(u, w, &end));
	else
		number = number_of(L, t, ips, (size_t)w->kernel + w->user);
	t->ended[end]++;
	luaL_addlstring(out, (const char *)&number, sizeof(number));
}

/*
 * Begins to unwind by the unwinder at index UNWINDER. Raises an error if there is none, or no
 * memory.
 */
static void begin_unwinding(lua_State *L, struct unwinding *u, struct table *t, const struct lpfm_context *ctx)
{
	pfm_stack_smpl_hdr_t h;

	memcpy(&h, ctx->buf, sizeof(h));
	u->by = symbols_unwinder_at(L, UNWINDER);
	u->max_frames = h.hdr_max_frames;
	luaL_argcheck(L, u->by, UNWINDER, "an unwinder expected");
	if (!t->ips)
		t->ips = malloc(WORDS_MAX * sizeof(*t->ips));
	u->ips = t->ips;
	if (!u->ips)
		luaL_error(L, "not enough memory");
}

/*
 * Implements stack_table:samples and, if t is NULL, lpfm.samples.samples. The arguments are on the
 * Lua stack.
 */
static int take_samples(lua_State *L, struct table *t)
{
	const struct lpfm_context *ctx = lpfm_buffer_samples(L, 2);
	uint64_t from = lua_isnoneornil(L, 3) ? 0 : (uint64_t)lpfm_arg_int(L, 3, "samples", "from", 0, 1LL << 53);
	uint64_t stop = UINT64_MAX, set = (uint64_t)luaL_optinteger(L, 4, 0), n = 0;
	unsigned int ahead = lpfm_arg_ahead(L, AHEAD, "samples");
	struct unwinding u = { 0 };
	struct lpfm_walk w;
	luaL_Buffer out;

	if (!lua_isnoneornil(L, STOP))
		stop = (uint64_t)lpfm_arg_int(L, STOP, "samples", "stop", 0, 1LL << 53);
	lua_settop(L, STOP);
	luaL_argcheck(L, ctx->format == LPFM_STACK, 2, "a buffer of the format stack expected");
	lpfm_walk_from(L, &w, ctx, from, ahead);
	if (stop < (uint64_t)(w.limit - ctx->buf))
		w.limit = ctx->buf + stop > w.next ? ctx->buf + stop : w.next;
	if (!lua_isnil(L, UNWINDER))
		begin_unwinding(L, &u, t, ctx);
	luaL_buffinit(L, &out);
	while (lpfm_walk_next(&w) > 0) {
		if (lpfm_walk_field(&w, LPFM_SMPL_SET) < set)
			continue;
		put_sample(L, &out, t, &w, &u);
		n++;
	}
	if (w.next != w.limit)
		return lpfm_walk_broken(L, &w);
	luaL_pushresult(&out);
	lpfm_push_nat(L, n);
	lpfm_push_nat(L, (uint64_t)(w.next - ctx->buf));
	return 3;
}

/***
Reads the samples of a buffer of the format stack. Adds their stacks to the table, and returns them
as samples of the default format; the last value of each is the number of its stack.
@function stack_table:samples
@tparam buffer buffer
@int[opt] from the byte of the buffer to begin at: by default its first sample
@int[opt=0] set the first event set that counts: samples of sets with lower numbers are left out
@param[opt] unwinder of `lpfm.symbols`: finds the user's frames in copies of the stack, and ends a
stack where the next frame is not certain; without it, frames are as the machine gives them
@int[opt=0] ahead if the buffer has regions: how many of them are to be read before this one
@int[opt] stop the byte of the buffer at which a sample begins that is left out, with all after it
@treturn string the samples, without the header that a buffer has before them
@treturn int how many
@treturn int the byte to begin at the next time
@raise if it is no such buffer, or corrupt
@usage
local ctx = assert(require("lpfm").create { format = "stack" })
local samples, n = samples.stack_table():samples(ctx:buffer())
assert(samples == "" and n == 0)
ctx:close()
*/
static int table_samples(lua_State *L)
{
	return take_samples(L, self(L));
}

/***
Reads the samples of a buffer of the format stack, as `stack_table:samples` does, but without their
stacks and without the numbers of these stacks.
@function lpfm.samples.samples
@tparam buffer buffer
@int[opt] from the byte of the buffer to begin at: by default its first sample
@int[opt=0] set the first event set that counts: samples of sets with lower numbers are left out
@int[opt=0] ahead if the buffer has regions: how many of them are to be read before this one
@int[opt] stop the byte of the buffer at which a sample begins that is left out, with all after it
@treturn string the samples, without the header that a buffer has before them
@treturn int how many
@treturn int the byte to begin at the next time
@raise if it is no such buffer, or corrupt
@usage
local ctx = assert(require("lpfm").create { format = "stack", buf_flags = { "NO_USER", "NO_KERNEL" } })
local samples, n = samples.samples(ctx:buffer())
assert(samples == "" and n == 0)
ctx:close()
*/
int lpfm_stack_samples(lua_State *L)
{
	lua_settop(L, 5);
	lua_pushnil(L);
	lua_insert(L, 1);	/* in place of the table */
	lua_pushnil(L);
	lua_insert(L, UNWINDER);
	return take_samples(L, NULL);
}

/* --- stacks as bytes ------------------------------------------------------------------------ */

/* Pushes the stacks with numbers above `before` as bytes; pushes nothing if there are none. */
static int push_bytes(lua_State *L, const struct table *t, size_t before)
{
	uint64_t first = before + 1;
	luaL_Buffer out;
	size_t from;

	if (before == t->n)
		return 0;
	from = t->at[before];
	luaL_buffinit(L, &out);
	luaL_addlstring(&out, (const char *)&first, sizeof(first));
	luaL_addlstring(&out, (const char *)(t->words + from), (t->used - from) * sizeof(*t->words));
	luaL_pushresult(&out);
	return 1;
}

/***
Returns the stacks that were added since the last call: a word with the number of the first, then
for each stack a word with the number of its frames, and the frames. Words have 64 bits.
@function stack_table:fresh
@return string, or nil if there are none
@usage assert(samples.stack_table():fresh() == nil)
*/
static int table_fresh(lua_State *L)
{
	struct table *t = self(L);
	size_t before = t->returned;

	t->returned = t->n;
	return push_bytes(L, t, before);
}

/***
Returns all stacks in the form of stack_table:fresh.
@function stack_table:bytes
@return string, or nil if there are none
@usage assert(samples.stack_table():bytes() == nil)
*/
static int table_bytes(lua_State *L)
{
	return push_bytes(L, self(L), 0);
}

/* Returns the i-th word of bytes that may be unaligned. */
static uint64_t word_at(const char *bytes, size_t i)
{
	uint64_t word;

	memcpy(&word, bytes + i * sizeof(word), sizeof(word));
	return word;
}

/*
 * Adds a stack without frames for each number below first that the table lacks, because those
 * stacks were lost. Returns false if first is not free, too many are lost, or there is no memory.
 */
static bool pass_over(struct table *t, uint64_t first)
{
	if (first <= t->n || first - t->n > GAP_MAX)
		return false;
	while (t->n + 1 < first) {
		if (!reserve(t, 0))
			return false;
		t->at[t->n++] = t->used;
		t->words[t->used++] = 0;
	}
	return true;
}

/***
Adds stacks that stack_table:fresh has returned for another table, with the same numbers. If stacks
before them are missing, their numbers get stacks without frames.
@function stack_table:load
@string bytes
@treturn boolean false if the bytes are not stacks, or the table has one of the stacks already
@usage assert(not samples.stack_table():load("x"))
*/
static int table_load(lua_State *L)
{
	struct table *t = self(L);
	size_t len, words, i = 1;
	const char *bytes = luaL_checklstring(L, 2, &len);
	uint64_t *ips;

	words = len / sizeof(uint64_t);
	if (len % sizeof(uint64_t) || !words || !pass_over(t, word_at(bytes, 0))) {
		lua_pushboolean(L, false);
		return 1;
	}
	ips = lua_newuserdata(L, len);
	memcpy(ips, bytes, len);
	while (i < words && ips[i] && ips[i] < words - i) {
		size_t before = t->n;

		number_of(L, t, ips + i + 1, ips[i]);
		if (t->n == before)
			break;		/* the stack was in the table already */
		i += ips[i] + 1;
	}
	t->returned = t->n;
	lua_pushboolean(L, i == words);
	return 1;
}

/***
Adds a stack.
@function stack_table:add
@string frames words of 64 bits, the innermost first
@treturn int its number; 0 if it has no frames
@raise if the frames are not whole words, and if there is no memory
@usage assert(samples.stack_table():add("") == 0)
*/
static int table_add(lua_State *L)
{
	struct table *t = self(L);
	size_t len;
	const char *bytes = luaL_checklstring(L, 2, &len);
	uint64_t *ips;

	luaL_argcheck(L, len % sizeof(*ips) == 0, 2, "not words of 64 bits");
	ips = lua_newuserdata(L, len ? len : 1);
	memcpy(ips, bytes, len);
	lpfm_push_nat(L, number_of(L, t, ips, len / sizeof(*ips)));
	return 1;
}

/***
Adds a stack of another table, with the reason why it was cut, if it was.
@function stack_table:copy
@tparam stack_table other
@int number of the stack there
@treturn int its number here; 0 if the other table has no stack with that number
@raise on what is no table, and if there is no memory
@usage assert(samples.stack_table():copy(samples.stack_table(), 1) == 0)
*/
static int table_copy(lua_State *L)
{
	struct table *t = self(L);
	const struct table *other = lpfm_object_check(L, 2, &table_class);
	struct lpfm_site site = { .call = "copy", .arg = "number" };
	uint64_t number = lpfm_to_u64(L, 3, &site);
	const uint64_t *stack;

	luaL_argcheck(L, other != t, 2, "another table expected");
	stack = number && number <= other->n ? other->words + other->at[number - 1] : NULL;
	lpfm_push_nat(L, stack ? number_of(L, t, stack + 1, stack[0]) : 0);
	return 1;
}

/* --- reading stacks ------------------------------------------------------------------------- */

/*
 * Returns the stack with the number at 2: a word with the number of frames, then the frames; NULL
 * if there is none.
 */
static const uint64_t *stack_at(lua_State *L)
{
	const struct table *t = self(L);
	struct lpfm_site site = { .call = "stack", .arg = "number" };
	uint64_t number = lpfm_to_u64(L, 2, &site);

	return number && number <= t->n ? t->words + t->at[number - 1] : NULL;
}

/*
 * Returns why a stack is incomplete, or WHOLE if it is complete. A mark with an unknown reason
 * counts as SYMUNWIND_TABLE.
 */
static enum symunwind_end end_of(const uint64_t *stack)
{
	uint64_t last = stack && stack[0] ? stack[stack[0]] : 0;

	if (last <= CUT_MARK || last >= CUT_MARK + CUT_MAX)
		return SYMUNWIND_WHOLE;
	return last - CUT_MARK < SYMUNWIND_NUM_ENDS ? (enum symunwind_end)(last - CUT_MARK) : SYMUNWIND_TABLE;
}

/* Returns the number of the stack's frames. The mark is not counted. */
static uint64_t count_frames(const uint64_t *stack)
{
	return stack ? stack[0] - (end_of(stack) != SYMUNWIND_WHOLE) : 0;
}

/***
Tells where a stack was cut because further callers could not be found.
@function stack_table:cut
@int number
@treturn string "copy": at the end of the bytes copied; "table": in code without an unwind table;
"code": at a return address that is no code; "stack": where the stack pointer leaves the stack;
"pointers": in functions without frame pointers; "mappings": in a process with unknown mappings;
"frames": after the most frames that are kept; "registers": in a program of which the kernel does
not give the registers. Nil: it is whole
@usage assert(not samples.stack_table():cut(0))
*/
static int table_cut(lua_State *L)
{
	lua_pushstring(L, end_words[end_of(stack_at(L))]);
	return 1;
}

/***
Counts how the stacks end that `stack_table:samples` has read.
@function stack_table:cuts
@treturn table number of samples with cut stacks, by where they are cut (`stack_table:cut`)
@treturn int number of all samples
@usage
local cuts, total = samples.stack_table():cuts()
assert(total == 0 and not cuts.copy)
*/
static int table_cuts(lua_State *L)
{
	const struct table *t = self(L);
	uint64_t n = t->ended[SYMUNWIND_WHOLE];

	lua_newtable(L);
	for (int i = 1; i < SYMUNWIND_NUM_ENDS; i++) {
		if (!t->ended[i])
			continue;
		lpfm_push_nat(L, t->ended[i]);
		lua_setfield(L, -2, end_words[i]);
		n += t->ended[i];
	}
	lpfm_push_nat(L, n);
	return 2;
}

/***
Returns the frames of a stack.
@function stack_table:frames
@int number
@treturn table addresses, the innermost first; empty if there is no stack with that number
@usage assert(#samples.stack_table():frames(0) == 0)
*/
static int table_frames(lua_State *L)
{
	const uint64_t *stack = stack_at(L);
	uint64_t n = count_frames(stack);

	lua_createtable(L, (int)n, 0);
	for (uint64_t i = 1; i <= n; i++) {
		lua_pushnumber(L, (lua_Number)(int64_t)stack[i]);
		lua_rawseti(L, -2, (int)i);
	}
	return 1;
}

/*
 * Returns true if a frame can be an address. Frame pointers may lead to anything, so a stack ends
 * at 0, at a word that is too large, and at an address of the kernel after one of the user.
 */
static bool is_address(int64_t frame, int64_t before)
{
	return frame && frame > -EXACT && frame < EXACT && (frame > 0 || before < 0);
}

/*
 * Returns an address within the call instruction: a frame is the address at which its function
 * continues, which is after the call. The address at which the user entered the kernel is returned
 * as it is.
 */
static int64_t call_of(int64_t frame, int64_t before)
{
	return before < 0 && frame >= 0 ? frame : frame - 1;
}

/* An iterator over the addresses of a stack, the innermost first. */
struct calls {
	const uint64_t	*stack;
	uint64_t	num, i;		/* number of frames; the next frame, 0: the sample itself */
	int64_t		ip, before;
};

/* Returns an iterator for the stack with the number at 2 and the address of its sample at 3. */
static struct calls calls_of(lua_State *L)
{
	const uint64_t *stack = stack_at(L);
	int64_t ip = (int64_t)luaL_checknumber(L, 3);

	return (struct calls){ .stack = stack, .num = count_frames(stack), .ip = ip, .before = ip };
}

static bool next_call(struct calls *c, int64_t *address)
{
	int64_t frame;

	*address = c->ip;
	if (c->i == 1 && c->num && (int64_t)c->stack[1] == c->ip)
		c->i++;
	if (c->i++ == 0)
		return true;
	if (c->i - 1 > c->num)
		return false;
	frame = (int64_t)c->stack[c->i - 1];
	if (!is_address(frame, c->before))
		return false;
	*address = call_of(frame, c->before);
	c->before = frame;
	return true;
}

/***
Returns where the functions of a stack were: the address of the sample, then the addresses of the
calls, outwards, up to the first frame that is not an address.
@function stack_table:calls
@int number
@number ip of the sample
@treturn table addresses, the innermost first
@usage assert(samples.stack_table():calls(0, 4096)[1] == 4096)
*/
static int table_calls(lua_State *L)
{
	struct calls c = calls_of(L);
	int64_t address;

	lua_createtable(L, (int)c.num + 1, 0);
	for (int n = 1; next_call(&c, &address); n++) {
		lua_pushnumber(L, (lua_Number)address);
		lua_rawseti(L, -2, n);
	}
	return 1;
}

/***
Notes the addresses that `stack_table:calls` gives: each becomes a key of a table.
@function stack_table:note
@int number
@number ip of the sample
@tparam table user for addresses of the user
@tparam table kernel for addresses of the kernel
@usage
local user, kernel = {}, {}
samples.stack_table():note(0, 4096, user, kernel)
assert(user[4096] and not next(kernel))
*/
static int table_note(lua_State *L)
{
	struct calls c = calls_of(L);
	int64_t address;

	luaL_checktype(L, 4, LUA_TTABLE);
	luaL_checktype(L, 5, LUA_TTABLE);
	while (next_call(&c, &address)) {
		lua_pushnumber(L, (lua_Number)address);
		lua_pushboolean(L, true);
		lua_rawset(L, address < 0 ? 5 : 4);
	}
	return 0;
}

static int table_len(lua_State *L)
{
	lpfm_push_nat(L, self(L)->n);
	return 1;
}

void lpfm_open_stack_table(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "add", table_add }, { "bytes", table_bytes }, { "calls", table_calls },
		{ "copy", table_copy }, { "cut", table_cut }, { "cuts", table_cuts }, { "frames", table_frames },
		{ "fresh", table_fresh }, { "load", table_load }, { "note", table_note },
		{ "samples", table_samples }, { NULL, NULL }
	};
	static const luaL_Reg metas[] = { { "__len", table_len }, { NULL, NULL } };

	lpfm_class_new(L, &table_class, methods, metas);
}
