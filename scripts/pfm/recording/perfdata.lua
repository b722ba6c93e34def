-- SPDX-License-Identifier: MIT
--- Files that perf has written (`perf record`) as recordings: everything that reads recordings
-- takes them.
--
-- Records of what programs did are read first, then the samples, since copies of stacks are unwound
-- by the mappings that a process had. The recording's `remarks` are warnings: they name what the
-- file lacks, and what it holds but a recording cannot show.
-- @module pfm.recording.perfdata

local events = require "pfm.recording.perfdata.events"
local features = require "pfm.recording.perfdata.features"
local layout = require "pfm.recording.layout"
local perfdata = require "lpfm.perfdata"
local records = require "pfm.recording.perfdata.records"
local render = require "pfm.render"
local samples = require "pfm.recording.perfdata.samples"
local stat = require "posix.sys.stat"
local objects = require "lpfm.symbols"
local system = require "posix.sys.utsname"
local text_file = require "pfm.util.text_file"

local reader = {}

-- The user registers that unwinding needs, as bits.
local REGISTERS = { x86_64 = "ff0fff", aarch64 = "1ffffffff" }
-- Times in ns. If the first sample's time is above LARGE, all times are counted from a base, which
-- is BEFORE earlier than the first sample. A time that is not below LARGEST is not valid.
local LARGE, LARGEST = 2 ^ 52, 2 ^ 63
local BEFORE = 3600e9

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
   local f = self.features
   local sampled, frequency = events.sampled(self)
   return {
      what = f.command and table.concat(f.command, " ") or nil, command = f.command,
      events = sampled, with = events.with(self), stacks = stacks_how(self), frequency = frequency,
      time = f.clock and math.floor(f.clock.wall / 1e9), clock = clock_of(f.clock), format = "default",
      no_cpu = not self.fields.cpu or nil, no_time = not self.fields.time and #self.samples > 0 or nil,
      machine = { name = "perf", pmu = f.cpu_name, host = f.host, kernel = f.kernel, arch = f.arch,
         cpus = f.cpus },
   }
end

-- --- objects -------------------------------------------------------------------------------------

local function take_build_ids(self)
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

-- Returns the path of an object in perf's cache of build ids; nil if it is not there, or has
-- another build id.
local function stored(id)
   local home = os.getenv("HOME")
   local path = home and ("%s/.debug/.build-id/%s/%s/elf"):format(home, id:sub(1, 2), id:sub(3))
   return path and stat.stat(path) and objects.build_id(path) == id and path or nil
end

-- Returns the running kernel's build id from its notes: sizes of name and id, type 3, "GNU".
local function kernel_build_id()
   local notes = text_file.all("/sys/kernel/notes") or ""
   local at = notes:find("\4%z%z%z.%z%z%z\3%z%z%zGNU%z")
   if not at then return nil end
   local size = notes:byte(at + 4)
   return (notes:sub(at + 16, at + 15 + size):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- Returns where the running kernel has a symbol, in hexadecimal; nil if that may not be read.
local function kernel_address(symbol)
   local file = io.open("/proc/kallsyms", "r")
   for line in file and file:lines() or function() end do
      local address, name = line:match("^(%x+) %S (%S+)$")
      if name == symbol then
         file:close()
         return address:find("[^0]") and address or nil
      end
   end
   if file then file:close() end
end

-- Returns true if the kernel that was recorded runs here, at the same addresses. If addresses may
-- not be read here, the build id alone decides.
local function has_kernel(kernel)
   local own = kernel.symbol and kernel_address(kernel.symbol)
   if own and tonumber(own, 16) ~= kernel.address then return false end
   if not kernel.build_id then return own ~= nil end
   return kernel.build_id == kernel_build_id()
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
   recording.elsewhere[path] = stored(object.build_id)
   if own and not recording.elsewhere[path] then
      recording.symbols[path] = without_names(path, "the build that was recorded is not here")
   end
end

local function check_objects(self)
   local recording = self.recording
   recording.is_here = self.features.host == system.uname().nodename
   for path, object in pairs(recording.objects) do check_object(self, path, object) end
   recording.same_kernel = has_kernel(self.kernel)
end

-- --- remarks -------------------------------------------------------------------------------------

local function say(self, format, ...)
   table.insert(self.recording.remarks, format:format(...))
end

local SHOWN = { raw = "the raw data of samples is not shown",
   intr_regs = "the registers in samples are not shown", aux = "the hardware trace in samples is not shown",
   unknown = "samples have fields that lpfm does not know" }

local function remark_fields(self)
   for _, name in ipairs { "raw", "intr_regs", "aux", "unknown" } do
      if self.fields[name] and not (name == "raw" and self.recording.traces) then say(self, "%s", SHOWN[name]) end
   end
   local names = {}
   for i, with in ipairs(self.recording.head.with or {}) do names[i] = with.name end
   if self.has_values then say(self, "samples have values: lpfm script -F %s shows them", table.concat(names, ",")) end
   if #self.samples == 0 then return end
   if not self.fields.time then say(self, "samples have no times: their order in the file stands for them") end
   if not self.fields.tid then say(self, "samples have no thread ids") end
   if not self.fields.ip then say(self, "samples have no addresses") end
end

local COUNTED = {
   { "unsound", "record", "not sound: left out" }, { "guests", "sample", "of guests or the hypervisor: left out" },
   { "narrow", "stack", "of processes of 32 bits: not unwound" },
   { "halved", "stack", "without the user's part: its record is missing" },
   { "foreign", "stack", "with the registers of another machine: not unwound" },
}

local function remark_counts(self)
   for _, c in ipairs(COUNTED) do
      local n = self.counts[c[1]]
      if n then say(self, "%s %s", render.plural(n, c[2]), c[3]) end
   end
   if self.lost > 0 then
      say(self, "%s lost while recording: samples, or what programs did", render.plural(self.lost, "record"))
   end
   if self.counts.throttled then
      say(self, "the kernel's limit held samples back %s", render.plural(self.counts.throttled, "time"))
   end
   for i, what in ipairs(self.others) do self.others[i] = ("%s (%d)"):format(what, self.others[what]) end
   if #self.others > 0 then say(self, "not shown of what the file holds: %s", table.concat(self.others, ", ")) end
   for name, n in pairs(self.crowd) do
      say(self, "%s of %s left out: there are more than %d events", render.plural(n, "sample"), name, layout.EVENTS)
   end
end

local function add_remarks(self)
   if self.ended then say(self, "%s", self.ended) end
   if not self.file:is_ended() then say(self, "perf did not end the file: names and the last samples are missing") end
   if self.base then
      say(self, "times are from second %.0f of the machine's clock on: they are more than a number holds exactly",
         self.base / 1e9)
   end
   remark_counts(self)
   remark_fields(self)
end

-- --- opening -------------------------------------------------------------------------------------

local function refusal(self)
   if self.features.stat then return " holds counts of perf stat, and no samples" end
   if #self.file:events() == 0 then return " is damaged: it does not say which events were recorded" end
end

-- If times are larger than a number holds exactly, they begin at a second shortly before the first
-- sample.
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
   take_build_ids(self)
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
   add_remarks(self)
end

--- Opens a file of perf's.
-- @string path "-" is standard input
-- @tparam function new makes an empty recording, given its path
-- @treturn[1] recording with `remarks`, a list of warnings; `branches`, what branch stacks say, by
-- the numbers that samples have; `traces`, what tracepoints say
-- (`pfm.recording.perfdata.tracepoints`); `time_base`, ns that its times are less than perf's; its
-- head is to be completed by `pfm.recording.reader`
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
