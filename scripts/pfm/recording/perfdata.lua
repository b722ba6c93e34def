-- SPDX-License-Identifier: MIT
--- Files that perf has written (`perf record`) as recordings: everything that reads recordings takes them.
--
-- Records of what programs did are read first, then the samples, since copies of stacks are unwound by the mappings
-- that a process had. What a file holds and a recording cannot show is told by its `remarks`, which are warnings.
-- @module pfm.recording.perfdata

local blocks = require "lpfm.blocks"
local event_names = require "pfm.recording.perfdata.event_names"
local features = require "pfm.recording.perfdata.features"
local layout = require "pfm.recording.layout"
local objects = require "lpfm.symbols"
local perfdata = require "lpfm.perfdata"
local render = require "pfm.render"
local symbols = require "pfm.symbols"
local system = require "posix.sys.utsname"
local this_machine = require "pfm.recording.perfdata.this_machine"

local reader = {}

local VALUES, BRANCHES = 256, 300           -- numbers of PMDs that values of samples stand under
local EXACT = 2 ^ 53
local BLOCK = 4096                          -- samples
local EXEC, DATA = 2 ^ 13, 2 ^ 13           -- bits of COMM and MMAP records
local GUEST = 3                             -- from here on: modes of a CPU that is not this kernel's or its processes'
local REGISTERS = { x86_64 = "ff0fff", aarch64 = "1ffffffff" }
local CURRENT, WORD = 2, 8                  -- registers of 64 bits; bytes

local function has_bit(number, bit)
   return number % (2 * bit) >= bit
end

-- --- what is left out ----------------------------------------------------------------------------

-- Records by their numbers: of what they tell. Those that are not here and not read are of perf's own use.
local OTHERS = { [8] = "counts of threads", [11] = "parts of a hardware trace", [14] = "context switches",
   [15] = "context switches", [16] = "namespaces", [17] = "changes of the kernel's symbols", [18] = "BPF programs",
   [19] = "cgroups", [20] = "changes of the kernel's code", [71] = "parts of a hardware trace",
   [72] = "errors of a hardware trace", [76] = "counts of perf stat" }
local NEWEST = { kernel = 21, own = 84 }    -- kinds of records that are known, up to

local function note_other(self, record)
   local kind = record.type
   local what = OTHERS[kind]
   if not what and (kind > NEWEST.own or (kind < 64 and kind > NEWEST.kernel)) then
      what = "records of kinds that lpfm does not know"
   end
   if not what then return end
   if not self.others[what] then self.others[#self.others + 1] = what end
   self.others[what] = (self.others[what] or 0) + 1
end

local function count(self, what)
   self.counts[what] = (self.counts[what] or 0) + 1
end

-- --- records -------------------------------------------------------------------------------------

local take = {}

local function add_row(self, record, kind, ...)
   local row = { kind, record.time, record.pid, record.tid, ... }
   if row[2] > EXACT or row[3] < 0 or row[4] < 0 then return count(self, "unsound") end
   self.orders[row] = record.order
   self.recording.records[#self.recording.records + 1] = row
end

-- The kernel's own mapping says where a symbol of it is; modules lie among its symbols.
local function take_kernel(self, record)
   local symbol = record.path:match("^%[kernel%.kallsyms%](.+)$")
   if symbol then self.kernel.symbol, self.kernel.address = symbol, record.offset end
end

function take.MMAP(self, record)
   if record.pid < 0 then return take_kernel(self, record) end
   if has_bit(record.misc, DATA) then return end
   if record.path:find("^//anon") then record.path = "" end
   add_row(self, record, "MAP", record.addr, record.addr + record.len, record.offset, record.path, record.build_id)
   if record.path:find("^[/%[]") then
      local known = self.recording.objects[record.path] or { path = record.path }
      known.build_id = record.build_id or known.build_id
      self.recording.objects[record.path] = known
   end
end

function take.COMM(self, record)
   local is_exec = has_bit(record.misc, EXEC)
   add_row(self, record, is_exec and "EXEC" or "RENAME", record.comm)
   self.recording.comms[record.tid] = record.comm
end

function take.FORK(self, record)
   if record.ppid < 0 or record.ptid < 0 then return count(self, "unsound") end
   add_row(self, record, "FORK", record.ppid, record.ptid)
end

function take.EXIT(self, record)
   add_row(self, record, "EXIT")
end

function take.LOST(self, record)
   self.lost = self.lost + record.count
end

function take.LOST_SAMPLES(self, record)
   self.lost_samples = self.lost_samples + record.count
end

function take.THROTTLE(self)
   count(self, "throttled")
end

function take.BUILD_ID(self, record)
   if record.build_id then self.features.build_ids[record.path] = record.build_id end
end

local NAME = 2 -- of what EVENT_UPDATE may tell

function take.EVENT_UPDATE(self, record)
   if record.what == NAME then self.names[#self.names + 1] = { name = record.name, ids = { record.id } } end
end

function take.FEATURE(self, record)
   features.add(self.features, record.feature, record.bytes)
end

local ENDS = { cut = "the file is cut off: what follows byte %s is missing",
   damaged = "the file is damaged at byte %s: what follows is left out",
   packed = "the file is damaged: what follows byte %s cannot be unpacked",
   memory = "there is no memory for what follows byte %s" }

-- Iterates over the records of a kind.
local function each(self, kind)
   return function()
      while true do
         local record, why, at = self.file:next(kind)
         if record then return record end
         if record == nil then
            if why ~= "end" then self.ended = ENDS[why]:format(render.number(at)) end
            return nil
         end
         count(self, "unsound")
      end
   end
end

local function read_records(self)
   for record in each(self, "records") do
      if take[record.kind] then take[record.kind](self, record) else note_other(self, record) end
   end
end

-- --- events --------------------------------------------------------------------------------------

-- Names by number, as the file tells them: of an event that has ids, by these.
local function names_of(self)
   local out = {}
   for i, told in ipairs(self.features.events or {}) do
      out[self.file:event_of(told.ids[1] or -1) or i] = told.name
   end
   for _, told in ipairs(self.names) do
      local i = self.file:event_of(told.ids[1])
      if i then out[i] = told.name end
   end
   return out
end

local function values_of(self, event)
   local out = {}
   for i, number in ipairs(event.values) do out[i] = VALUES + number end
   if self.has_branches then out[#out + 1] = BRANCHES end
   return out
end

local function read_events(self)
   self.events = self.file:events()
   local names = names_of(self)
   for i, event in ipairs(self.events) do
      event.name = names[i] or event_names.of(event)
      self.has_branches = self.has_branches or (event.fields.branches and not event.calls_by_branches)
      self.has_stacks = self.has_stacks or event.fields.callchain or event.fields.stack
      self.unwinds = self.unwinds or event.fields.stack
      for name, is_there in pairs(event.fields) do self.fields[name] = self.fields[name] or is_there end
   end
   for _, event in ipairs(self.events) do event.places = values_of(self, event) end
   for row, order in pairs(self.fields.time and {} or self.orders) do row[2] = order end
   self.orders = nil
end

-- Samples and records without times have their order instead.
local function time_of(self, sample)
   return self.fields.time and sample.time or sample.order
end

-- --- call stacks ---------------------------------------------------------------------------------

-- What unwinds the stacks of a process's life: none of an object that is not here as it was.
local function unwinder_of(self, life)
   if self.unwinders[life] == nil then
      local maps, ran = {}, self.recording:programs()
      for _, list in ipairs(ran and ran:maps(life) or {}) do
         for _, m in ipairs(list) do
            local path = self.recording.elsewhere[m[4]] or m[4]
            if not self.recording.symbols[m[4]] and m[1] <= EXACT and m[3] <= EXACT then
               maps[#maps + 1] = { m[1], m[2], m[3], path }
            end
         end
      end
      self.unwinders[life] = objects.unwinder(maps)
   end
   return self.unwinders[life]
end

-- The kernel's frames, which are the first.
local function kernel_part(chain)
   local n = 0
   while chain:byte(n + WORD) and chain:byte(n + WORD) >= 128 do n = n + WORD end
   return chain:sub(1, n)
end

-- Frames as words of 64 bits, the innermost first.
local function frames_of(self, sample, event)
   local chain = sample.chain or ""
   if not sample.stack then return chain end
   if sample.regs_abi ~= CURRENT then
      count(self, "narrow")
      return chain
   end
   if not self.can_unwind or event.regs ~= self.can_unwind then
      count(self, "foreign")
      return chain
   end
   local ran = self.recording:programs()
   local life = ran and ran.lives:at(sample.pid % 2 ^ 32, time_of(self, sample)) or sample.pid % 2 ^ 32
   local unwound = unwinder_of(self, life):frames(sample.regs, sample.stack)
   return unwound ~= "" and kernel_part(chain) .. unwound or chain
end

-- --- samples -------------------------------------------------------------------------------------

-- The number of a branch stack among those of all samples, from 1; 0: the sample has none.
local function branches_of(self, sample)
   local text = sample.branches
   if not text then return 0 end
   local list = self.recording.branches
   if not list[text] then list[#list + 1], list[text] = text, #list + 1 end
   return list[text]
end

local function keep(self, sample, number, period)
   local event = self.events[number]
   if period > EXACT or sample.time > EXACT then return count(self, "unsound") end
   if number > layout.EVENTS then
      self.crowd[event.name] = (self.crowd[event.name] or 0) + 1
      return
   end
   event.pmd = number - 1
   local more = {}
   if self.has_branches then more[1] = branches_of(self, sample) end
   if self.has_stacks then
      more[#more + 1] = self.recording.stack_table:add(frames_of(self, sample, self.events[sample.attr]))
   end
   local n = #self.samples + 1
   local time = time_of(self, sample)
   self.samples[n], self.times[n] = self.file:encode(event.pmd, period, more, time), time
   self.out_of_order = self.out_of_order or (n > 1 and time < self.times[n - 1])
end

-- A sample with the values of counters is one of each of them that has counted since.
local function keep_counts(self, sample)
   local of_thread = self.events[sample.attr].inherit and sample.tid or 0
   for _, counted in ipairs(sample.counts) do
      local number = self.file:event_of(counted[1]) or (#self.events == 1 and 1)
      if number then
         local key = counted[1] .. " " .. of_thread
         local grown = counted[2] - (self.counted[key] or 0)
         self.counted[key] = counted[2]
         if grown > 0 then keep(self, sample, number, grown) end
      else
         count(self, "unsound")
      end
   end
end

local function read_samples(self)
   for sample in each(self, "samples") do
      if sample.misc % 8 >= GUEST then
         count(self, "guests")
      elseif sample.counts then
         keep_counts(self, sample)
      else
         keep(self, sample, sample.attr, sample.period)
      end
   end
end

-- Samples of one time stay as the file has them.
local function sort_samples(self)
   if not self.out_of_order then return end
   local order, samples, times = {}, {}, self.times
   for i = 1, #self.samples do order[i] = i end
   table.sort(order, function(a, b)
      if times[a] ~= times[b] then return times[a] < times[b] end
      return a < b
   end)
   for i, at in ipairs(order) do samples[i] = self.samples[at] end
   self.samples = samples
end

local function make_blocks(self)
   sort_samples(self)
   for first = 1, #self.samples, BLOCK do
      local last = math.min(first + BLOCK - 1, #self.samples)
      local body = table.concat(self.samples, "", first, last)
      table.insert(self.recording.blocks, blocks.head(last - first + 1, #body) .. body)
   end
end

-- --- the head ------------------------------------------------------------------------------------

local function head_events(self)
   local out = {}
   for i, event in ipairs(self.events) do
      if event.pmd or (#self.samples == 0 and i == 1) then
         out[#out + 1] = { name = event.name, pmd = event.pmd or 0, values = event.places,
            period = not event.freq and event.period or nil, unit = event_names.is_clock(event) and "ns" or nil }
      end
      if event.pmd and event.freq then self.frequency = event.period end
   end
   return out
end

local function head_with(self)
   local out, seen = {}, {}
   for _, event in ipairs(self.events) do
      for _, number in ipairs(event.values) do seen[number] = true end
   end
   for number = 0, #perfdata.values do
      if seen[number] then out[#out + 1] = { name = perfdata.values[number], pmd = VALUES + number } end
   end
   if self.has_branches then out[#out + 1] = { name = "branches", pmd = BRANCHES } end
   return #out > 0 and out or nil
end

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
   return {
      what = told.command and table.concat(told.command, " ") or nil, command = told.command,
      events = head_events(self), with = head_with(self), stacks = stacks_how(self), frequency = self.frequency,
      time = told.clock and math.floor(told.clock.wall / 1e9), clock = clock_of(told.clock), format = "default",
      no_cpu = not self.fields.cpu or nil,
      machine = { name = "perf", pmu = told.cpu_name, host = told.host, kernel = told.kernel, arch = told.arch,
         cpus = told.cpus },
   }
end

-- --- remarks -------------------------------------------------------------------------------------

local function say(self, format, ...)
   table.insert(self.recording.remarks, format:format(...))
end

local SHOWN = { branches = "lpfm script -F branches shows the branches before each sample",
   raw = "the fields of tracepoints (raw data) are not shown", intr_regs = "the registers in samples are not shown",
   aux = "the hardware trace in samples is not shown", unknown = "samples have fields that lpfm does not know" }

local function remark_fields(self)
   for _, name in ipairs { "branches", "raw", "intr_regs", "aux", "unknown" } do
      if self.fields[name] and (name ~= "branches" or self.has_branches) then say(self, "%s", SHOWN[name]) end
   end
   if #self.samples == 0 then return end
   if not self.fields.time then say(self, "samples do not tell when: their order in the file stands for it") end
   if not self.fields.tid then say(self, "samples do not tell of which thread they are") end
   if not self.fields.ip then say(self, "samples do not tell where they are") end
end

local COUNTED = {
   { "unsound", "record", "not sound: left out" }, { "guests", "sample", "of guests or the hypervisor: left out" },
   { "narrow", "stack", "of processes of 32 bits: not unwound" },
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

-- Objects of another build than the one that was recorded have no names here.
local function check_objects(self)
   local recording = self.recording
   for path, object in pairs(recording.objects) do
      local own = object.build_id and symbols.build_id(path)
      if object.build_id and own ~= object.build_id then
         local stored = this_machine.stored(object.build_id)
         recording.elsewhere[path] = stored
         if own and not stored then
            recording.symbols[path] = { path = path, functions = {}, segments = {}, lines = {}, frames = {},
               files = {}, missing = "the build that was recorded is not here" }
         end
      end
   end
   recording.same_kernel = this_machine.has_kernel(self.kernel)
   recording.is_here = self.features.host == system.uname().nodename
end

-- --- opening -------------------------------------------------------------------------------------

local function refusal(self)
   if self.features.stat then return " holds counts of perf stat, and no samples" end
   if #self.file:events() == 0 then return " is damaged: it does not say which events were recorded" end
end

local function read_all(self)
   self.features = features.all(self.file)
   self.features.build_ids = self.features.build_ids or {}
   read_records(self)
   local why = refusal(self)
   if why then return why end
   told_build_ids(self)
   check_objects(self)
   read_events(self)
   local arch = system.uname().machine
   self.can_unwind = (self.features.arch or arch) == arch and REGISTERS[arch]
   self.file:rewind()
   read_samples(self)
   make_blocks(self)
   local recording = self.recording
   recording.head = make_head(self)
   recording.ends = { samples = #self.samples, lost = self.lost_samples }
   if self.ended then say(self, "%s", self.ended) end
   if not self.file:is_ended() then say(self, "perf did not end the file: names and the last samples are missing") end
   remark_counts(self)
   remark_fields(self)
end

--- Opens a file of perf's.
-- @string path "-" is standard input
-- @tparam function new a recording that is empty, of a path
-- @treturn[1] recording with `remarks`, a list of warnings; `branches`, texts of words (from, to, flags), by the
-- numbers that samples have; its head is to be completed by `pfm.recording.reader`
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
      counted = {}, kernel = {}, fields = {}, unwinders = {}, orders = {}, crowd = {}, lost = 0, lost_samples = 0 }
   file:close()
   if why then return nil, path .. why end
   return recording
end

return reader
