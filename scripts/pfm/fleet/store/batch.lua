-- SPDX-License-Identifier: MIT
--- Recordings as rows of the tables that both databases have: samples that are equal but for their
-- time, CPU and thread are one row; where they lie, and their call stacks, have rows of their own,
-- which all recordings share.
-- @module pfm.fleet.store.batch

local client = require "pfm.fleet.store.client"
local origin = require "pfm.recording.origin"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"
local tables = require "pfm.fleet.store.tables"

local batch = {}
batch.__index = batch

--- Makes a batch without recordings.
-- @tparam table known the numbers of places and stacks that earlier batches gave to the database
-- @tparam function list the database's function that writes a list of numbers as a cell
-- @treturn table `recordings`, `places`, `stacks`, `samples`: lines of these tables; `known_by`:
-- for each line of `samples`, its recording's attributes
function batch.new(known, list)
   return setmetatable({ known = known, list = list, fresh = {}, recordings = {}, places = {}, stacks = {},
      samples = {}, known_by = {} }, batch)
end

-- --- places and stacks ---------------------------------------------------------------------------

-- Returns the number of a row, which is added where it is new.
local function number_of(self, lines, prefix, cells)
   local key = prefix .. table.concat(cells, "\0")
   local number = self.known[key] or self.fresh[key]
   if not number then
      number = client.hash(key)
      self.fresh[key] = number
      lines[#lines + 1] = client.line { number, unpack(cells) }
   end
   return number
end

local function place_number(self, kind, symbol, object, build, line)
   return number_of(self, self.places, "place\0", { kind, symbol, object, build, line })
end

local function build_of(recording, path)
   local known = recording.objects[path] or recording.symbols and recording.symbols[path]
   return known and tostring(known.build_id or "") or ""
end

-- Returns the frames of a place: the functions that are inlined there, then its function.
local function frames_at(self, recording, where)
   local out = {}
   local object, build = render.printable(stacks.base_name(where.object)), build_of(recording, where.object)
   local frames = symbols.frames(where)
   for i, frame in ipairs(frames) do
      local last, name = i == #frames, render.printable(frame.name)
      local file, line = frame.file, frame.line
      if last then file, line = symbols.line(where) end
      out[i] = place_number(self, last and "function" or "inlined", name, object, build,
         render.printable(file and ("%s:%d"):format(stacks.base_name(file), line or 0) or name))
   end
   return out
end

-- Returns the numbers of a sample's place and stack. Frames are innermost first; in a recording
-- without call stacks, the object is the last. `cache` has frames by place.
local function stack_of(self, recording, places, cache)
   local frames, own = {}, nil
   for i, where in ipairs(places) do
      local there = cache[where] or frames_at(self, recording, where)
      cache[where] = there
      for _, number in ipairs(there) do frames[#frames + 1] = number end
      if i == 1 then own = there[#there] end
   end
   if not recording:has_stacks() then
      local object = render.printable(stacks.base_name(places[1].object))
      frames[#frames + 1] = place_number(self, "object", object, object, build_of(recording, places[1].object), object)
   end
   return own, number_of(self, self.stacks, "stack\0", { self.list(frames) })
end

-- --- recordings ----------------------------------------------------------------------------------

local function is_of_same_thread(a, b)
   return a and a.thread == b.thread and a.life == b.life and a.ovfl_pmd == b.ovfl_pmd and a.set == b.set
end

-- Returns the event, process and thread of a row, as cells of its line.
local function head_of(recording, row)
   local event = row.event and row.event.name or "PMD" .. row.ovfl_pmd
   return client.cells { event, samples.process(recording, row.life),
      samples.comm(recording, row.thread, row.life) }
end

-- Adds up the samples that have the same event, process, thread and call stack. Returns a row for
-- each of these: `head` is the event, process and thread as text; `place` and `stack` are numbers
-- in the database; `samples` and `events` are sums. Samples with equal stacks have equal places.
local function tally(self, recording)
   local by_head, out, cache, last, head = {}, {}, {}, nil, nil
   for _, row in ipairs(stacks.rows(recording)) do
      if not is_of_same_thread(last, row) then
         last, head = row, head_of(recording, row)
         by_head[head] = by_head[head] or {}
      end
      local place, stack = stack_of(self, recording, row.places, cache)
      local seen = by_head[head][stack]
      if not seen then
         seen = { head = head, place = place, stack = stack, samples = 0, events = 0 }
         by_head[head][stack], out[#out + 1] = seen, seen
      end
      seen.samples, seen.events = seen.samples + row.samples, seen.events + row.events
   end
   return out
end

local MOST_RANK = 2 ^ 31 - 1

local function rank_of(from)
   local rank = from.rank
   return rank and rank >= 0 and rank <= MOST_RANK and rank == math.floor(rank) and rank or tables.NO_RANK
end

-- Returns a recording's attributes, in the order of `tables.known`.
local function known_by(recording, given)
   local head, from = recording.head, origin.of(recording)
   local host = given.host or from.host
   local values = { time = math.floor(head.time or 0), host = host, version = given.version,
      command = given.command or render.printable(type(head.command) == "table" and table.concat(head.command, " ")
         or head.what), kernel = given.kernel or head.machine.kernel,
      arch = given.arch or head.machine.arch, job = given.job or from.job, rank = rank_of(from),
      node = from.node == from.host and host or from.node, step = from.step }
   local out = {}
   for i, column in ipairs(tables.known) do
      local value = values[column.name]
      out[i] = column.number and value or render.printable(tostring(value or ""))
   end
   return out
end

local LINE = "%s\t%s\t%s\t%s\t%.0f\t%.0f\n" -- of `tables.of.samples`

--- Adds a recording.
-- @tparam table recording of `recording.open`
-- @string id of its content
-- @string load number of this attempt
-- @tparam table given attributes that replace its own: `host`, `version`, `command`, `kernel`,
-- `arch`, `job`
function batch:add(recording, id, load, given)
   local rows, taken, ends = tally(self, recording), 0, recording.ends or {}
   local known = known_by(recording, given)
   local line = client.line(known)
   for _, row in ipairs(rows) do
      taken = taken + row.samples
      self.samples[#self.samples + 1] = LINE:format(load, row.head, row.place, row.stack, row.samples, row.events)
      self.known_by[#self.known_by + 1] = line
   end
   local cells = { id, load, unpack(known) }
   for _, cell in ipairs { stacks.base_name(recording.path), taken, (ends.lost or 0) + (ends.crowded or 0),
      recording:has_stacks() and 1 or 0 } do
      cells[#cells + 1] = cell
   end
   self.recordings[#self.recordings + 1] = client.line(cells)
   return taken
end

--- Notes that the database has the batch.
function batch:done()
   for key, number in pairs(self.fresh) do self.known[key] = number end
end

return batch
