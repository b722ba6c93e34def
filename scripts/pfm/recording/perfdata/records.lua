-- SPDX-License-Identifier: MIT
--- The records of a file of perf that are no samples: what programs did, what was lost, features of
-- a pipe.
--
-- The reader's state, `self`, has `file` of `lpfm.perfdata`; `recording`, which gets `records`,
-- `comms` and `objects`; `features`; and `counts` of what warnings tell the user.
-- @module pfm.recording.perfdata.records

local features = require "pfm.recording.perfdata.features"
local render = require "pfm.render"

local records = {}

local EXACT = 2 ^ 53
local EXEC, DATA = 2 ^ 13, 2 ^ 13           -- bits of COMM and MMAP records

local function has_bit(number, bit)
   return number % (2 * bit) >= bit
end

--- Counts something that a warning tells the user.
-- @tparam table self
-- @string what
-- @usage require("pfm.recording.perfdata.records").count({ counts = {} }, "guests")
function records.count(self, what)
   self.counts[what] = (self.counts[what] or 0) + 1
end

local count = records.count

-- --- records that are left out -------------------------------------------------------------------

-- Names of records that are skipped, by type. Types that are neither here nor read are perf's own.
local OTHERS = { [8] = "counts of threads", [11] = "parts of a hardware trace", [14] = "context switches",
   [15] = "context switches", [16] = "namespaces", [17] = "changes of the kernel's symbols", [18] = "BPF programs",
   [19] = "cgroups", [20] = "changes of the kernel's code", [71] = "parts of a hardware trace",
   [72] = "errors of a hardware trace", [76] = "counts of perf stat",
   [85] = "statistics of the scheduler", [86] = "statistics of the scheduler" }
local NEWEST = { kernel = 22, own = 86 }    -- the highest known types of records

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

-- --- records -------------------------------------------------------------------------------------

local take = {}

-- Adds what a process did. Those outside of the PID namespace of perf have the number of the idle
-- task, 0: which of them it was is unknown.
local function add_row(self, record, kind, ...)
   if record.pid == 0 then
      if kind ~= "MAP" then self.recording.comms[0] = "swapper or outside" end
      return
   end
   local row = { kind, record.time, record.pid, record.tid, ... }
   if row[2] > EXACT or row[3] < 0 or row[4] < 0 then return count(self, "unsound") end
   self.orders[row] = record.order
   self.recording.records[#self.recording.records + 1] = row
end

-- Notes the kernel's build id and where one of its symbols lies, by the mapping that perf records
-- for the kernel. Mappings of modules are ignored.
local function take_kernel(self, record)
   local symbol = record.path:match("^%[kernel%.kallsyms%](.+)$")
   if not symbol then return end
   self.kernel.symbol, self.kernel.address, self.kernel.build_id = symbol, record.offset, record.build_id
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
      if (record.inode or 0) ~= 0 then
         self.inodes[record.path] = self.inodes[record.path] or {}
         self.inodes[record.path][record.inode] = record.device
      end
   end
end

function take.COMM(self, record)
   local is_exec = has_bit(record.misc, EXEC)
   add_row(self, record, is_exec and "EXEC" or "RENAME", record.comm)
   if record.pid ~= 0 then self.recording.comms[record.tid] = record.comm end
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

-- Keeps a deferred call chain: the user's frames of earlier samples that have the same cookie.
function take.DEFERRED(self, record)
   self.deferred[record.cookie] = record.chain
end

function take.BUILD_ID(self, record)
   if record.build_id then self.features.build_ids[record.path] = record.build_id end
end

local TRACING = 1 -- the feature for which perf writes another record into a pipe
local NAME = 2 -- the kind of EVENT_UPDATE that gives a name

function take.EVENT_UPDATE(self, record)
   if record.what == NAME then self.names[#self.names + 1] = { name = record.name, ids = { record.id } } end
end

function take.TRACING(self, record)
   features.add(self.features, TRACING, record.bytes)
end

function take.FEATURE(self, record)
   features.add(self.features, record.feature, record.bytes)
end

local ENDS = { cut = "the file is cut off: what follows byte %s is missing",
   damaged = "the file is damaged at byte %s: what follows is left out",
   packed = "the file is damaged: what follows byte %s cannot be unpacked",
   memory = "there is no memory for what follows byte %s" }

--- Iterates over the records of a kind. Where the file cannot be read further, `self.ended` says
-- why.
-- @tparam table self
-- @string kind "records" or "samples"
-- @return an iterator of what `next` of a file of `lpfm.perfdata` gives
-- @usage
-- local self = { file = { next = function() return nil, "end" end }, counts = {} }
-- for _ in require("pfm.recording.perfdata.records").each(self, "samples") do error "there is none" end
function records.each(self, kind)
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

--- Reads all records that are not samples.
-- @tparam table self
-- @usage
-- local self = { file = { next = function() return nil, "end" end }, counts = {} }
-- require("pfm.recording.perfdata.records").read(self)
function records.read(self)
   for record in records.each(self, "records") do
      if take[record.kind] then take[record.kind](self, record) else note_other(self, record) end
   end
end

return records
