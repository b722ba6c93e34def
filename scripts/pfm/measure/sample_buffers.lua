-- SPDX-License-Identifier: MIT
--- The sampling buffers of a profile: of the format stack, in regions, so that nothing is lost
-- while they are read; with call stacks, by frame pointers or by unwinding copies of the stacks,
-- and records of what programs do.
-- @module pfm.measure.sample_buffers

local lpfm = require "lpfm"
local conventions = require "pfm.measure.conventions"
local expect = require "pfm.util.expect"
local host = require "pfm.measure.host"
local objects = require "lpfm.symbols"
local render = require "pfm.render"
local stored = require "lpfm.samples"

local sampler = {}
sampler.__index = sampler

local HEAD, VALUE = 64, 8      -- bytes: of a sample of the format stack, of a frame or value
local RECORD = 4400            -- bytes of the largest record of what a program did
local FRAMES, REGS = 127, 64   -- frames and registers of a sample, at most
local COPY = 8192              -- bytes of a stack, to unwind it
local MAX_COPY = 65528         -- most that the kernel copies
local LEAF = 256               -- bytes of stack that are enough to find a leaf function's caller
local HEADER, FILL = 128, 16   -- bytes of the buffer's header; of the state of each region in it
local REGIONS = { 4, 2 }       -- numbers of regions: the first is taken that fits

-- Bytes of large and small buffers (true: with copied stacks), for up to 1 s of fast sampling.
local LARGE, SMALL = { [false] = 4 * 2 ^ 20, [true] = 16 * 2 ^ 20 }, { [false] = 2 ^ 19, [true] = 2 ^ 21 }
local ALL = 128 * 2 ^ 20       -- bytes of all large buffers together
local PART = 4                 -- a thread's buffer gets at most 1/PART of what is left of ALL

--- How call stacks are taken, in words: `head.stacks` of a recording.
sampler.POINTERS, sampler.DWARF = "frame pointers", "DWARF"

-- --- how call stacks are taken ------------------------------------------------------------------

local known = { fp = sampler.POINTERS, dwarf = sampler.DWARF }

--- Reads how call stacks are to be taken.
-- @string text "fp", "dwarf" or "dwarf,BYTES"
-- @treturn string `sampler.POINTERS` or `sampler.DWARF`; nil and why not
-- @treturn int bytes of the stack to copy, or nil: as by default
-- @usage print(require("pfm.measure.sample_buffers").parse "dwarf,16384") --> DWARF 16384
function sampler.parse(text)
   local name, size = text:match("^(%a*),?(.*)$")
   local how, has_size = known[name], text:find(",", 1, true)
   if not how or (has_size and name ~= "dwarf") or (size ~= "" and not has_size) then
      return nil, ("'%s' is neither fp nor dwarf nor dwarf,SIZE"):format(text)
   end
   if not has_size then return how end
   local bytes = (size:match("^%d+$") or size:match("^0[xX]%x+$")) and tonumber(size)
   local rounded = bytes and math.ceil(bytes / VALUE) * VALUE
   if not bytes or bytes < 1 or rounded > MAX_COPY then
      return nil, ("'%s': SIZE is from 1 to %d bytes, rounded up to a multiple of %d"):format(text, MAX_COPY, VALUE)
   end
   return how, rounded
end

local function given(text)
   local how, size = sampler.parse(text)
   if not how then error("call stacks: " .. size, 0) end
   return how, size
end

-- Returns how call stacks are taken, why so (words, or nil), and how many bytes of a stack are
-- copied; nil if there are to be no stacks.
local function choose(spec)
   if not spec.g then return nil end
   if host.simulated() then
      return type(spec.g) == "string" and given(spec.g) or sampler.POINTERS, nil, 0
   end
   local how, why, size
   if type(spec.g) == "string" then
      how, size = given(spec.g)
   else
      local obstacle = conventions.obstacle(spec)
      how, why = obstacle and sampler.DWARF or sampler.POINTERS, obstacle
   end
   return how, why, how == sampler.POINTERS and LEAF or size or COPY
end

-- Returns true if the buffers are to have records of what programs do, and the machine can make
-- them. Without stacks, single threads need none: /proc shows what their processes do.
local function can_record(spec, flags)
   if spec.records == false or not (spec.g or spec.cpus or spec.inherit) then return false end
   local ctx = lpfm.create { format = "stack", buf_flags = flags }
   if ctx then ctx:close() end
   return ctx ~= nil
end

--- Makes the buffers of a profile.
-- @tparam table spec of `profile.prepare`: `g` is "fp", "dwarf", or true, for what suits the
-- program; nil: no stacks
-- @int values of a sample, at most
-- @treturn table `how`, `why` (words, or nil), `table` (see `lpfm.samples`; nil: no stacks),
-- `records` (are there records of what programs do?), `switches` (with `spec.off_cpu`: of context
-- switches, too?)
-- @raise where `spec.buffer` is too small
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0).how) --> "frame pointers"
function sampler.new(spec, values)
   expect.whole("buffer", spec.buffer)
   local how, why, copied = choose(spec)
   local self = setmetatable({ how = how, why = why, table = how and stored.stack_table(), copied = copied or 0,
      copies = how == sampler.DWARF, records = can_record(spec, { "RECORDS" }), given = 0, looked = {},
      cuts = {}, total = 0,
      unwinder = how and copied > 0 and objects.unwinder(nil, how == sampler.POINTERS) or nil,
      values = values, size = spec.buffer, cpus = spec.cpus and #spec.cpus }, sampler)
   local least = HEADER + self:largest()
   if self.size and self.size < least then
      local text = "a buffer of %s is too small: it takes at least %d bytes"
      error(text:format(render.plural(self.size, "byte"), least), 0)
   end
   self.records = self.records and not (self.size and self.size < HEADER + self:largest(true))
   self.switches = spec.off_cpu and self.records and can_record(spec, { "RECORDS", "SWITCHES" })
   return self
end

-- --- the buffer ----------------------------------------------------------------------------------

--- Returns the bytes that a region must have at least.
-- @bool[opt] records with those of what programs do
-- @treturn int bytes
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):largest())
function sampler:largest(records)
   local frames = self.how and FRAMES or 1
   local sample = HEAD + VALUE * (self.values + frames) + (self.copied > 0 and VALUE * REGS + self.copied or 0)
   return records and 2 * (sample + RECORD) or sample
end

-- Returns the size of the next buffer: it is large if there are only a few buffers.
local function next_size(self)
   if self.size then return self.size end
   local large, small = LARGE[self.copies], SMALL[self.copies]
   if self.scarce then return small end
   local share = self.cpus and ALL / self.cpus or (ALL - self.given) / PART
   share = math.floor(share - share % 4096)
   return math.max(small, math.min(large, share))
end

-- Returns how many regions a buffer of this size is to have; nil if only a single one fits.
local function regions_for(self, size)
   for _, n in ipairs(REGIONS) do
      if (size - HEADER) / n - FILL >= self:largest(self.records) + VALUE then return n end
   end
end

--- Returns the arguments of `lpfm.create` for the next buffer.
-- @treturn table
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):create_args().format)
function sampler:create_args()
   local flags, size = {}, next_size(self)
   if not self.how then flags = { "NO_KERNEL", "NO_USER" } end
   if self.copied > 0 then flags[1] = "COPY" end
   if self.records then flags[#flags + 1] = "RECORDS" end
   if self.switches then flags[#flags + 1] = "SWITCHES" end
   return { format = "stack", buf_size = size, buf_flags = flags, regions = regions_for(self, size),
      max_frames = not self.how and 1 or nil, max_stack = self.copied > 0 and self.copied or nil }
end

--- Returns how many bytes of a stack come with each sample.
-- @treturn int or nil: none
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "dwarf,16384" }, 0):bytes()) --> 16384
function sampler:bytes()
   return self.copied > 0 and self.copied or nil
end

--- Says how call stacks were taken, and where they were cut.
-- @treturn table `how` they were taken, `why` so (words, or nil), `cuts`: samples, by where their
-- stacks were cut (of `stack_table:cuts`), `total` samples, `copied` bytes of a stack
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):outcome().how) --> "frame pointers"
function sampler:outcome()
   local cuts, total = self.table:cuts()
   for where, n in pairs(self.cuts) do cuts[where] = (cuts[where] or 0) + n end
   total = total + self.total
   return { how = self.how, why = self.why, cuts = next(cuts) and cuts, total = total, copied = self:bytes() }
end

--- Begins a new table of stacks.
-- @treturn table samples, by where their stacks were cut, of the table so far
-- @treturn int samples in all, of the table so far
-- @treturn function gives a stack of that table its number in the new one
-- @usage print(select(2, require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):divide())) --> 0
function sampler:divide()
   local outcome, before = self:outcome(), self.table
   self.cuts, self.total, self.table = outcome.cuts or {}, outcome.total, stored.stack_table()
   local cuts, total = before:cuts()
   return next(cuts) and cuts, total, function(number) return self.table:copy(before, number) end
end

--- Notes a new buffer, or the end of one.
-- @int size bytes, of `create_args`
-- @int sign 1, -1
-- @usage require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):note(65536, 1)
function sampler:note(size, sign)
   self.given = self.given + sign * size
end

--- Makes `create_args` ask for smaller buffers after a failure; returns false if it cannot.
-- @treturn boolean
-- @usage assert(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):shrink())
function sampler:shrink()
   if self.size or self.scarce then return false end
   self.scarce = true
   return true
end

-- --- samples -------------------------------------------------------------------------------------

--- Notes the mappings of a process that /proc shows. If there are records of mappings, only the
-- first look at a process counts.
-- @int pid
-- @tparam table maps of `symbols.parse_maps`
-- @int time ns, of the look
-- @usage require("pfm.measure.sample_buffers").new({ g = "dwarf" }, 0):maps(7, {}, 0)
function sampler:maps(pid, maps, time)
   local before = self.looked[pid]
   if not self.unwinder or (self.records and (before or self.unwinder:knows(pid))) then return end
   if before then self.unwinder:exec(pid, before) end
   self.unwinder:maps(pid, before or 0, maps)
   self.looked[pid] = time
end

local take = {}

function take.EXEC(self, r)
   self.unwinder:exec(r.pid, r.tstamp)
end

function take.FORK(self, r)
   if r.pid ~= r.ppid then self.unwinder:fork(r.pid, r.tstamp, r.ppid) end
end

function take.MAP(self, r)
   self.unwinder:maps(r.pid, r.tstamp, { { r.addr, r.addr + r.len, r.offset, r.path, r.build_id } })
end

--- Notes what a record says of mappings.
-- @tparam table r of `buffer:records`
-- @usage
-- local sampler = require("pfm.measure.sample_buffers").new({ g = "dwarf" }, 0)
-- sampler:record { kind = "MAP", pid = 7, tstamp = 0, addr = 4096, len = 4096, offset = 0, path = "/bin/prog" }
function sampler:record(r)
   if self.unwinder and take[r.kind] then take[r.kind](self, r) end
end

--- Takes samples out of a buffer, see `stack_table:samples`.
-- @tparam buffer buffer
-- @int[opt] from
-- @int[opt] set
-- @int[opt] ahead
-- @int[opt] stop
-- @usage local ctx = assert(lpfm.create { format = "stack" })
-- print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):samples(ctx:buffer()))
-- ctx:close()
function sampler:samples(buffer, from, set, ahead, stop)
   if not self.table then return stored.samples(buffer, from, set, ahead, stop) end
   return self.table:samples(buffer, from, set, self.unwinder, ahead, stop)
end

return sampler
