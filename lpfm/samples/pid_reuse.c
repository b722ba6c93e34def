/* SPDX-License-Identifier: MIT */
/* pid_reuse.c - tells apart the programs that ran one after the other under the same pid. */
/***
The lives of processes. The number of a process stands for another program after each exec, and for
another process when it is reused. A life has the number pid + 2^32 * n, the n-th that the recording
saw begin; n is 0 before the first. The names that a thread has one after the other are lives of its
number in the same way.
@classmod lives
*/
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "samples/pid_reuse.h"

enum { LIFE_SHIFT = 32, FIRST_ROOM = 64 };

struct object {
	struct lpfm_head	head;
	struct lives		lives;
	size_t			room;
	bool			sorted;
};

static void release(void *object)
{
	free(((struct object *)object)->lives.list);
}

static const struct lpfm_class lives_class = { "lpfm.lives", release };

static bool is_before(const struct life *a, uint64_t pid, uint64_t tstamp)
{
	return a->pid != pid ? a->pid < pid : a->tstamp < tstamp;
}

/* Returns how many entries of the list are before that process and time. */
static size_t count_before(const struct lives *lives, uint64_t pid, uint64_t tstamp)
{
	size_t low = 0, high = lives->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (is_before(&lives->list[mid], pid, tstamp))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t lives_at(const struct lives *lives, uint64_t pid, uint64_t tstamp)
{
	uint64_t n = count_before(lives, pid, tstamp + 1) - count_before(lives, pid, 0);

	return pid | n << LIFE_SHIFT;
}

static int compare(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return is_before(x, y->pid, y->tstamp) ? -1 : is_before(y, x->pid, x->tstamp);
}

static struct object *sorted(lua_State *L, int idx)
{
	struct object *o = lpfm_object_check(L, idx, &lives_class);

	if (!o->sorted && o->lives.n)
		qsort(o->lives.list, o->lives.n, sizeof(*o->lives.list), compare);
	o->sorted = true;
	return o;
}

struct lives lives_copy(lua_State *L, int idx)
{
	const struct lives *lives = &sorted(L, idx)->lives;
	struct lives copy = { malloc((lives->n + 1) * sizeof(*copy.list)), lives->n };

	if (!copy.list)
		luaL_error(L, "not enough memory");
	if (lives->n)
		memcpy(copy.list, lives->list, lives->n * sizeof(*copy.list));
	return copy;
}

/***
Makes a list of lives, which is empty.
@function lpfm.samples.lives
@treturn lives for a column of `samples.counter`: `{"pid", lives=}`
@usage assert(samples.lives():at(7, 0) == 7)
*/
int lpfm_lives_new(lua_State *L)
{
	struct object *o = lpfm_object_new(L, sizeof(*o));

	lpfm_object_arm(L, o, &lives_class);
	return 1;
}

static uint64_t pid_arg(lua_State *L, const char *call)
{
	return (uint64_t)lpfm_arg_int(L, 2, call, "pid", 0, UINT32_MAX);
}

/* Returns false if the argument at 3 is no time that the kernel can give. */
static bool get_time(lua_State *L, uint64_t *time)
{
	lua_Number ns = luaL_checknumber(L, 3);

	if (!(ns >= 0 && ns <= (lua_Number)INT64_MAX))
		return false;
	*time = (uint64_t)ns;
	return true;
}

/* Samples of a damaged file may have any time: one that cannot be is later than all others. */
static uint64_t sample_time_arg(lua_State *L)
{
	uint64_t time;

	return get_time(L, &time) ? time : UINT64_MAX;
}

/***
Notes that a life begins.
@function lives:begin
@int pid
@int tstamp ns, as samples have it
@usage
local lives = samples.lives()
lives:begin(7, 1000)
assert(lives:at(7, 999) == 7 and lives:at(7, 1000) == 7 + 2 ^ 32)
*/
static int lives_begin(lua_State *L)
{
	struct object *o = lpfm_object_check(L, 1, &lives_class);
	struct life life = { .pid = pid_arg(L, "begin") };

	luaL_argcheck(L, get_time(L, &life.tstamp), 3, "a time from 0 to 2^63 ns expected");
	if (o->lives.n == o->room) {
		size_t room = o->room ? 2 * o->room : FIRST_ROOM;
		struct life *list = realloc(o->lives.list, room * sizeof(*list));

		if (!list)
			return luaL_error(L, "not enough memory");
		o->lives.list = list;
		o->room = room;
	}
	o->lives.list[o->lives.n++] = life;
	o->sorted = false;
	return 0;
}

/***
Returns the number of the life that a process has at some time.
@function lives:at
@int pid
@int tstamp ns
@treturn number
@usage assert(samples.lives():at(7, 1000) == 7)
*/
static int lives_at_time(lua_State *L)
{
	const struct object *o = sorted(L, 1);

	lua_pushnumber(L, (lua_Number)lives_at(&o->lives, pid_arg(L, "at"), sample_time_arg(L)));
	return 1;
}

void lpfm_open_lives(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "at", lives_at_time }, { "begin", lives_begin }, { NULL, NULL }
	};

	lpfm_class_new(L, &lives_class, methods, NULL);
}
