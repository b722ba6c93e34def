-- SPDX-License-Identifier: MIT
--- The sampling buffers of a profile: of the format stack, in regions, so that nothing is lost while they are read;
-- with call stacks, by frame pointers or by unwinding copies of the stacks, and records of what programs do.
-- @module pfm.measure.sample_buffers

local lpfm = require "lpfm"
local host = require "pfm.measure.host"
local objects = require "lpfm.symbols"
local render = require "pfm.render"
local stored = require "lpfm.blocks"
local unistd = require "posix.unistd"

local stacks = {}
stacks.__index = stacks

local HEAD, VALUE = 64, 8      -- bytes: of a sample of the format stack, of a frame or value
local RECORD = 4400            -- and of the largest record of what a program did
local FRAMES, REGS = 127, 64   -- at most
local COPY = 8192              -- bytes of a stack
local HEADER, FILL = 128, 16   -- bytes of the buffer's header; of each region in it
local REGIONS = { 4, 2 }       -- wanted, as many as fit

-- Bytes of a buffer: where there are few, and at least. A second of fast sampling, or a fifth of one with copies.
local LARGE, SMALL = { [false] = 4 * 2 ^ 20, [true] = 16 * 2 ^ 20 }, { [false] = 2 ^ 19, [true] = 2 ^ 21 }
local ALL = 128 * 2 ^ 20       -- of all together, as far as they may be larger than that
local PART = 4                 -- of what is left of that one gets

--- How stacks are got, in words: `head.stacks` of a recording.
stacks.POINTERS, stacks.DWARF = "frame pointers", "DWARF"

-- --- the choice ----------------------------------------------------------------------------------

local function find_program(name)
   if name:find("/", 1, true) then return name end
   for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do
      if unistd.access(folder .. "/" .. name, "x") then return folder .. "/" .. name end
   end
end

-- The program that is to be sampled, as far as it is known beforehand; that of a shell's "exec ..." too.
local function program_of(spec)
   if spec.tids then return ("/proc/%d/exe"):format(spec.tids[1]) end
   local command = spec.command
   if not command then return nil end
   local word = command[2] == "-c" and command[3] and command[3]:match("^exec ([^%s'\"$]+)")
   return find_program(word or command[1])
end

local known = { fp = stacks.POINTERS, dwarf = stacks.DWARF }

-- How, and why that.
local function choose(spec)
   if not spec.g then return nil end
   if type(spec.g) == "string" then
      if not known[spec.g] then error(("call stacks: '%s' is neither fp nor dwarf"):format(spec.g), 0) end
      return known[spec.g]
   end
   local program = host.machine().name ~= "sim" and program_of(spec)
   if program and objects.frame_pointers(program) == false then
      return stacks.DWARF, ((unistd.readlink(program) or program):match("([^/]+)$")) .. " has no frame pointers"
   end
   return stacks.POINTERS
end

-- Does the machine tell what programs do? Of threads /proc knows it as well.
local function can_record(spec, flags)
   if spec.records == false or not (spec.g or spec.cpus or spec.inherit) then return false end
   local ctx = lpfm.create { format = "stack", buf_flags = flags }
   if ctx then ctx:close() end
   return ctx ~= nil
end

--- The buffers of a profile.
-- @tparam table spec of `profile.prepare`: `g` is "fp", "dwarf", or true, for what suits the program; nil: no stacks
-- @int values of a sample, at most
-- @treturn table `how`, `why` (words, or nil), `table` (see `lpfm.blocks`; nil: no stacks), `records` (are there any of
-- what programs do?), `switches` (with `spec.off_cpu`: of context switches, too?)
-- @raise where `spec.buffer` is too small
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0).how) --> "frame pointers"
function stacks.new(spec, values)
   local how, why = choose(spec)
   local self = setmetatable({ how = how, why = why, table = how and stored.stack_table(),
      copies = how == stacks.DWARF, records = can_record(spec, { "RECORDS" }), mapped = {}, unwinders = {}, given = 0,
      values = values, size = spec.buffer, cpus = spec.cpus and #spec.cpus }, stacks)
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

--- The least that a region must hold.
-- @bool[opt] records with those of what programs do
-- @treturn int bytes
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):largest())
function stacks:largest(records)
   local frames = self.how and FRAMES or 1
   local sample = HEAD + VALUE * (self.values + frames) + (self.copies and VALUE * REGS + COPY or 0)
   return records and 2 * (sample + RECORD) or sample
end

-- How large the next buffer is to be: those of a few threads or CPUs are large.
local function next_size(self)
   if self.size then return self.size end
   local large, small = LARGE[self.copies], SMALL[self.copies]
   if self.scarce then return small end
   local share = self.cpus and ALL / self.cpus or (ALL - self.given) / PART
   share = math.floor(share - share % 4096)
   return math.max(small, math.min(large, share))
end

-- Those that fit; nil: the buffer is one.
local function regions_for(self, size)
   for _, n in ipairs(REGIONS) do
      if (size - HEADER) / n - FILL >= self:largest(self.records) + VALUE then return n end
   end
end

--- The arguments of `lpfm.create` for the next buffer.
-- @treturn table
-- @usage print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):create_args().format)
function stacks:create_args()
   local flags, size = {}, next_size(self)
   if not self.how then flags = { "NO_KERNEL", "NO_USER" } end
   if self.copies then flags[1] = "COPY" end
   if self.records then flags[#flags + 1] = "RECORDS" end
   if self.switches then flags[#flags + 1] = "SWITCHES" end
   return { format = "stack", buf_size = size, buf_flags = flags, regions = regions_for(self, size),
      max_frames = not self.how and 1 or nil }
end

--- Notes that a buffer is there, or is no more.
-- @int size bytes, of `create_args`
-- @int sign 1, -1
-- @usage require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):note(65536, 1)
function stacks:note(size, sign)
   self.given = self.given + sign * size
end

--- A buffer could not be had: are smaller ones still to be tried? From now on `create_args` asks for those.
-- @treturn boolean
-- @usage assert(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):shrink())
function stacks:shrink()
   if self.size or self.scarce then return false end
   self.scarce = true
   return true
end

-- --- samples -------------------------------------------------------------------------------------

--- Notes the mappings of a process, by which its stacks are unwound from now on.
-- @int pid
-- @tparam table maps of `symbols.parse_maps`
-- @usage require("pfm.measure.sample_buffers").new({ g = "dwarf" }, 0):maps(7, {})
function stacks:maps(pid, maps)
   self.mapped[pid], self.unwinders[pid] = maps, nil
end

local take = {}

function take.EXEC(self, r)
   self:maps(r.pid, {})
end

function take.FORK(self, r)
   if r.pid ~= r.ppid then self:maps(r.pid, self.mapped[r.ppid] or {}) end
end

function take.MAP(self, r)
   local maps = { { r.addr, r.addr + r.len, r.offset, r.path } }
   for i, m in ipairs(self.mapped[r.pid] or {}) do maps[i + 1] = m end
   self:maps(r.pid, maps)
end

--- Notes what a record says of mappings.
-- @tparam table r of `buffer:records`
-- @usage
-- local stacks = require("pfm.measure.sample_buffers").new({ g = "dwarf" }, 0)
-- stacks:record { kind = "MAP", pid = 7, addr = 4096, len = 4096, offset = 0, path = "/bin/prog" }
function stacks:record(r)
   if self.copies and take[r.kind] then take[r.kind](self, r) end
end

local function unwinder_of(self, pid)
   local u = self.unwinders[pid]
   if not u and self.mapped[pid] then
      u = objects.unwinder(self.mapped[pid])
      self.unwinders[pid] = u
   end
   return u
end

--- Takes samples out of a buffer, see `stack_table:samples`.
-- @tparam buffer buffer
-- @int[opt] from
-- @int[opt] set
-- @int[opt] ahead
-- @usage local ctx = assert(lpfm.create { format = "stack" })
-- print(require("pfm.measure.sample_buffers").new({ g = "fp" }, 0):samples(ctx:buffer()))
-- ctx:close()
function stacks:samples(buffer, from, set, ahead)
   if not self.table then return stored.samples(buffer, from, set, ahead) end
   local unwind = self.copies and function(pid) return unwinder_of(self, pid) end or nil
   return self.table:samples(buffer, from, set, unwind, ahead)
end

return stacks
