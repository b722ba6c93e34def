-- SPDX-License-Identifier: MIT
--- The file of a recording that is being made: its head, what the sink of a profile puts into it,
-- and its end.
-- @module pfm.record.file

local proc = require "lpfm.proc"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local files = require "pfm.recording.files"
local host = require "pfm.measure.host"
local launcher = require "pfm.util.launcher"
local measure = require "pfm.measure"
local objects = require "lpfm.symbols"
local profile = require "pfm.profile"
local recording = require "pfm.recording"
local render = require "pfm.render"
local posix_time = require "posix.time"
local text_file = require "pfm.util.text_file"
local expect = require "pfm.util.expect"

local file = {}

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

-- Reads the wall clock and the samples' clock at once, to align recordings of several machines.
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

-- --- mapped files --------------------------------------------------------------------------------

-- Returns the rows of an OBJS chunk for the mapped files. `paths` has, by path, the identity that
-- was noted for a file, or true if there is none.
local function note_objects(paths)
   local out = {}
   for path, noted in pairs(paths) do
      if path:find("^/") and not path:find(" %(deleted%)$") then
         local id = noted ~= true and noted or objects.build_id(path)
         out[#out + 1] = { path = path, build_id = id and not id:find("^inode") and id or nil }
      end
   end
   return out
end

local function note_path(r, path, id)
   r.paths[path] = id or r.paths[path] or true
end

-- Notes a mapping's file, which stays open for its symbols; returns the file's identity.
local function note_mapping(r, pid, path, mapping)
   local id = r.held:note(pid, mapping)
   note_path(r, path, id)
   return id
end

local function take_maps(r, row)
   r.file:json("MAPS", row)
   r.collector:maps(row.pid, row.maps, row.time)
end

local function take_records(r, rows)
   r.file:json("PROG", rows)
   r.collector:programs(rows)
end

local function sink_of(r)
   return {
      begin = function() r.file:begin() end,
      block = function(block, count)
         r.file:block(block, count)
         r.collector:block(block)
         r.held:look()
      end,
      stacks = function(bytes) r.file:chunk("STKS", bytes) end,
      maps = function(pid, maps, time, before)
         for _, m in ipairs(maps) do m[5] = note_mapping(r, pid, m[4], m) end
         local row = { pid = pid, maps = maps, time = time, before = before }
         if r.known then r.known:add_maps(row) end
         take_maps(r, row)
      end,
      comm = function(tid, pid, name, time)
         local row = { tid = tid, pid = pid, comm = name, time = time }
         if r.known then r.known:add_name(row) end
         r.file:json("COMM", { row })
      end,
      programs = function(rows)
         for _, row in ipairs(rows) do
            if row[1] == "MAP" then row[9] = note_mapping(r, row[3], row[8], { unpack(row, 5, 9) }) end
         end
         if r.known then r.known:add_records(rows) end
         take_records(r, rows)
      end,
   }
end

-- --- the file ------------------------------------------------------------------------------------

--- Opens the next file of a recording; nothing is written before its `begin`.
-- @tparam table r of `file.open`
-- @raise where it cannot be opened
function file.next(r)
   local self = r.profile
   local head = head_of(self, r.spec)
   local opened = expect.value(recording.create(r.path, head, true))
   local sampled = recording.of { head = head, stack_table = self.stacks and self.stacks.table }
   r.file, r.paths, r.collector = opened, {}, embedded_symbols.collector(sampled:sizes(), sampled, r.held)
end

--- Opens the first file of a recording.
-- @tparam table self of `profile.prepare`
-- @tparam table spec from which `self` was prepared
-- @string path
-- @treturn table `profile`, `file`, `sink`; if its field `known` (of `pfm.record.known`) is set,
-- the sink adds to it
-- @raise where it cannot be opened
function file.open(self, spec, path)
   local r = { profile = self, spec = spec, path = path, held = files.new() }
   file.next(r)
   r.sink = sink_of(r)
   return r
end

--- Begins a file with what is known of programs.
-- @tparam table r of `file.open`, with `known`
function file.begin_with(r, its)
   r.file:begin()
   for _, row in ipairs(its.maps) do
      for _, m in ipairs(row.maps) do note_path(r, m[4], m[5]) end
      take_maps(r, row)
   end
   for _, row in ipairs(its.records) do
      if row[1] == "MAP" then note_path(r, row[8], row[9]) end
   end
   if #its.records > 0 then take_records(r, its.records) end
   if #its.names > 0 then r.file:json("COMM", its.names) end
end

--- Ends a file.
-- @tparam table r of `file.open`
-- @tparam table ends the ENDS chunk
function file.close(r, ends)
   for _, object in ipairs(r.collector:objects()) do r.file:json("SYMS", object) end
   r.file:json("OBJS", note_objects(r.paths))
   r.file:close(ends)
end

return file
