/* SPDX-License-Identifier: MIT */
/***
The simulated computer: methods of what `lpfm.machine("sim:MODEL", options)` returns.

`lpfm.machine` describes the options; `lpfm.machines()` lists the models.

A program is a list of steps. A site, `{ip=0x1000, ns=10, events={l2_misses=1}, level="kernel"}`, is
an instruction: when its time is over its events happen, and also 1 instruction and its ns as cycles
unless events says otherwise. It can also have `data=address`, with `latency=cycles` for a load that
missed, `fetch=true` with latency, `branch=target`, and `irqs_off=true`. For thresholds, `spread=n`
says that its events happen evenly in its last n cycles, not all in the last one; for opcode
matchers, `opcode=bits` and `unit="m"`, i, f or b are the instruction's. `{loop=1000, step, ...}`
repeats steps, `loop="forever"` without end. `{call=0x1020, step, ...}` are the steps of a function
that is called there: the address is in the frames of samples (`level="kernel"`: of the kernel's
stack). `{map="/bin/prog", ip=0x1000, size=0x1000, offset=0}` maps code of a file, and leaves a
record of that in buffers that hold records (the format stack with RECORDS). `{sleep=ns}`,
`{yield=true}`, `{fork=program}`, `{thread=program}`, `{exec=program}` (`name=` of the thread from
then on), `{exit=true}`, `{exit_group=true}`, `{sum=true}` and `{rum=true}` are operations.

If a site says what it accesses, its events are the effects of that on the caches, TLBs and branch
predictor of its CPU: cycles, stalls, loads, stores, branches and their misses. Its ns, by default
1, are the cycles of the instruction itself; the time in which it waits for the caches is added.
`load={address, stride, ...}` and `store=` have the address of the first access, and by how many
bytes it moves with each iteration of the innermost loop around the site, of the next outer loop,
and so on; `size=` bytes (8). `{address, stride, random=n, seed=s}` accesses one of n elements at
random; `{address, stride, chase=n, seed=s}` goes once round all n elements in random order, and
each leads to the next. `taken=` makes the site a conditional branch: true, false, "back" (taken
except in the last iteration of its loop), a pattern like "TTN" that is repeated, or a probability,
with `seed=`. `bytes=` (4) are fetched for the instruction. `fence=true` empties the store buffer
before the site's accesses, which bypass the buffer: without accesses it is a fence, with a load and
a store a locked operation. `{trace=file}` replays what `lpfm trace` recorded.
`{ops=function}` executes what the function returns, called until it returns nothing: ip, "load",
"store", "modify", "branch" or "jump", then the address (of a branch: whether it is taken) and size.
@module lpfm.sim
*/
#include <errno.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "base/result.h"
#include "base/rows.h"
#include "base/u64.h"
#include "context/context.h"
#include "sim/sim.h"

#define DEFAULT_LIMIT 10000000000ULL	/* default limit in ns for a run until an event */

struct lpfm_sim {
	struct lpfm_head	head;
	struct pfm_sim		*sim;
};

static void release(void *object)
{
	pfm_sim_put(((struct lpfm_sim *)object)->sim);
}

static const struct lpfm_class sim_class = { "lpfm.sim", release };

static struct pfm_sim *this_sim(lua_State *L)
{
	struct lpfm_sim *s = lpfm_object_check(L, lua_upvalueindex(1), &sim_class);

	return s->sim;
}

/* --- fields of an argument table ------------------------------------------------------------- */

static int64_t int_field(lua_State *L, int idx, const char *call, const char *name, int64_t max,
			 int64_t dflt)
{
	struct lpfm_site site = { .call = call, .field = name };

	if (!lpfm_raw_field(L, idx, name))
		return dflt;
	dflt = lpfm_to_int(L, -1, &site, 0, max);
	lua_pop(L, 1);
	return dflt;
}

static uint32_t tid_at(lua_State *L, int idx, const char *call)
{
	return (uint32_t)lpfm_arg_int(L, idx, call, "tid", 0, UINT32_MAX);
}

/* --- threads -------------------------------------------------------------------------------- */

/* Returns a bit for each CPU that the fields cpu=2 or affinity={0, 1} name. */
static uint64_t affinity_of(lua_State *L, int idx, const char *call)
{
	struct lpfm_site site = { .call = call, .field = "affinity" };
	uint64_t cpus[PFM_PMD_BV] = { 0 };

	if (lpfm_raw_field(L, idx, "affinity")) {
		if (!lua_istable(L, -1))
			lpfm_bad_value(L, &site, "list of CPUs", -1);
		lpfm_to_bits(L, -1, &site, cpus, 64);
		lua_pop(L, 1);
	}
	if (lpfm_raw_field(L, idx, "cpu")) {
		site.field = "cpu";
		cpus[0] |= 1ULL << lpfm_to_int(L, -1, &site, 0, 63);
		lua_pop(L, 1);
	}
	return cpus[0];
}

/***
Makes a new thread, which is ready to run.
@function machine:spawn
@tparam table spec
@tparam table spec.program list of steps, as lpfm.sim describes them: `{ip=, ns=, events={...}}`,
`{loop=n, ...}`, `{sleep=ns}`, ...
@string[opt] spec.name its name
@int[opt] spec.cpu the CPU it runs on
@tparam[opt] {int,...} spec.affinity the CPUs it may run on
@int[opt=1000] spec.uid its user
@int[opt=1000] spec.gid its group
@int[opt] spec.process pid of the process to join
@bool[opt] spec.kernel a kernel thread
@treturn[1] int its thread id
@return[2] nil
@treturn[2] string message, which names the step that is wrong
@treturn[2] int errno: EINVAL, ENOMEM
@raise on wrong types; the message says where, as `program[2][1]`
@usage
local m = require("lpfm").machine("sim:itanium2")
local tid = m:spawn{program={{loop=1000, {ip=0x1000, ns=10}}}}
assert(m:run{until_exit=tid})
*/
static int sim_spawn(lua_State *L)
{
	static const char *const fields[] = { "program", "name", "cpu", "affinity", "uid", "gid",
					      "process", "kernel", NULL };
	struct pfm_sim_spawn spawn = { 0 };
	int tid;

	lpfm_check_fields(L, 2, "spawn", fields);
	spawn.affinity = affinity_of(L, 2, "spawn");
	spawn.uid = (uint32_t)int_field(L, 2, "spawn", "uid", UINT32_MAX, 1000);
	spawn.gid = (uint32_t)int_field(L, 2, "spawn", "gid", UINT32_MAX, 1000);
	spawn.process = (uint32_t)int_field(L, 2, "spawn", "process", UINT32_MAX, 0);
	spawn.kernel = lpfm_bool_field(L, 2, "kernel");
	lua_settop(L, 2);
	if (lpfm_raw_field(L, 2, "name"))
		spawn.name = lpfm_check_string(L, -1);
	lua_pushliteral(L, "program");
	lua_rawget(L, 2);
	spawn.program = *lpfm_sim_program(L, lua_gettop(L), "spawn");
	tid = pfm_sim_spawn(this_sim(L), &spawn);
	if (tid < 0)
		return lpfm_fail(L, "spawn");
	lua_pushinteger(L, tid);
	return 1;
}

/***
Ends a thread, as if it had come to its end.
@function machine:kill
@int tid
@return[1] true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH
@usage
local m = require("lpfm").machine("sim:k8")
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } }
assert(m:kill(tid))
local threads = m:threads()
assert(threads[#threads].state == "dead")
*/
static int sim_kill(lua_State *L)
{
	return lpfm_result(L, "kill", pfm_sim_kill(this_sim(L), tid_at(L, 2, "kill")));
}

static void push_thread(lua_State *L, const struct pfm_sim_thread *t)
{
	static const char *const states[] = { "ready", "running", "sleeping", "blocked", "dead", "waiting" };
	const uint64_t cpus[PFM_PMD_BV] = { t->affinity };

	lua_createtable(L, 0, 12);
	lpfm_set_number(L, "tid", t->tid);
	lpfm_set_number(L, "pid", t->pid);
	lpfm_set_number(L, "ppid", t->ppid);
	lpfm_set_number(L, "uid", t->uid);
	lpfm_set_number(L, "gid", t->gid);
	lpfm_set_number(L, "cpu", t->cpu);
	lpfm_set_text(L, "state", states[t->state]);
	lpfm_set_bool(L, "kernel", t->kernel);
	lpfm_set_nat(L, "ran", t->ran_ns);
	lpfm_set_u64(L, "ip", t->ip);
	lpfm_set_text(L, "name", t->name);
	lpfm_push_bits(L, cpus);
	lua_setfield(L, -2, "affinity");
}

/***
Returns all threads, also dead ones, in the order of their thread ids.
@function machine:threads
@treturn {table,...} {tid=, pid=, ppid=, uid=, gid=,
state="ready"|"running"|"sleeping"|"blocked"|"waiting"|"dead", cpu=, kernel=, ran=ns, ip=, name=,
affinity={cpus}}
@usage
local m = require("lpfm").machine("sim:k8")
local tid = m:spawn { name = "worker", program = { { ip = 0x1000, ns = 10 } } }
local threads = m:threads()
assert(threads[#threads].tid == tid and threads[#threads].name == "worker")
*/
static int sim_threads(lua_State *L)
{
	struct pfm_sim *sim = this_sim(L);
	int n = pfm_sim_threads(sim, NULL, 0);
	struct pfm_sim_thread *threads = lua_newuserdata(L, (size_t)n * sizeof(*threads));

	pfm_sim_threads(sim, threads, n);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		push_thread(L, &threads[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/***
Makes all later calls on behalf of a thread of the simulated computer; without tid, on behalf of the
measuring tool, an administrator that occupies no CPU.
@function machine:act
@int[opt] tid
@return[1] true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH
@usage
local lpfm = require "lpfm"
local m = lpfm.machine("sim:k8")
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } }
assert(m:act(tid))
local ctx = assert(lpfm.create {})         -- made by that thread
ctx:close()
assert(m:act())
*/
static int sim_act(lua_State *L)
{
	uint32_t tid = lua_isnoneornil(L, 2) ? 0 : tid_at(L, 2, "act");

	return lpfm_result(L, "act", pfm_sim_act(this_sim(L), tid));
}

/***
Gives the process of a thread a context's descriptor, or takes it away.
@function machine:share
@int tid
@tparam context ctx
@bool access
@return[1] true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH, EINVAL
@usage
local lpfm = require "lpfm"
local m = lpfm.machine("sim:k8")
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } }
local ctx = assert(lpfm.create {})
assert(m:share(tid, ctx, true))
ctx:close()
*/
static int sim_share(lua_State *L)
{
	uint32_t tid = tid_at(L, 2, "share");
	int fd = lpfm_context_fd(L, 3);

	return lpfm_result(L, "share", pfm_sim_share(this_sim(L), tid, fd, lua_toboolean(L, 4)));
}

/***
Adds a device that interrupts a CPU: once at the time start, or from then on every period.
@function machine:interrupt
@tparam table spec
@int[opt=0] spec.cpu which CPU
@int[opt] spec.start ns, the first interrupt
@int[opt] spec.period ns between them
@tparam table spec.program list of sites of level "interrupt"
@return[1] true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, ENOMEM
@usage
local m = require("lpfm").machine("sim:k8")
assert(m:interrupt { cpu = 0, start = 1000, period = 100000,
   program = { { ip = 0x9000, ns = 500, level = "interrupt" } } })
assert(m:run { ms = 1 })
print(m:truth({ cpu = 0 }).instructions.interrupt)
*/
static int sim_interrupt(lua_State *L)
{
	static const char *const fields[] = { "cpu", "start", "period", "program", NULL };
	const struct pfm_sim_program *prog;
	struct pfm_sim *sim = this_sim(L);
	uint64_t start, period;
	uint32_t cpu;

	lpfm_check_fields(L, 2, "interrupt", fields);
	cpu = (uint32_t)int_field(L, 2, "interrupt", "cpu", 63, 0);
	start = (uint64_t)int_field(L, 2, "interrupt", "start", INT64_C(1) << 53,
				    (int64_t)pfm_sim_time(sim));
	period = (uint64_t)int_field(L, 2, "interrupt", "period", INT64_C(1) << 53, 0);
	lua_pushliteral(L, "program");
	lua_rawget(L, 2);
	prog = lpfm_sim_program(L, lua_gettop(L), "interrupt");
	return lpfm_result(L, "interrupt", pfm_sim_interrupt(sim, cpu, start, period, prog));
}

/* --- time ----------------------------------------------------------------------------------- */

static uint64_t duration(lua_State *L, int idx)
{
	static const struct { const char *name; int64_t ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	uint64_t sum = 0;
	bool given = false;

	for (size_t i = 0; i < LPFM_COUNT(units); i++) {
		int64_t n = int_field(L, idx, "run", units[i].name, (INT64_C(1) << 53) / units[i].ns, -1);

		if (n < 0)
			continue;
		sum += (uint64_t)(n * units[i].ns);
		given = true;
	}
	return given ? sum : UINT64_MAX;
}

/***
Lets time pass: for the given time, or until something happens, but not longer than the given time
(by default 10 s).
@function machine:run
@tparam table spec
@number[opt] spec.s seconds
@number[opt] spec.ms milliseconds
@number[opt] spec.us microseconds
@number[opt] spec.ns nanoseconds
@param[opt] spec.until_message a context: until it has a message; true: until any context has a new
one
@int[opt] spec.until_exit a thread: until it has ended
@bool[opt] spec.until_idle until no thread can run
@return[1] true
@return[2] nil
@treturn[2] string "timeout": it did not happen
@return[3] nil
@treturn[3] string message
@treturn[3] int errno
@usage
local m = require("lpfm").machine("sim:k8")
local tid = m:spawn { program = { { loop = 1000, { ip = 0x1000, ns = 10 } } } }
assert(m:run { until_exit = tid })
print(m:time())
*/
static int sim_run(lua_State *L)
{
	static const char *const fields[] = { "s", "ms", "us", "ns", "until_message", "until_exit",
					      "until_idle", NULL };
	struct lpfm_site site = { .call = "run" };
	struct pfm_sim *sim = this_sim(L);
	uint64_t ns, limit;
	int ret;

	lpfm_check_fields(L, 2, "run", fields);
	ns = duration(L, 2);
	limit = ns == UINT64_MAX ? DEFAULT_LIMIT : ns;
	lua_settop(L, 2);
	if (lpfm_raw_field(L, 2, "until_message")) {
		bool any = lua_isboolean(L, 3) && lua_toboolean(L, 3);

		ret = pfm_sim_run_until_message(sim, any ? PFM_SIM_ANY_CONTEXT : lpfm_context_fd(L, 3), limit);
	} else if (lpfm_raw_field(L, 2, "until_exit")) {
		site.field = "until_exit";
		ret = pfm_sim_run_until_exit(sim, (uint32_t)lpfm_to_int(L, 3, &site, 0, UINT32_MAX),
					     limit);
	} else if (lpfm_bool_field(L, 2, "until_idle")) {
		ret = pfm_sim_run_until_idle(sim, limit);
	} else {
		if (ns == UINT64_MAX)
			return lpfm_bad(L, &site, "for how long? (ms=, us=, ns=, until_message=, "
					"until_exit=, until_idle=)");
		ret = pfm_sim_run_ns(sim, ns);
	}
	return ret ? lpfm_result(L, "run", ret) : lpfm_timeout(L);
}

/***
Returns the simulated time.
@function machine:time
@treturn int ns since the computer was made
@usage
local m = require("lpfm").machine("sim:k8")
local before = m:time()
assert(m:run { us = 5 })
assert(m:time() - before == 5000)
*/
static int sim_time(lua_State *L)
{
	lpfm_push_nat(L, pfm_sim_time(this_sim(L)));
	return 1;
}

/***
Changes an option of a running computer: skid, memlock, debugger (1 while a debugger uses the debug
registers), tool_cpu (the CPU that the measuring tool runs on).
@function machine:set
@string option
@int value
@return[1] true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL
@usage
local m = require("lpfm").machine("sim:k8")
assert(m:set("skid", 2))                   -- samples show an instruction two further on
*/
static int sim_set(lua_State *L)
{
	struct lpfm_site site = { .call = "set" };
	const char *option = lpfm_check_string(L, 2);

	return lpfm_result(L, "set", pfm_sim_set(this_sim(L), option, lpfm_to_u64(L, 3, &site)));
}

/* --- events and the truth ------------------------------------------------------------------- */

/***
Returns the names that `events` of a site may have. Codes of the model, like "0x5b", can be used,
too.
@function machine:events
@treturn {string,...}
@usage
print(table.concat(require("lpfm").machine("sim:k8"):events(), " "))
*/
static int sim_events(lua_State *L)
{
	struct pfm_sim *sim = this_sim(L);
	const char *name;

	lua_newtable(L);
	for (int i = 0; (name = pfm_sim_event_name(sim, i)); i++) {
		lua_pushstring(L, name);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static unsigned int levels_at(lua_State *L, int idx)
{
	const char *text = lpfm_opt_string(L, idx, "uk");
	unsigned int levels = 0;

	for (const char *c = text; *c; c++) {
		if (*c == 'u')
			levels |= 1 << PFM_SIM_USER;
		else if (*c == 'k')
			levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
		else
			luaL_argerror(L, idx, "'u', 'k' or 'uk' expected");
	}
	return levels;
}

/***
Returns the value of the PMC that makes a hardware counter count an event.
@function machine:encode
@string event
@int pmd the counter
@string[opt="uk"] levels "u" for user, "k" for kernel and interrupts
@treturn[1] int value, for write_pmcs
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL
@usage
local m = require("lpfm").machine("sim:k8")
local code = assert(m:encode("instructions", 0, "u"))
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmcs { { num = 0, value = code } })
ctx:close()
*/
static int sim_encode(lua_State *L)
{
	const char *event = lpfm_check_string(L, 2);
	int pmd = (int)lpfm_arg_int(L, 3, "encode", "pmd", 0, PFM_MAX_PMDS - 1);
	uint64_t value;

	if (pfm_sim_encode(this_sim(L), event, levels_at(L, 4), pmd, &value))
		return lpfm_fail(L, "encode");
	lpfm_push_u64(L, value);
	return 1;
}

#define MAX_PMCS 4	/* most PMCs of one counter */

/***
Returns all PMCs that make a hardware counter count an event: on most models the one of
`machine:encode`; counters of netburst and power5 need several. Where a register has fields of
several counters, those of this counter are set.
@function machine:encode_pmcs
@string event
@int pmd the counter
@string[opt="uk"] levels "u" for user, "k" for kernel and interrupts
@treturn[1] {{num=,value=},...} for write_pmcs, the PMC that controls the counter first
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL
@usage
local m = require("lpfm").machine("sim:k8")
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmcs(assert(m:encode_pmcs("instructions", 0, "u"))))
ctx:close()
*/
static int sim_encode_pmcs(lua_State *L)
{
	const char *event = lpfm_check_string(L, 2);
	int pmd = (int)lpfm_arg_int(L, 3, "encode_pmcs", "pmd", 0, PFM_MAX_PMDS - 1), n;
	struct pfm_sim_pmc pmcs[MAX_PMCS];

	n = pfm_sim_encode_pmcs(this_sim(L), event, levels_at(L, 4), pmd, pmcs, MAX_PMCS);
	if (n < 0)
		return lpfm_fail(L, "encode_pmcs");
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		lua_createtable(L, 0, 2);
		lpfm_set_number(L, "num", pmcs[i].num);
		lpfm_set_u64(L, "value", pmcs[i].value);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static void push_counts(lua_State *L, const struct pfm_sim_count *counts, int n)
{
	lua_createtable(L, 0, n);
	for (int i = 0; i < n; i++) {
		const uint64_t *c = counts[i].count;

		lua_createtable(L, 0, 4);
		lpfm_set_nat(L, "user", c[PFM_SIM_USER]);
		lpfm_set_nat(L, "kernel", c[PFM_SIM_KERNEL]);
		lpfm_set_nat(L, "interrupt", c[PFM_SIM_INTR]);
		lpfm_set_nat(L, "total", c[PFM_SIM_USER] + c[PFM_SIM_KERNEL] + c[PFM_SIM_INTR]);
		lua_setfield(L, -2, counts[i].event);
	}
}

/***
Returns what really happened, exactly: in a thread, on a CPU, or in the idle thread of a CPU.
@function machine:truth
@tparam int|table who thread id, {cpu=n} or {idle=n}
@treturn[1] table by event, those that happened: {user=, kernel=, interrupt=, total=}; "time" is in
ns
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH, EINVAL
@usage
local m = require("lpfm").machine("sim:k8")
local tid = m:spawn { program = { { loop = 1000, { ip = 0x1000, ns = 10 } }, { sleep = 1000000 } } }
assert(m:run { us = 20 })
assert(m:truth(tid).instructions.user == 1000)
*/
static int sim_truth(lua_State *L)
{
	static const char *const fields[] = { "cpu", "idle", NULL };
	struct pfm_sim_count counts[64];
	struct pfm_sim *sim = this_sim(L);
	int n;

	if (lua_istable(L, 2)) {
		int64_t cpu, idle;

		lpfm_check_fields(L, 2, "truth", fields);
		cpu = int_field(L, 2, "truth", "cpu", 63, -1);
		idle = int_field(L, 2, "truth", "idle", 63, 0);
		n = cpu >= 0 ? pfm_sim_truth_cpu(sim, (uint32_t)cpu, counts, LPFM_COUNT(counts))
			     : pfm_sim_truth_idle(sim, (uint32_t)idle, counts, LPFM_COUNT(counts));
	} else {
		n = pfm_sim_truth(sim, tid_at(L, 2, "truth"), counts, LPFM_COUNT(counts));
	}
	if (n < 0)
		return lpfm_fail(L, "truth");
	push_counts(L, counts, n);
	return 1;
}

/* --- caches --------------------------------------------------------------------------------- */

static void push_cache(lua_State *L, const struct pfm_sim_cache *c)
{
	static const char *const policies[] = { "LRU", "pseudo-LRU", "FIFO", "random" };

	lua_createtable(L, 0, 13);
	lpfm_set_text(L, "name", c->name);
	lpfm_set_text(L, "policy", policies[c->policy]);
	lpfm_set_nat(L, "size", c->size);
	lpfm_set_nat(L, "assoc", c->assoc);
	lpfm_set_nat(L, "line", c->line);
	lpfm_set_nat(L, "latency", c->latency);
	lpfm_set_nat(L, "fetches", c->fetches);
	lpfm_set_nat(L, "fetch_misses", c->fetch_misses);
	lpfm_set_nat(L, "loads", c->loads);
	lpfm_set_nat(L, "load_misses", c->load_misses);
	lpfm_set_nat(L, "stores", c->stores);
	lpfm_set_nat(L, "store_misses", c->store_misses);
	lpfm_set_nat(L, "invalidated", c->invalidated);
}

/***
Returns the caches and TLBs of a CPU, and what happened in them so far. Their geometry is that of
the model's processor, or that of the options l1i, l1d, l2, l3, itlb and dtlb, which are
"SIZE:ASSOCIATIVITY:LINE", or "0" for none; cachegrind=1 makes them those of valgrind's cachegrind.
Behind LINE, ":plru", ":fifo" or ":random" is another policy than LRU. The rules are always
cachegrind's: an access counts once, however many lines it touches, and a miss accesses the next
level. With ht=1 two CPUs share the same caches and TLBs.
@function machine:caches
@int[opt=0] cpu
@treturn[1] {table,...} by number and by name, those there are of L1I, L1D, L2, L3, ITLB and DTLB:
{name=, size=bytes, assoc=lines in a set, line=bytes, policy=,
latency=cycles of a hit (for a TLB: of a miss), fetches=, fetch_misses=, loads=, load_misses=,
stores=, store_misses=, invalidated=lines that other CPUs took}; it prints as a table, without
columns in which all values are 0
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, ENOMEM
@usage
local m = require("lpfm").machine("sim:k8", { l1d = "32768:8:64" })
local tid = m:spawn { program = { { loop = 1000, { ip = 0x1000, load = { 0x100000, 8 } } } } }
assert(m:run { until_exit = tid })
assert(m:caches().L1D.load_misses == 125)      -- 8000 bytes in lines of 64
*/
static int sim_caches(lua_State *L)
{
	struct pfm_sim_cache caches[8];
	int cpu = lua_isnoneornil(L, 2) ? 0 : (int)lpfm_arg_int(L, 2, "caches", "cpu", 0, 63);
	int n = pfm_sim_caches(this_sim(L), (uint32_t)cpu, caches, LPFM_COUNT(caches));

	if (n < 0)
		return lpfm_fail(L, "caches");
	lua_createtable(L, n, n);
	for (int i = 0; i < n; i++) {
		push_cache(L, &caches[i]);
		lua_pushvalue(L, -1);
		lua_rawseti(L, -3, i + 1);
		lua_setfield(L, -2, caches[i].name);
	}
	lpfm_rows_print(L, "name size assoc line policy latency fetches fetch_misses=misses loads load_misses=misses "
			   "stores store_misses=misses invalidated");
	return 1;
}

/***
Returns the number of misses of a cache for each of its sets.
@function machine:cache_sets
@string name of `machine:caches`: "L1D", ...
@int[opt=0] cpu
@treturn[1] {int,...} the first is set 0
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if there is no such cache
@usage
local m = require("lpfm").machine("sim:k8", { l1d = "32768:8:64" })
local tid = m:spawn { program = { { loop = 100, { ip = 0x1000, load = { 0x100000, 4096 } } } } }
assert(m:run { until_exit = tid })
assert(m:cache_sets("L1D")[1] == 100)          -- 64 sets of 64 bytes: all to the first
*/
static int sim_cache_sets(lua_State *L)
{
	struct pfm_sim *sim = this_sim(L);
	const char *name = lpfm_check_string(L, 2);
	uint32_t cpu = lua_isnoneornil(L, 3) ? 0 : (uint32_t)lpfm_arg_int(L, 3, "cache_sets", "cpu", 0, 63);
	int n = pfm_sim_cache_sets(sim, cpu, name, NULL, 0);
	uint64_t *misses;

	if (n < 0)
		return lpfm_fail(L, "cache_sets");
	misses = lua_newuserdata(L, n * sizeof(*misses));
	pfm_sim_cache_sets(sim, cpu, name, misses, n);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		lpfm_push_nat(L, misses[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static uint64_t sum(const uint64_t *misses)
{
	uint64_t total = 0;

	for (int i = 0; i < PFM_SIM_CAUSES; i++)
		total += misses[i];
	return total;
}

static void set_causes(lua_State *L, const char *name, const uint64_t *misses)
{
	static const char *const causes[PFM_SIM_CAUSES] = { "compulsory", "capacity", "conflict", "coherence" };

	lua_createtable(L, 0, PFM_SIM_CAUSES + 1);
	for (int i = 0; i < PFM_SIM_CAUSES; i++)
		lpfm_set_nat(L, causes[i], misses[i]);
	lpfm_set_nat(L, "total", sum(misses));
	lua_setfield(L, -2, name);
}

/***
Explains why the loads and stores of a site missed the L1D, on a computer made with the option
explain=1. Compulsory: the line was never in the cache; coherence: another CPU took it; capacity: a
fully associative cache of the same size would not have had it either; conflict: such a cache would
have had it.
@function machine:explain
@int site its address
@treturn[1] table {loads=, stores=, waited=cycles, load_misses={compulsory=, capacity=, conflict=,
coherence=, total=}, store_misses={...}, saw=the site that stored what its last load read, nil if
that was there before any store}
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL without explain=1, ENOENT if nothing there has accessed data
@usage
local m = require("lpfm").machine("sim:k8", { explain = 1, l1d = "1024:1:64" })
local tid = m:spawn { program = { { loop = 10, { loop = 2, { ip = 0x1000, load = { 0x100000, 1024 } } } } } }
assert(m:run { until_exit = tid })
local why = assert(m:explain(0x1000))
assert(why.load_misses.compulsory == 2 and why.load_misses.conflict == 18)   -- both lines go to one set
*/
static int sim_explain(lua_State *L)
{
	struct lpfm_site site = { .call = "explain", .arg = "site" };
	uint64_t ip = lpfm_to_u64(L, 2, &site), store = 0;
	struct pfm_sim_why why;
	int saw = -1;

	if (pfm_sim_explain(this_sim(L), ip, &why) || (saw = pfm_sim_saw(this_sim(L), ip, &store)) < 0)
		return lpfm_fail(L, "explain");
	lua_createtable(L, 0, 6);
	if (saw)
		lpfm_set_nat(L, "saw", store);
	lpfm_set_nat(L, "loads", why.loads);
	lpfm_set_nat(L, "stores", why.stores);
	lpfm_set_nat(L, "waited", why.waited);
	set_causes(L, "load_misses", why.load_misses);
	set_causes(L, "store_misses", why.store_misses);
	return 1;
}

static void push_site(lua_State *L, const struct pfm_sim_site *site)
{
	lua_createtable(L, 0, 5);
	lpfm_set_nat(L, "ip", site->ip);
	lpfm_set_nat(L, "loads", site->why.loads);
	lpfm_set_nat(L, "stores", site->why.stores);
	lpfm_set_nat(L, "misses", sum(site->why.load_misses) + sum(site->why.store_misses));
	lpfm_set_nat(L, "waited", site->why.waited);
}

/***
Returns the sites that have accessed data, also those of a trace, on a computer made with the option
explain=1: those that `machine:explain` can explain. The sites that missed the L1D most often come
first; of sites that missed equally often, the one with the lowest address.
@function machine:sites
@treturn[1] {table,...} {ip=address, loads=, stores=, misses=of loads and stores, waited=cycles}; it
prints as a table of 200 rows at most
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL without explain=1, ENOMEM
@usage
local m = require("lpfm").machine("sim:k8", { explain = 1, l1d = "1024:1:64" })
local body = { loop = 10, { ip = 0x1000, load = { 0x100000, 1024 } }, { ip = 0x1004, store = { 0x200040, 0 } } }
assert(m:run { until_exit = m:spawn { program = { body } } })
local worst = assert(m:sites())[1]
assert(worst.ip == 0x1000 and worst.misses == 10)
assert(m:explain(worst.ip).load_misses.compulsory == 10)
*/
static int sim_sites(lua_State *L)
{
	struct pfm_sim *sim = this_sim(L);
	int n = pfm_sim_sites(sim, NULL, 0);
	struct pfm_sim_site *sites;

	if (n < 0)
		return lpfm_fail(L, "sites");
	sites = lua_newuserdata(L, n * sizeof(*sites) + 1);
	if (pfm_sim_sites(sim, sites, n) < 0)
		return lpfm_fail(L, "sites");
	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		push_site(L, &sites[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lpfm_rows_print(L, "ip loads stores misses waited");
	return 1;
}

static const luaL_Reg sim_methods[] = {
	{ "spawn", sim_spawn },
	{ "kill", sim_kill },
	{ "threads", sim_threads },
	{ "act", sim_act },
	{ "share", sim_share },
	{ "interrupt", sim_interrupt },
	{ "run", sim_run },
	{ "time", sim_time },
	{ "set", sim_set },
	{ "events", sim_events },
	{ "encode", sim_encode },
	{ "encode_pmcs", sim_encode_pmcs },
	{ "truth", sim_truth },
	{ "cache_sets", sim_cache_sets },
	{ "caches", sim_caches },
	{ "explain", sim_explain },
	{ "sites", sim_sites },
	{ NULL, NULL }
};

/* Pushes methods that refer to the simulated computer that is the current machine now. */
void lpfm_push_sim(lua_State *L)
{
	struct lpfm_sim *s;

	lua_newtable(L);
	lpfm_class_new(L, &sim_class, NULL, NULL);
	s = lpfm_object_new(L, sizeof(*s));
	lpfm_object_arm(L, s, &sim_class);
	s->sim = pfm_sim_get();
	if (!s->sim)
		luaL_error(L, "machine: %s", pfm_explain());
	luaL_openlib(L, NULL, sim_methods, 1);
}
