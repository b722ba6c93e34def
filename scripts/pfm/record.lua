-- SPDX-License-Identifier: MIT
--- Samples of a command, threads or CPUs in a file.
-- @module pfm.record

local proc = require "lpfm.proc"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local files = require "pfm.recording.files"
local host = require "pfm.measure.host"
local launcher = require "pfm.launcher"
local measure = require "pfm.measure"
local objects = require "lpfm.symbols"
local profile = require "pfm.profile"
local recording = require "pfm.recording"
local render = require "pfm.render"
local posix_time = require "posix.time"
local text_file = require "pfm.util.text_file"

local record = {}

-- --- the file's head -----------------------------------------------------------------------------

local function machine_of()
   local info = host.machine()
   return {
      name = info.name, pmu = info.pmu, hw_counters = info.hw_counters,
      host = text_file.line("/proc/sys/kernel/hostname"), kernel = text_file.line("/proc/sys/kernel/osrelease"),
      boot = text_file.line("/proc/sys/kernel/random/boot_id"), arch = text_file.line("/proc/sys/kernel/arch"),
      cpus = #proc.cpus(),
   }
end

-- The wall clock and that of the samples at one moment, to bring recordings of several machines together.
local function clock_reading()
   local clock = host.now().clock
   local before = clock()
   local wall = posix_time.clock_gettime(posix_time.CLOCK_REALTIME)
   local after = clock()
   return { seconds = wall.tv_sec, ns = wall.tv_nsec, samples = math.floor((before + after) / 2 * 1e9),
      within = math.ceil((after - before) * 1e9) }
end

local function head_of(self, spec)
   local sampled, with = profile.recorded_events(self), {}
   for i, pmd in ipairs(self.extra) do
      for _, e in ipairs(self.with) do
         if e.pmd == pmd then with[i] = { name = e.name, pmd = pmd, unit = e.unit } end
      end
   end
   local random = self.random[1]
   return {
      what = measure.describe(spec) .. render.where(host.simulated()), command = spec.command, tids = spec.tids,
      cpus = spec.cpus, threads = spec.threads or false, events = sampled, with = #with > 0 and with or nil,
      where = spec.where, fixed = self.fixed,
      random = random and { mask = random.mask, seed = random.seed, text = random.text },
      time = os.time(), clock = clock_reading(), machine = machine_of(), format = "default", program = self.program,
      stacks = self.stacks and self.stacks.how, copied = self.stacks and self.stacks:bytes(), job = launcher.here(),
   }
end

-- --- what the samples lie in ---------------------------------------------------------------------

-- By path: the build id that the kernel's record has, or true.
local function note_objects(paths)
   local out = {}
   for path, told in pairs(paths) do
      if path:find("^/") and not path:find(" %(deleted%)$") then
         local id = told ~= true and told or objects.build_id(path)
         out[#out + 1] = { path = path, build_id = id and not id:find("^inode") and id or nil }
      end
   end
   return out
end

local function sink_of(file, paths, collector, held)
   return {
      begin = function() file:begin() end,
      block = function(block, count)
         file:block(block, count)
         collector:block(block)
         held:look()
      end,
      stacks = function(bytes) file:chunk("STKS", bytes) end,
      maps = function(pid, maps, time, before)
         for _, m in ipairs(maps) do
            m[5] = held:note(pid, m)
            paths[m[4]] = m[5] or paths[m[4]] or true
         end
         file:json("MAPS", { pid = pid, maps = maps, time = time, before = before })
         collector:maps(pid, maps, time)
      end,
      comm = function(tid, pid, name, time)
         file:json("COMM", { { tid = tid, pid = pid, comm = name, time = time } })
      end,
      programs = function(records)
         for _, row in ipairs(records) do
            if row[1] == "MAP" then
               row[9] = held:note(row[3], { unpack(row, 5, 9) })
               paths[row[8]] = row[9] or paths[row[8]] or true
            end
         end
         file:json("PROG", records)
         collector:programs(records)
      end,
   }
end

-- --- recording ---------------------------------------------------------------------------------

local function totals(outcome)
   local rusage, stacks = outcome.rusage or {}, outcome.stacks
   return {
      lost = outcome.lost, late = outcome.late, throttled = outcome.throttled, full = outcome.full,
      missed = outcome.missed, crowded = outcome.crowded, sample_rate = outcome.sample_rate, elapsed = outcome.elapsed,
      user = rusage.utime, system = rusage.stime, status = outcome.status, signal = outcome.signal,
      interrupted = outcome.interrupted, subjects = outcome.subjects, unsampled = outcome.unsampled,
      unmeasured = outcome.unmeasured, untold = outcome.untold, cuts = stacks and stacks.cuts,
      stacks = stacks and stacks.total,
   }
end

--- Begins a recording: finds out what can be sampled, and opens the file.
-- @tparam table spec as for `profile.prepare`
-- @string path
-- @treturn table `profile`, `file`, and `sink`, for `profile.handlers`
-- @usage
-- local record, profile = require "pfm.record", require "pfm.profile"
-- local r = record.begin({ command = { "true" }, events = "page-faults", period = 1 }, "new.data")
-- record.finish(r, profile.run(r.profile, r.sink))
function record.begin(spec, path)
   if path == "-" then error("a recording cannot go to a pipe or the screen: it needs a file", 0) end
   local self = profile.prepare(spec)
   local head = head_of(self, spec)
   local file, err = recording.create(path, head, true)
   if not file then error(err, 0) end
   local sampled = recording.of { head = head, stack_table = self.stacks and self.stacks.table }
   local paths, held = {}, files.new()
   local collector = embedded_symbols.collector(sampled:sizes(), sampled, held)
   return { profile = self, file = file, paths = paths, collector = collector,
      sink = sink_of(file, paths, collector, held) }
end

--- Ends a recording.
-- @tparam table r of `record.begin`
-- @tparam table outcome of `profile.run`
-- @treturn table outcome
-- @treturn table the file, closed, with `path` and `bytes`
-- @usage
-- local record, profile = require "pfm.record", require "pfm.profile"
-- local r = record.begin({ command = { "true" }, events = "page-faults", period = 1 }, "new.data")
-- local outcome, file = record.finish(r, profile.run(r.profile, r.sink))
-- print(outcome.samples, file.path, file.bytes)
function record.finish(r, outcome)
   for _, object in ipairs(r.collector:objects()) do r.file:json("SYMS", object) end
   r.file:json("OBJS", note_objects(r.paths))
   r.file:close(totals(outcome))
   return outcome, r.file
end

--- Records into a file.
-- @tparam table spec as for `profile.prepare`
-- @string path
-- @tparam[opt] function on_tick as for `profile.run`
-- @number[opt] max_size bytes of samples and what goes with them, with which it ends
-- @treturn table of `profile.run`; `full_file` if it ended so
-- @treturn table the file, closed, with `path` and `bytes`
-- @usage
-- local record = require "pfm.record"
-- print(record.run({ command = { "true" }, events = "page-faults", period = 1 }, "new.data").samples)
function record.run(spec, path, on_tick, max_size)
   local r, full_file = record.begin(spec, path), nil
   local ok, outcome = pcall(profile.run, r.profile, r.sink, function(self, elapsed)
      if on_tick then on_tick(self, elapsed) end
      full_file = full_file or max_size and r.file.bytes >= max_size
      return full_file and "enough"
   end)
   if not ok then
      r.file:discard()
      error(outcome, 0)
   end
   outcome.full_file = full_file
   return record.finish(r, outcome)
end

return record
