-- SPDX-License-Identifier: MIT
-- Waiting on this computer: a program that waits for a lock, for a pipe and for a clock, recorded
-- by lpfm record --off-cpu. The parameters set its durations, so the shares are known.

local compiler = require "labs.compiler"
local count = require "pfm.count"
local record = require "pfm.record"
local recording = require "pfm.recording"
local stacks = require "pfm.stacks"

local FLAGS = { "-O1", "-g", "-fno-omit-frame-pointer", "-pthread" }
local LISTED, SHOWN = 6, 4 -- functions in a list, at most; frames of a stack's end

-- Arguments: ROUNDS LOCKED LOOKUP NAP COMPUTE EARLY; times in us; EARLY: unlock at once.
local SOURCE = [[
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to_helper[2], to_main[2];
static long rounds, locked, lookup, nap_time, work, early;

static void put(int fd) { if (write(fd, "x", 1) != 1) abort(); }
static void take(int fd) { char c; if (read(fd, &c, 1) != 1) abort(); }

static void pause_for(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static long cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

CALLED static void hold_lock(void)
{
	pthread_mutex_lock(&lock);
	put(to_main[1]);
	if (early)
		pthread_mutex_unlock(&lock);
	pause_for(locked);
	if (!early)
		pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");	/* no tail call: its frame stays on the stack */
}

CALLED static void look_up(void) { pause_for(lookup); __asm__ volatile("" ::: "memory"); }
CALLED static void await_round(void) { take(to_helper[0]); __asm__ volatile("" ::: "memory"); }

CALLED static void *helper(void *unused)
{
	pthread_setname_np(pthread_self(), "helper");
	for (long i = 0; i < rounds; i++) {
		await_round();
		hold_lock();
		look_up();
		put(to_main[1]);
	}
	return unused;
}

CALLED static void ask(void) { put(to_helper[1]); take(to_main[0]); __asm__ volatile("" ::: "memory"); }

CALLED static void want_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");
}

CALLED static void read_reply(void) { take(to_main[0]); __asm__ volatile("" ::: "memory"); }
CALLED static void nap(void) { pause_for(nap_time); __asm__ volatile("" ::: "memory"); }

CALLED static void compute(void)
{
	for (long end = cpu_time() + work; cpu_time() < end;)
		for (volatile int i = 0; i < 20000; i++)
			;
}

int main(int argc, char **argv)
{
	long *const values[] = { &rounds, &locked, &lookup, &nap_time, &work, &early };
	pthread_t thread;

	for (int i = 0; i < 6; i++)
		*values[i] = i + 1 < argc ? atol(argv[i + 1]) : 0;
	if (pipe(to_helper) || pipe(to_main) || pthread_create(&thread, NULL, helper, NULL))
		return 1;
	for (long i = 0; i < rounds; i++) {
		ask();
		want_lock();
		read_reply();
		nap();
		compute();
	}
	return pthread_join(thread, NULL);
}
]]

-- --- measuring -----------------------------------------------------------------------------------

local function build(path)
   local ok, message = compiler.build(path, SOURCE, FLAGS)
   if not ok then error("the program of this lab cannot be built: " .. message, 0) end
end

local function command(p, path, early)
   local out = { path }
   for _, value in ipairs { p.rounds, p.locked * 1000, p.lookup * 1000, p.nap * 1000, p.work * 1000, early and 1 or 0 }
   do out[#out + 1] = ("%d"):format(value) end
   return out
end

local function clean(files, ok, ...)
   for _, file in ipairs(files) do os.remove(file) end
   if not ok then error((...), 0) end
   return ...
end

-- Calls fn with a recording of the program's threads, on the CPU and off it; returns fn's result
-- and the program's elapsed seconds.
local function recorded(kit, p, fn)
   kit.here.machine(p)
   local path, file = os.tmpname(), os.tmpname()
   return clean({ path, file }, pcall(function()
      build(path)
      local spec = { command = command(p, path), off_cpu = true, inherit = true, frequency = p.frequency }
      local outcome = record.run(spec, file)
      return fn(assert(recording.open(file))), outcome.elapsed
   end))
end

local OWN = { "want_lock", "read_reply", "nap", "compute", "ask", "hold_lock", "look_up", "await_round" }
for i = 1, #OWN do OWN[OWN[i]] = true end

-- Returns the time of an event by thread and by function: { [thread] = { [function] = ns } }.
local function by_function(self, event)
   local out = {}
   for _, stack in ipairs((stacks.collect(self, { event = event, weight = "events" }))) do
      local thread, name = "?", "others"
      for _, frame in ipairs(stack.frames) do
         if frame.kind == "thread" then thread = frame.name == "helper" and "helper" or "main" end
         if frame.kind == "symbol" and OWN[frame.name] then name = frame.name end
      end
      out[thread] = out[thread] or {}
      out[thread][name] = (out[thread][name] or 0) + stack.weight
   end
   return out
end

-- Returns the names of the last frames that a function called: the kernel's part of the stack with
-- the most off-CPU time that contains the function.
local function behind(self, name)
   local widest, weight = {}, 0
   for _, stack in ipairs((stacks.collect(self, { event = "off-cpu", weight = "events" }))) do
      local out, below = {}, false
      for _, frame in ipairs(stack.frames) do
         if below then out[#out + 1] = frame.name end
         below = below or frame.name == name
      end
      if below and stack.weight > weight then widest, weight = out, stack.weight end
   end
   return table.concat(widest, " ", math.max(1, #widest - SHOWN + 1))
end

local function sorted(times)
   local rows, sum = {}, 0
   for name, ns in pairs(times or {}) do
      rows[#rows + 1] = { name = name, ns = ns }
      sum = sum + ns
   end
   table.sort(rows, function(a, b) return a.ns > b.ns or (a.ns == b.ns and a.name < b.name) end)
   for _, row in ipairs(rows) do row.percent = 100 * row.ns / sum end
   return rows, sum
end

local function as_text(rows)
   local out = {}
   for i = 1, math.min(#rows, LISTED) do out[i] = ("%s %.1f%%"):format(rows[i].name, rows[i].percent) end
   return table.concat(out, ", ")
end

local function percent_of(rows, name)
   for _, row in ipairs(rows) do
      if row.name == name then return row.percent end
   end
   return 0
end

-- Returns the function that was off the CPU for a time nearest to `ns`.
local function nearest(rows, ns)
   local best = rows[1]
   for _, row in ipairs(rows) do
      if math.abs(row.ns - ns) < math.abs(best.ns - ns) then best = row end
   end
   return best.name
end

local function first(kit, p)
   local out, elapsed = recorded(kit, p, function(self)
      local on, off = by_function(self, "cpu-clock"), by_function(self, "off-cpu")
      return { on = on, off = off, lock_frames = behind(self, "want_lock"), pipe_frames = behind(self, "read_reply"),
         nap_frames = behind(self, "nap") }
   end)
   local on, ran = sorted(out.on.main)
   local off, waited = sorted(out.off.main)
   local helper = sorted(out.off.helper)
   return { elapsed = elapsed * 1000, ran = ran / 1e6, waited = waited / 1e6,
      on_cpu = as_text(on), off_cpu = as_text(off), helper_off = as_text(helper), hottest = on[1].name,
      longest = off[1].name, second = off[2].name, lock_percent = percent_of(off, "want_lock"),
      helper_longest = helper[1].name, lock_frames = out.lock_frames, pipe_frames = out.pipe_frames,
      nap_frames = out.nap_frames, holder = nearest(helper, out.off.main.want_lock or 0) }
end

local function time_of(kit, p, early)
   kit.here.machine(p)
   local path = os.tmpname()
   return clean({ path }, pcall(function()
      build(path)
      return count.run({ command = command(p, path, early), events = "task-clock", inherit = true }).elapsed
   end))
end

local function gain(kit, p)
   local before, after = time_of(kit, p), time_of(kit, p, true)
   return { before = before * 1000, after = after * 1000, gain = 100 * (before - after) / before }
end

local function setup(kit, p)
   return {
      build = function(path)
         build(path)
         return table.concat(command(p, path), " ")
      end,
      waits = function(thread)
         return as_text(sorted((recorded(kit, p, function(self) return by_function(self, "off-cpu") end))[thread]))
      end,
   }
end

return {
   machines = { perf = true },
   needs = { "cc" },
   goals = { "record where threads wait, and read an off-CPU flame graph",
      "tell a lock, a pipe and a sleep by the kernel's frames", "find for whom a thread waits" },
   read = { "lpfm help record: --off-cpu", "lpfm help exporting: flame graphs" },
   teacher = [[
      The program's durations are parameters, so students can compute the shares before they see them; the kernel adds
      the time from a wakeup until the thread has a CPU. On a computer that is busy with other things that is much, and
      the figures differ from run to run: let students run it again before they explain a difference.

      It needs a C compiler, and perf_event_paranoid of 1 or less, or root.

      The important page is the one of the lock: an off-CPU stack says where a thread waits, never for whom. The answer
      is in the other thread's stacks. Ask how one would find it in a program of fifty threads: by what holders do at
      the same time, by tracepoints of wakeups, by lock tracing. In the flame graph let them find the three kinds of
      waiting by the kernel's frames.
   ]],
   params = { rounds = 25, locked = 12, lookup = 2, nap = 1, work = 3, frequency = 1000 },
   most = { rounds = 500, locked = 100, lookup = 100, nap = 100, work = 100, frequency = 10000 },
   pages = {
      { text = [[
         The machine is `{machine}` now: a real program with two threads. In each of {rounds} rounds, the main thread

            ask         asks the helper
            want_lock   takes a lock, which the helper has for {locked} ms
            read_reply  reads a pipe, into which the helper writes {lookup} ms later
            nap         sleeps {nap} ms
            compute     computes for {work} ms

         It is run under `lpfm record --off-cpu`: samples of its CPU time, and one at each switch.
      ]],
        ask = "How many ms does the main thread run, in all {rounds} rounds?", id = "ran", unit = "ms", within = 0.15,
        run = first,
        show = { { "elapsed, ms", "elapsed" }, { "ran, ms", "ran" }, { "waited, ms", "waited" } },
        answer = "ran",
        right = "{work} ms of each round run, and all else is a wait. A CPU profile is of these ms alone.",
        wrong = { { is = "work", say = "That is one round. All of them run for {ran} ms." },
           { more = true, say = "It runs for {work} ms of each round, and waits for the rest: {ran} ms." } },
        otherwise = "{work} ms of each round run: {ran} ms.",
        hints = { "Which of the five functions run?", "How many rounds are there?" } },
      { text = "A profile of the CPU time alone says: {on_cpu}.",
        ask = "In which function does the main thread spend most of the elapsed time?", id = "longest", kind = "words",
        run = function() return {} end, show = { { "off the CPU", "off_cpu" } },
        answer = "longest",
        right = "It is not in the profile of CPU time at all, or nearly: waiting for a lock takes no CPU.",
        wrong = { { is = "hottest", say = [[That is what the CPU profile shows. In ms: {work} in each round, beside
           {locked} in {longest}.]] },
           { is = "second", say = "That is the second: {off_cpu}." } },
        otherwise = "It is {longest}: {off_cpu}.",
        hints = { "Compare the durations in the list above." } },
      { ask = "How many percent of the main thread's time off the CPU are in want_lock?", id = "lock", unit = "%",
        within = 0.2,
        run = function() return {} end, show = { { "off the CPU", "off_cpu" } },
        answer = "lock_percent",
        right = [[{locked} of {locked}, {lookup} and {nap} ms, and what each wakeup takes until the thread is on a CPU
           again.]],
        wrong = { { less = true, say = "Leave out what runs: of the waits alone it has {lock_percent} %." } },
        otherwise = "Of {locked}, {lookup} and {nap} ms: {lock_percent} %.",
        hints = { "Which of the five functions wait, and how long each?" } },
      { text = [[
         The main thread waits for the lock in want_lock. Its stack says where it waits, not for whom. The other
         thread's stacks off the CPU are of: {helper_off}.
      ]],
        ask = "In which function is the helper while the main thread waits for the lock?", id = "holder",
        kind = "words",
        run = function() return {} end,
        answer = "holder",
        right = "It sleeps with the lock in its hands: {locked} ms, as long as the other one waits.",
        wrong = { { is = function() return "look_up" end, say = [[There it has given the lock back; the main thread is
           in read_reply then.]] },
           { is = function() return "await_round" end, say = [[There it has nothing to do: the main thread computes and
              naps meanwhile.]] } },
        otherwise = "It is hold_lock: the only one of its functions that has the lock.",
        hints = { "Which of its functions takes as long as want_lock?" } },
      { text = "Now hold_lock gives the lock back before it sleeps, and not after.",
        ask = "By how many percent does the elapsed time shrink?", id = "gain", kind = "choice",
        run = gain,
        show = { { "elapsed before, ms", "before" }, { "after, ms", "after" }, { "gain, percent", "gain" } },
        answer = 1,
        choices = {
           { "By next to nothing: the main thread waits elsewhere then.", say = [[The wait moves from the lock to the
              pipe: the reply comes no earlier, for the helper still sleeps {locked} ms before it looks up. Before a
              wait is mended, ask what the thread will wait for next.]] },
           { "By the share of want_lock in the elapsed time.", say = [[So it seems from the graph. But what comes next,
              the reply, is not there yet: the helper still sleeps before it looks up. {gain} %.]] },
           { "By half of that.", say = "Nothing halves it: the helper's work takes as long. {gain} %." },
        },
        hints = { "When does the reply come, counted from the round's beginning?" } },
      { text = [[
         In a flame graph, the kernel's functions lie on those of the program. Here are the last ones of three stacks,
         each with the innermost function at its end:

            1   {nap_frames}
            2   {pipe_frames}
            3   {lock_frames}
      ]],
        ask = "Which of them is want_lock?", id = "frames", kind = "choice",
        run = function() return {} end,
        answer = 3,
        choices = {
           { "The first", say = [[A function with nanosleep in its name waits for a clock. That is nap; a lock waits
              in a futex.]] },
           { "The second", say = "The read of a pipe is read_reply; a lock waits in a futex." },
           { "The third", say = [[A pthread mutex that another thread has is waited for in the system call futex. So a
              graph tells kinds of waiting apart even in a program that one does not know.]] },
        },
        hints = { "What is the system call of a pthread mutex?" } },
      { vary = [[
         `waits("main")` and `waits("helper")` record the program and tell where a thread waits. `build("./waiting")`
         makes the program here, and tells its command line. In a shell, with that:

            lpfm record --off-cpu -- ./waiting ...
            lpfm report -g caller -e off-cpu
            lpfm export -e off-cpu -o waits.svg

         Open waits.svg in a browser: which frames are wide, and which of them matter? Change `params.locked`.
      ]],
        setup = setup },
      { task = "helper", kind = "words",
        todo = [[In which function does the helper wait longest? `waits("helper")` at the prompt, or the flame graph.]],
        setup = function(kit, p) return { waits = setup(kit, p).waits } end,
        run = function() return {} end,
        answer = "helper_longest",
        right = "{helper_off}. Only a part of it is waited for by another thread.",
        wrong = { { is = "longest", say = "That is where the main thread waits." } },
        otherwise = "Record it: {helper_off}.",
        hints = { [[`waits("helper")` lists them.]] } },
   },
}
