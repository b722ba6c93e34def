-- SPDX-License-Identifier: MIT
--- Sampling buffers like OProfile's: contexts of the format "oprofile", a ring of words for each
-- CPU, and what is in them. The layout is in `perfmon_oprofile_smpl.h`.
-- @module pfm.oprofile.oprofile

local lpfm = require "lpfm"
local expect = require "pfm.util.expect"

local oprofile = {}

local HEADER = { num_cpus = 4, offs = 16, words = 24, stray = 40, cpus = 64 }
local CPU = { size = 48, head = 0, tail = 8, told = 16, lost = 24 }
local ESCAPE = lpfm.u64 "0xffffffffffffffff"

local function little_endian(value, bytes)
   local text = {}
   for i = 1, bytes do
      text[i] = string.char(value % 256)
      value = math.floor(value / 256)
   end
   return table.concat(text)
end

--- Makes the argument of the format, for `format_arg` of `lpfm.create`.
-- @tparam table spec
-- @int[opt=1] spec.cpus how many CPUs are sampled, from CPU 0 on
-- @int[opt=65536] spec.buf_size bytes of the buffer, which all share
-- @int[opt] spec.watermark words of a CPU at which there is a notification; by default half of its
-- ring
-- @treturn string its bytes
-- @usage assert(#require("pfm.oprofile.oprofile").argument { cpus = 4 } == 64)
function oprofile.argument(spec)
   local function bytes_of(field, size, default)
      return little_endian(expect.whole(field, spec[field], 0, 2 ^ math.min(8 * size, 53) - 1) or default, size)
   end
   return bytes_of("buf_size", 8, 65536) .. bytes_of("cpus", 4, 1) .. bytes_of("watermark", 4, 0) .. ("\0"):rep(48)
end

-- What the escapes say, each by its code: how many words follow, and what they change.
local CHANGES = {
   [1] = { 2, function(now, tid) now.tid = tid end },
   [2] = { 1, function(now, cpu) now.cpu = cpu end },
   [4] = { 0, function(now) now.kernel = true end },
   [5] = { 0, function(now) now.kernel = false end },
   [7] = { 1, function(now, pid) now.pid = pid end },
}

local function read_cpu(buffer, cpu, list)
   local words, at = buffer:get("u64", HEADER.words), HEADER.cpus + cpu * CPU.size
   local n, head = buffer:get("u64", at + CPU.tail), buffer:get("u64", at + CPU.head)
   local told = buffer:get("u64", at + CPU.told)
   local last, now = told > n and told or head, {}
   local first = buffer:get("u64", HEADER.offs) + cpu * words * 8
   local function next_word()
      n = n + 1
      return buffer:get("u64", first + (n - 1) % words * 8)
   end
   while n < last do
      local word = next_word()
      if lpfm.u64(word) == ESCAPE then
         local change = CHANGES[next_word()]
         local value = change[1] > 0 and next_word() or nil
         for _ = 2, change[1] do next_word() end
         change[2](now, value)
      else
         list[#list + 1] = { cpu = now.cpu, tid = now.tid, pid = now.pid, kernel = now.kernel, ip = word,
            ovfl_pmd = next_word() }
      end
   end
end

--- Returns the samples that wait in a buffer, by CPU: those of the last notification, if there was
-- one since the last restart, else all.
-- @tparam buffer buffer of a context with the format
-- @treturn {table,...} each with cpu, tid, pid, ip, ovfl_pmd, and kernel: whether ip is the
-- kernel's
-- @usage
-- local lpfm, oprofile = require "lpfm", require "pfm.oprofile.oprofile"
-- local ctx = assert(lpfm.create { format = "oprofile", format_arg = oprofile.argument {} })
-- for _, sample in ipairs(oprofile.samples(ctx:buffer())) do print(sample.tid, ("%#x"):format(sample.ip)) end
-- ctx:close()
function oprofile.samples(buffer)
   local list = {}
   for cpu = 0, buffer:get("u32", HEADER.num_cpus) - 1 do read_cpu(buffer, cpu, list) end
   return list
end

--- Says how many samples were lost: they did not fit, or were of CPUs that have no buffer.
-- @tparam buffer buffer of a context with the format
-- @treturn int
-- @usage
-- local lpfm, oprofile = require "lpfm", require "pfm.oprofile.oprofile"
-- local ctx = assert(lpfm.create { format = "oprofile", format_arg = oprofile.argument {} })
-- assert(oprofile.lost(ctx:buffer()) == 0)
-- ctx:close()
function oprofile.lost(buffer)
   local lost = buffer:get("u64", HEADER.stray)
   for cpu = 0, buffer:get("u32", HEADER.num_cpus) - 1 do
      lost = lost + buffer:get("u64", HEADER.cpus + cpu * CPU.size + CPU.lost)
   end
   return lost
end

expect.signatures("oprofile", oprofile, {
   argument = "spec: table",
   samples = "buffer: {get}",
   lost = "buffer: {get}",
})

return oprofile
