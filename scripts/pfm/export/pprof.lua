-- SPDX-License-Identifier: MIT
--- pprof's profile.proto, gzipped: for `go tool pprof` and the many others that read it.
--
-- A sample has its call stack, or else its place, with the functions inlined there. Its labels are
-- process and thread (-tagroot=process,thread makes frames of them).
-- @module pfm.export.pprof

local render = require "pfm.render"
local pb = require "pfm.export.protobuf"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local pprof = { summary = "for pprof: profile.proto, gzipped", extensions = { "pb.gz", "pprof" }, binary = true,
   filter = "gzip -nc", program = "gzip" }

-- Numbers of the messages' fields in profile.proto.
local PROFILE = { sample_type = 1, sample = 2, mapping = 3, location = 4, func = 5, string_table = 6, time_nanos = 9,
   duration_nanos = 10, period_type = 11, period = 12, comment = 13, default_sample_type = 14 }
local VALUE_TYPE = { type = 1, unit = 2 }
local SAMPLE = { location_id = 1, value = 2, label = 3 }
local LABEL = { key = 1, str = 2, num = 3 }
local MAPPING = { id = 1, start = 2, limit = 3, filename = 5, build_id = 6, has_functions = 7, has_filenames = 8,
   has_line_numbers = 9, has_inline_frames = 10 }
local LOCATION = { id = 1, mapping_id = 2, address = 3, line = 4 }
local LINE = { function_id = 1, line = 2 }
local FUNCTION = { id = 1, name = 2, system_name = 3, filename = 4 }

local PAGE = 4096

-- --- tables: each thing once, under a number -----------------------------------------------------

local function new_table(first)
   return { list = {}, numbers = {}, first = first }
end

-- Returns the number that belongs to an id; make() makes what a new id stands for.
local function number_of(t, id, make)
   local n = t.numbers[id]
   if not n then
      n = #t.list + t.first
      t.numbers[id], t.list[#t.list + 1] = n, make(n)
   end
   return n
end

local function text(p, s)
   s = render.printable(s)
   return number_of(p.strings, s, function() return s end)
end

local function function_of(p, frame)
   local file = frame.file or ""
   return number_of(p.functions, frame.name .. "\0" .. file, function(id)
      local name = text(p, frame.name)
      return pb.number(FUNCTION.id, id) .. pb.number(FUNCTION.name, name) .. pb.number(FUNCTION.system_name, name)
         .. pb.number(FUNCTION.filename, text(p, file))
   end)
end

-- Returns the object with the most samples; readers take the first object for the program.
local function main_object(rows)
   local counts, best = {}, nil
   for _, row in ipairs(rows) do
      local path = row.places[1].object
      counts[path] = (counts[path] or 0) + row.samples
      if path:sub(1, 1) == "/" and (not best or counts[path] > counts[best]) then best = path end
   end
   return best
end

-- Returns the number of the object that a place lies in; the object's range grows with the places.
local function mapping_of(p, where, address)
   local id = number_of(p.mappings, where.object, function(n)
      return { id = n, path = where.object, low = address, high = address }
   end)
   local m = p.mappings.list[id]
   m.low, m.high = math.min(m.low, address), math.max(m.high, address)
   m.named = m.named or not where.missing
   return id
end

local function lines_of(p, where, options)
   local out, frames = {}, symbols.frames(where)
   for i = options.inlined == false and #frames or 1, #frames do
      out[#out + 1] = pb.bytes(LOCATION.line, pb.number(LINE.function_id, function_of(p, frames[i]))
         .. pb.number(LINE.line, frames[i].line))
   end
   return table.concat(out)
end

local function location_of(p, where, options)
   local address = where.own or where.offset
   local id = table.concat({ where.object, where.func, symbols.hex(address) }, "\0")
   return number_of(p.locations, id, function(n)
      return pb.number(LOCATION.id, n) .. pb.number(LOCATION.mapping_id, mapping_of(p, where, address))
         .. pb.number(LOCATION.address, address) .. lines_of(p, where, options)
   end)
end

-- --- messages ------------------------------------------------------------------------------------

local function unit_of(event)
   return event.unit == "ns" and "nanoseconds" or "count"
end

local function value_type(p, name, unit)
   return pb.number(VALUE_TYPE.type, text(p, name)) .. pb.number(VALUE_TYPE.unit, text(p, unit))
end

local function value_types(p, events)
   local out = {}
   for _, e in ipairs(events) do
      local name = #events > 1 and e.name .. " samples" or "samples"
      out[#out + 1] = pb.bytes(PROFILE.sample_type, value_type(p, name, "count"))
      out[#out + 1] = pb.bytes(PROFILE.sample_type, value_type(p, e.name, unit_of(e)))
   end
   return table.concat(out)
end

local function label(p, name, value)
   local number = type(value) == "number"
   return pb.bytes(SAMPLE.label, pb.number(LABEL.key, text(p, name))
      .. pb.number(number and LABEL.num or LABEL.str, number and value or text(p, value)))
end

local function labels_of(self, p, row)
   return label(p, "process", samples.process(self, row.life)) .. label(p, "pid", row.pid)
      .. label(p, "thread", samples.comm(self, row.thread, row.life)) .. label(p, "tid", row.tid)
end

-- Returns two values per event: samples, and what they stand for.
local function values_of(row, events)
   local out = {}
   for i, e in ipairs(events) do
      out[2 * i - 1] = e == row.event and row.samples or 0
      out[2 * i] = e == row.event and row.events or 0
   end
   return out
end

local function sample(self, p, row, events, options)
   local locations = {}
   for i, where in ipairs(row.places) do locations[i] = location_of(p, where, options) end
   return pb.bytes(PROFILE.sample, pb.packed(SAMPLE.location_id, locations)
      .. pb.packed(SAMPLE.value, values_of(row, events)) .. labels_of(self, p, row))
end

local function mapping(self, p, m)
   local object = self.objects[m.path]
   local start = math.floor(m.low / PAGE) * PAGE
   return pb.bytes(PROFILE.mapping, pb.number(MAPPING.id, m.id) .. pb.number(MAPPING.start, start)
      .. pb.number(MAPPING.limit, math.floor(m.high / PAGE) * PAGE + PAGE)
      .. pb.number(MAPPING.filename, text(p, m.path))
      .. pb.number(MAPPING.build_id, object and object.build_id and text(p, object.build_id))
      .. pb.number(MAPPING.has_functions, m.named) .. pb.number(MAPPING.has_filenames, m.named)
      .. pb.number(MAPPING.has_line_numbers, m.named) .. pb.number(MAPPING.has_inline_frames, m.named))
end

local function wrapped(field, list)
   local out = {}
   for i, body in ipairs(list) do out[i] = pb.bytes(field, body) end
   return table.concat(out)
end

local function times(self, p, event)
   local ends = self.ends or {}
   return pb.number(PROFILE.time_nanos, self.head.time and self.head.time * 1e9)
      .. pb.number(PROFILE.duration_nanos, ends.elapsed and math.floor(ends.elapsed * 1e9))
      .. pb.bytes(PROFILE.period_type, value_type(p, event.name, unit_of(event)))
      .. pb.number(PROFILE.period, event.period and math.floor(event.period))
      .. pb.number(PROFILE.comment, text(p, self.head.what or ""))
      .. pb.number(PROFILE.default_sample_type, text(p, event.name))
end

-- Moves a row of an object to the front: objects are numbered in the order of rows.
local function put_first(rows, path)
   for i, row in ipairs(rows) do
      if row.places[1].object == path then
         table.insert(rows, 1, table.remove(rows, i))
         return
      end
   end
end

--- Returns the message, not gzipped.
-- @tparam table self of `recording.open`
-- @tparam[opt] table options `event` (a name; default: all), `inlined=false`
-- @treturn string
function pprof.encode(self, options)
   options = options or {}
   local p = { strings = new_table(0), functions = new_table(1), mappings = new_table(1), locations = new_table(1) }
   text(p, "")
   local events = options.event and { stacks.event(self, options.event) } or self.head.events
   local wanted, out = {}, { value_types(p, events) }
   for _, e in ipairs(events) do wanted[e] = true end
   local rows = stacks.rows(self)
   put_first(rows, main_object(rows))
   for _, row in ipairs(rows) do
      if wanted[row.event] then out[#out + 1] = sample(self, p, row, events, options) end
   end
   for _, m in ipairs(p.mappings.list) do out[#out + 1] = mapping(self, p, m) end
   out[#out + 1] = wrapped(PROFILE.location, p.locations.list)
   out[#out + 1] = wrapped(PROFILE.func, p.functions.list)
   out[#out + 1] = times(self, p, events[1])
   out[#out + 1] = wrapped(PROFILE.string_table, p.strings.list)
   return table.concat(out)
end

--- Writes the message; the command gzips it on its way.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options of `pprof.encode`
function pprof.write(self, out, options)
   out:write(pprof.encode(self, options))
end

return pprof
