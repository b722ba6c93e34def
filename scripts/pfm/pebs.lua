-- SPDX-License-Identifier: MIT
--- Samples that the processor writes itself (PEBS): contexts of the formats "pebs", "pebs-32" and
-- "pebs-nehalem", and their records. The layouts are in `perfmon_pebs_smpl.h`. The simulated models
-- em64t, core2, nehalem and netburst write such records; on the machine perf, events with `:pp` are
-- precise in any format (`pfm.events`).
-- @module pfm.pebs

local lpfm = require "lpfm"
local expect = require "pfm.util.expect"

local pebs = {}

-- offsets: pebs_buffer_base, pebs_index, hdr_record_size
local HEADER = { base = 32, index = 40, size = 100 }

-- Fields of records, in order: NARROW for pebs-32, WIDE for pebs-nehalem; pebs has the first 18 of
-- WIDE.
local NARROW = { "flags", "ip", "ax", "bx", "cx", "dx", "si", "di", "bp", "sp" }
local WIDE = { "flags", "ip", "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13",
   "r14", "r15", "status", "data_addr", "data_source", "latency" }

local function little_endian(value, bytes)
   local text, left = {}, lpfm.u64(value)
   for i = 1, bytes do
      text[i] = string.char(tonumber(tostring(left % 256)))
      left = left / 256
   end
   return table.concat(text)
end

--- Makes the argument of a format, for `format_arg` of `lpfm.create`.
-- @tparam table spec
-- @tparam {number,...} spec.periods by counter, from 0: after how many events a record is written.
-- The counters' values and long_reset should be minus that
-- @int[opt=65536] spec.buf_size bytes of the buffer
-- @int[opt] spec.threshold records after which there is a notification, by default when the buffer
-- is full
-- @treturn string its bytes
-- @usage
-- local pebs = require "pfm.pebs"
-- assert(#pebs.argument { periods = { [0] = 1000 } } == 64)
function pebs.argument(spec)
   expect.kind("periods", expect.kind("pebs.argument", spec, "table").periods, "table")
   local words = { expect.whole("buf_size", spec.buf_size) or 65536, expect.whole("threshold", spec.threshold, 0) or 0 }
   for counter = 0, 3 do
      words[#words + 1] = -(expect.whole(("periods[%d]"):format(counter), spec.periods[counter], 0) or 0)
   end
   words[7], words[8] = 0, 0
   for i, word in ipairs(words) do words[i] = little_endian(word, 8) end
   return table.concat(words)
end

--- Goes through the records of a buffer, in the order in which they were written.
-- @tparam buffer buffer of a context with one of the formats
-- @treturn function an iterator: a table for each, with `ip` and the other fields: ax ... r15,
-- flags; of pebs-nehalem also status, data_addr, data_source, latency
-- @usage
-- local lpfm, pebs = require "lpfm", require "pfm.pebs"
-- local before = lpfm.machine().name
-- lpfm.machine "sim:core2"
-- local ctx = assert(lpfm.create { format = "pebs", format_arg = pebs.argument { periods = { [0] = 1000 } } })
-- for record in pebs.records(ctx:buffer()) do print(("%#x"):format(record.ip)) end
-- ctx:close()
-- lpfm.machine(before)
function pebs.records(buffer)
   local at, last = buffer:get("u64", HEADER.base), buffer:get("u64", HEADER.index)
   local size = buffer:get("u32", HEADER.size)
   local fields = size == 4 * #NARROW and NARROW or WIDE
   local width = fields == NARROW and 4 or 8
   return function()
      if at >= last then return end
      local record = {}
      for i = 1, size / width do record[fields[i]] = buffer:get("u" .. 8 * width, at + (i - 1) * width) end
      at = at + size
      return record
   end
end

expect.signatures("pebs", pebs, {
   records = "buffer: {get}",
})

return pebs
