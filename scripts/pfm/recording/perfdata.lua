-- SPDX-License-Identifier: MIT
--- Files that perf has written (`perf record`) as recordings: everything that reads recordings takes them.
--
-- Records of what programs did are read first, then the samples, since copies of stacks are unwound
-- by the mappings that a process had. The recording's `remarks` are warnings: they name what the
-- file lacks, and what it holds but a recording cannot show.
-- @module pfm.recording.perfdata

local events = require "pfm.recording.perfdata.events"
local features = require "pfm.recording.perfdata.features"
local perfdata = require "lpfm.perfdata"
local records = require "pfm.recording.perfdata.records"
local remarks = require "pfm.recording.perfdata.remarks"
local samples = require "pfm.recording.perfdata.samples"
local stat = require "posix.sys.stat"
local objects = require "lpfm.symbols"
local system = require "posix.sys.utsname"
local this_machine = require "pfm.recording.perfdata.this_machine"

local reader = {}

-- The user registers that unwinding needs, as bits.
local REGISTERS = { x86_64 = "ff0fff", aarch64 = "1ffffffff" }
local LARGE, LARGEST = 2 ^ 52, 2 ^ 63       -- ns: above LARGE, times get a base; LARGEST is no time
local BEFORE = 3600e9                       -- ns: the base is so long before the first sample

-- --- the head ------------------------------------------------------------------------------------

local function stacks_how(self)
   if not self.has_stacks then return nil end
   if self.unwinds then return "DWARF" end
   return self.events[1].calls_by_branches and "branch records" or "frame pointers"
end

local function clock_of(clock)
   if not clock then return nil end
   return { seconds = math.floor(clock.wall / 1e9), ns = clock.wall % 1e9, samples = clock.own }
end

local function make_head(self)
   local told = self.features
   local sampled, frequency = events.sampled(self)
   return {
      what = told.command and table.concat(told.command, " ") or nil, command = told.command,
      events = sampled, with = events.with(self), stacks = stacks_how(self), frequency = frequency,
      time = told.clock and math.floor(told.clock.wall / 1e9), clock = clock_of(told.clock), format = "default",
      no_cpu = not self.fields.cpu or nil, no_time = not self.fields.time and #self.samples > 0 or nil,
      machine = { name = "perf", pmu = told.cpu_name, host = told.host, kernel = told.kernel, arch = told.arch,
         cpus = told.cpus },
   }
end

-- --- objects -------------------------------------------------------------------------------------

local function told_build_ids(self)
   for path, id in pairs(self.features.build_ids or {}) do
      if path:find("^%[kernel") then
         self.kernel.build_id = id
      else
         local known = self.recording.objects[path] or { path = path }
         known.build_id = known.build_id or id
         self.recording.objects[path] = known
      end
   end
end

local function without_names(path, why)
   return { path = path, functions = {}, segments = {}, lines = {}, frames = {}, files = {}, missing = why }
end

-- Returns true if an inode that was mapped differs from that of the file now at the path, on the
-- same device: stat(2) gives another device for files of an overlay, with inodes of its own.
local function was_replaced(inodes, found)
   for inode, device in pairs(inodes or {}) do
      if inode ~= found.st_ino and device == found.st_dev then return true end
   end
   return false
end

-- An object of another build than recorded has no names, nor has one without build id if it was
-- recorded here and the file was replaced; only regular files are opened.
local function check_object(self, path, object)
   local recording = self.recording
   local found = stat.stat(path)
   if found and stat.S_ISREG(found.st_mode) == 0 then
      recording.symbols[path] = without_names(path, "it is no file")
      return
   end
   if found and not object.build_id and recording.is_here and was_replaced(self.inodes[path], found) then
      recording.symbols[path] = without_names(path, "not the file that was mapped, it was replaced")
   end
   local own = object.build_id and objects.build_id(path)
   if not object.build_id or own == object.build_id then return end
   local stored = this_machine.stored(object.build_id)
   recording.elsewhere[path] = stored
   if own and not stored then
      recording.symbols[path] = without_names(path, "the build that was recorded is not here")
   end
end

local function check_objects(self)
   local recording = self.recording
   recording.is_here = self.features.host == system.uname().nodename
   for path, object in pairs(recording.objects) do check_object(self, path, object) end
   recording.same_kernel = this_machine.has_kernel(self.kernel)
end

-- --- opening -------------------------------------------------------------------------------------

local function refusal(self)
   if self.features.stat then return " holds counts of perf stat, and no samples" end
   if #self.file:events() == 0 then return " is damaged: it does not say which events were recorded" end
end

-- If times are larger than a number holds exactly, they begin at a second shortly before the first sample.
local function check_clock(self)
   local first = self.file:next("samples")
   if first and first.time > LARGE and first.time < LARGEST then
      self.base = math.floor((first.time - BEFORE) / 1e9) * 1e9
      self.file:set_base(self.base)
   end
   self.file:rewind()
end

local function read_all(self)
   self.features = features.all(self.file)
   self.features.build_ids = self.features.build_ids or {}
   check_clock(self)
   records.read(self)
   local why = refusal(self)
   if why then return why end
   told_build_ids(self)
   check_objects(self)
   events.read(self)
   local arch = system.uname().machine
   self.can_unwind = (self.features.arch or arch) == arch and REGISTERS[arch]
   self.file:rewind()
   samples.read(self)
   local recording = self.recording
   recording.head = make_head(self)
   recording.ends = { samples = #self.samples, lost = self.lost_samples }
   recording.time_base = self.base
   remarks.add(self)
end

--- Opens a file of perf's.
-- @string path "-" is standard input
-- @tparam function new makes an empty recording, given its path
-- @treturn[1] recording with `remarks`, a list of warnings; `branches`, what branch stacks say, by the numbers that
-- samples have; `traces`, what tracepoints say (`pfm.recording.perfdata.tracepoints`); `time_base`, ns that its times
-- are less than perf's; its head is to be completed by `pfm.recording.reader`
-- @treturn[2] boolean false: it is no file of perf's
-- @return[3] nil
-- @treturn[3] string why it cannot be read
-- @usage require("pfm.recording.perfdata").open("lpfm.data", function() end) --> false
function reader.open(path, new)
   local file, why = perfdata.open(path)
   if not file then return file, why end
   local recording = new(path)
   recording.remarks, recording.branches, recording.elsewhere, recording.symbols = {}, {}, {}, {}
   recording.comms[0] = "swapper"
   why = read_all { file = file, recording = recording, samples = {}, times = {}, counts = {}, others = {}, names = {},
      counted = {}, kernel = {}, inodes = {}, fields = {}, orders = {}, seen = {}, deferred = {}, crowd = {},
      lost = 0, lost_samples = 0 }
   file:close()
   if why then return nil, path .. why end
   return recording
end

return reader
