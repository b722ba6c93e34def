-- SPDX-License-Identifier: MIT
--- Many recordings as one: everything that reads a recording reads them as well.
--
-- Each recording keeps its own processes, stacks, symbols and registers. Stacks and the lives of
-- processes (`lives` of `lpfm.samples`) are numbered on from one recording to the next, so that a
-- sample's life says which recording it is of. Events of different names have different PMDs.
-- @module pfm.recording.together

local clocks = require "pfm.recording.clocks"
local expect = require "pfm.util.expect"
local layout = require "pfm.recording.layout"
local origin = require "pfm.recording.origin"
local joined_head = require "pfm.recording.joined_head"
local reader = require "pfm.recording.reader"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local together = {} -- also the class of joined recordings
together.__index = together

local LIFE = 2 ^ 32     -- the number of a process's n-th life is pid + n * LIFE
local LIVES = 2 ^ 21    -- n is below LIVES in all recordings together: numbers are below 2^53
local SHOWN = 5         -- recordings named in a warning

-- --- recordings as parts -------------------------------------------------------------------------

local function part_of(self, before, shift)
   local first = before and before.first + before.lives or 0
   local ran = self:programs()
   local part = { self = self, from = origin.of(self), shift = shift, first = first, lives = ran and ran:most() or 1,
      stacks = before and before.stacks + #before.self.stack_table or 0 }
   if first + part.lives > LIVES then expect.fail("%s are too many at once", render.plural(LIVES, "recording")) end
   return part
end

-- Appends a number to the name of each recording with a name that one before it has.
local function tell_apart(parts)
   local seen = {}
   for _, part in ipairs(parts) do
      local name = part.from.recording
      seen[name] = (seen[name] or 0) + 1
      if seen[name] > 1 then part.from.recording = ("%s (%d)"):format(name, seen[name]) end
   end
end

--- Returns the part that a life is of, and the life's number in the part.
-- @number life
-- @treturn table `self`, the recording; `from`, of `origin.of`
-- @treturn number
function together:part_at(life)
   local part = self.parts[tables.last_before(self.parts, "first", math.floor(life / LIFE))]
   return part, life - part.first * LIFE
end

-- --- stacks --------------------------------------------------------------------------------------

local stack_table = {}
stack_table.__index = stack_table

local function stack_at(self, number)
   local part = self.parts[tables.last_before(self.parts, "stacks", number - 1)]
   return part.self.stack_table, number - part.stacks
end

function stack_table:calls(number, ip)
   if number == 0 then return { ip } end
   local own, at = stack_at(self, number)
   return own:calls(at, ip)
end

function stack_table:frames(number)
   if number == 0 then return {} end
   local own, at = stack_at(self, number)
   return own:frames(at)
end

function stack_table:cut(number)
   if number == 0 then return nil end
   local own, at = stack_at(self, number)
   return own:cut(at)
end

-- --- objects -------------------------------------------------------------------------------------

local function short(id)
   return (" [%s]"):format(id:sub(1, 8))
end

-- Returns the objects by path, also by path and short build id if a path has several builds.
local function objects_of(parts)
   local builds, out, several = {}, {}, {}
   for _, part in ipairs(parts) do
      for path, o in pairs(part.self.objects) do
         several[path] = several[path] or (builds[path] and o.build_id and builds[path] ~= o.build_id)
         builds[path] = builds[path] or o.build_id
         out[path] = out[path] or o
      end
   end
   for _, part in ipairs(parts) do
      for path, o in pairs(part.self.objects) do
         if several[path] and o.build_id then out[path .. short(o.build_id)] = o end
      end
   end
   return out, several
end

-- --- making one of many recordings ---------------------------------------------------------------

-- Returns what is added to the times of each recording; 0 for a single one.
local function shifts_in(self)
   local out = { [self] = 0 }
   for _, part in ipairs(self.parts or {}) do out[part.self] = part.shift end
   return out
end

--- See `pfm.recording.together`.
-- @tparam {recording,...} list
-- @tparam[opt] table options `path` and `damage` of the recordings' file; `within`: the joined
-- recordings from which these were chosen: their times stay as they are there
function together.new(list, options)
   options = options or {}
   local within = options.within
   local shifts, note
   if within then shifts, note = shifts_in(within), within.clock_note else shifts, note = clocks.align(list) end
   local self = setmetatable({ path = options.path or render.plural(#list, "recording"), sources = list, parts = {},
      damage = options.damage or {}, within = within, clock_note = note, comms = {}, maps = {}, names = {},
      records = {} }, together)
   for i, source in ipairs(list) do self.parts[i] = part_of(source, self.parts[i - 1], shifts[source]) end
   tell_apart(self.parts)
   self.head, self.ends = joined_head.of(self.parts, within and within.head)
   self.stack_table = setmetatable({ parts = self.parts }, stack_table)
   self.objects, self.several = objects_of(self.parts)
   for _, source in ipairs(list) do self.symbols = self.symbols or source.symbols end
   return self
end

--- Returns the recordings that a filter chooses; its tests of single samples are not applied.
-- @tparam table self
-- @tparam[opt] table filter of `origin.tests`
-- @treturn recording self, where the filter does not choose among recordings
-- @treturn {table,...} the tests, of `origin.tests`
function together.choose(self, filter)
   local list, tests = {}, origin.tests(filter)
   if #tests == 0 then return self, tests end
   for _, source in ipairs(self.sources or { self }) do
      if origin.matches(tests, origin.of(source)) then list[#list + 1] = source end
   end
   return together.new(list, { path = self.path, damage = self.damage, within = self }), tests
end

--- Returns true if the samples have call stacks.
function together:has_stacks()
   return self.head.stacks ~= nil
end

--- Returns nil: each recording has programs of its own.
function together.programs()
   return nil
end

local function of_each(self)
   expect.fail("the %s have blocks of their own: for _, s in ipairs(recorded.sources) do", render.plural(#self.sources,
      "recording"))
end

--- Raises an error: each recording has blocks and registers of its own.
together.each_block, together.sizes = of_each, of_each

-- --- columns of group_by -------------------------------------------------------------------------

-- Translates a column of `group_by` on all recordings to one of a part; nil if the part lacks it.
local function column_of(part, column)
   if column == "tstamp" then return { "tstamp", shift = part.shift } end
   if type(column) == "number" then return part.with[column] end
   if type(column) ~= "table" then return column end
   local out = { unpack(column) }
   for name, value in pairs(column) do out[name] = value end
   if out[1] == "tstamp" then out.shift = part.shift end
   if type(out[1]) == "number" then out[1] = part.with[out[1]] end
   if out.delta == "tid" or out.delta == "cpu" then out.delta = part.self.head.cpus and "cpu" or "tid" end
   return out[1] and out or nil
end

local function columns_of(part, columns)
   local out = {}
   for i, column in ipairs(columns or {}) do
      out[i] = column_of(part, column)
      if not out[i] then return nil end
   end
   return out
end

-- Returns the keys for a part; if it has no stacks, without STACK, and with STACK's place.
local function keys_of(part, keys)
   local out, stack = {}, nil
   for i, key in ipairs(keys or {}) do
      if key == layout.STACK and not part.self:has_stacks() then stack = i else out[#out + 1] = key end
   end
   return columns_of(part, out), stack
end

-- Returns the sums that a part can make, and the place of each among `sums`. The part's other sums
-- are not known.
local function sums_of(part, sums)
   local out, places = {}, {}
   for i, sum in ipairs(sums or {}) do
      local own = column_of(part, sum)
      if own then out[#out + 1], places[#out + 1] = own, i end
   end
   return out, places
end

-- Returns the tests for a part, with its PMDs and sets of events; nil if the part lacks a column.
local function tests_of(part, where)
   local out = {}
   for _, test in ipairs(where or {}) do
      if test[1] == "ovfl_pmd" then
         local event = part.own[test[2]]
         if not event then return nil end
         out[#out + 1] = { "ovfl_pmd", event.pmd }
         if event.set then out[#out + 1] = { "set", event.set } end
      else
         local column = column_of(part, test[1])
         if not column then return nil end
         out[#out + 1] = { column, test[2], test[3] }
      end
   end
   return out
end

-- Returns the options of `group_by` for a part, STACK's place if it was left out, and the places of
-- sums; nil if no sample of the part can match.
local function question_of(part, options)
   local keys, stack = keys_of(part, options.keys)
   local pair, where = columns_of(part, options.pair), tests_of(part, options.where)
   if not (keys and pair and where) then return nil end
   local sums, places = sums_of(part, options.sums)
   return { keys = #keys > 0 and keys or nil, pair = #pair > 0 and pair or nil, where = where, sums = sums },
      stack, places
end

-- --- counting ------------------------------------------------------------------------------------

local function place_of(keys, name)
   for i, key in ipairs(keys) do
      if key == name or type(key) == "table" and key[1] == name then return i end
   end
end

-- Returns the common number of a part's stack; 0 if the number is out of range in a damaged file.
local function own_stack(part, number)
   number = tonumber(number) or 0
   return number > 0 and number <= #part.self.stack_table and number + part.stacks or 0
end

local UNKNOWN = 0 / 0 -- NaN: every sum with it is NaN, too

-- Returns a function that translates a row of a part to the numbers of all recordings.
local function translator(part, options, stack, places)
   local keys = options.keys or {}
   local n, pid, pmd, set = #keys, place_of(keys, "pid"), place_of(keys, "ovfl_pmd"), place_of(keys, "set")
   local number = place_of(keys, layout.STACK)
   return function(row)
      if stack then table.insert(row, stack, 0) end
      if pid then row[pid] = row[pid] + part.first * LIFE end
      if number then row[number] = own_stack(part, row[number]) end
      local event = pmd and part.events[layout.place(row[pmd], set and row[set])]
      if event then
         row[pmd] = event.number
         row[n + 2] = event.period and row[n + 1] * event.period or row[n + 2]
      end
      local sums = { unpack(row, n + 3) }
      for i = 1, #(options.sums or {}) do row[n + 2 + i] = UNKNOWN end
      for i, at in ipairs(places) do row[n + 2 + at] = sums[i] end
      return row
   end
end

local groups = {}
groups.__index = groups

-- Iterates over groups part by part: only one part's groups are in memory.
local function each_row(self)
   local i, rows, translate = 0, nil, nil
   return function()
      while true do
         local row = rows and { rows() }
         if row and row[1] ~= nil then return translate(row) end
         i = i + 1
         local part = self.parts[i]
         if not part then return nil end
         local question, stack, places = question_of(part, self.options)
         rows = nil
         if question then
            local own, cut = part.self:group_by(question)
            rows, translate = own:rows(), translator(part, self.options, stack, places)
            self.missing = self.missing + cut
         end
      end
   end
end

-- Adds up the rows with equal keys, which several parts can have.
local function joined_rows(self)
   local by_id, out, n, i = {}, {}, #self.options.keys, 0
   for row in each_row(self) do
      local id = {}
      for k = 1, n do id[k] = tostring(row[k]) end
      id = table.concat(id, " ")
      local known = by_id[id]
      if known then
         for k = n + 1, #row do known[k] = known[k] + row[k] end
      else
         by_id[id], out[#out + 1] = row, row
      end
   end
   return function()
      i = i + 1
      return out[i]
   end
end

--- See `rows` of the counters of `lpfm.samples`.
function groups:rows()
   self.missing = 0
   local rows = place_of(self.options.keys or {}, "pid") and each_row(self) or joined_rows(self)
   return function()
      local row = rows()
      if row then return unpack(row) end
   end
end

--- Returns how many samples damaged blocks lacked, once `rows` has been iterated over.
function groups:cut()
   return self.missing
end

-- Joins sums of squares about means (Chan, Golub and LeVeque).
local function join_moments(a, b)
   if b.n == 0 then return a end
   if a.n == 0 then return b end
   local n, dx, dy = a.n + b.n, b.mean_x - a.mean_x, b.mean_y - a.mean_y
   local f = a.n * b.n / n
   return { n = n, mean_x = a.mean_x + dx * b.n / n, mean_y = a.mean_y + dy * b.n / n, xx = a.xx + b.xx + dx * dx * f,
      yy = a.yy + b.yy + dy * dy * f, xy = a.xy + b.xy + dx * dy * f, min_x = math.min(a.min_x, b.min_x),
      max_x = math.max(a.max_x, b.max_x) }
end

--- See `moments` of the counters of `lpfm.samples`.
function groups:moments()
   local out = { n = 0, mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0, min_x = 0, max_x = 0 }
   for _, part in ipairs(self.parts) do
      local question = question_of(part, { pair = self.options.pair, where = self.options.where })
      if question then out = join_moments(out, (part.self:group_by(question)):moments()) end
   end
   return out
end

--- Counts all samples as `recording:group_by` does; `groups:cut` returns the missing samples.
function together:group_by(options)
   return setmetatable({ parts = self.parts, options = options, missing = 0 }, groups)
end

-- --- resolving addresses -------------------------------------------------------------------------

local resolver = {}
resolver.__index = resolver

-- Returns the known places in a build of an object; nil if the build is not known.
local function places_in(self, where)
   local value = where.own and where.handle and where.handle.value
   if not (value and value.build_id and value.path == where.object) then return nil end
   local id = value.build_id .. " " .. value.path
   self.known[id] = self.known[id] or {}
   return self.known[id]
end

-- Returns one table for all equal places in a build of an object, wherever processes mapped it.
local function common_place(self, where)
   local places = places_in(self, where)
   if not places then return where end
   local found = places[where.own]
   if not found then
      found = {}
      for name, value in pairs(where) do found[name] = value end
      found.address = where.own
      if self.of.several[where.object] then
         found.path, found.object = where.object, where.object .. short(where.handle.value.build_id)
      end
      places[where.own] = found
   end
   return found
end

-- Changes to a part's resolver. The last part's results are forgotten: they take much memory.
local function turn_to(self, part)
   if self.part and self.part ~= part then self.part.resolver:forget() end
   part.resolver, self.part = part.resolver or self.make(part.self), part
   return part.resolver
end

--- See `resolver:resolve` of `pfm.symbols`.
function resolver:resolve(life, address)
   local part, own = self.of:part_at(life)
   return common_place(self, turn_to(self, part):resolve(own, address))
end

--- Makes a resolver for the samples of all recordings.
-- @tparam function make `embedded_symbols.resolver`
-- @treturn resolver see `pfm.symbols`
function together:resolver_by(make)
   return setmetatable({ of = self, make = make, known = {} }, resolver)
end

-- --- warnings ------------------------------------------------------------------------------------

local function which(names)
   if #names <= SHOWN then return table.concat(names, ", ") end
   return ("%s and %d more"):format(table.concat(names, ", ", 1, SHOWN), #names - SHOWN)
end

-- Returns the warnings of all parts. Those that differ in numbers only are one row: `text` is the
-- first, `names` are its recordings, and `differ` says whether the numbers differ.
local function said_of(parts)
   local out, by_words = {}, {}
   for _, part in ipairs(parts) do
      for _, text in ipairs(part.self:warnings()) do
         local words = text:gsub("[%d.,]+", "0")
         local said = by_words[words] or tables.enter(by_words, words, { text = text, names = {} }, out)
         said.names[#said.names + 1], said.differ = part.from.recording, said.differ or text ~= said.text
      end
   end
   return out
end

local function sentence(said)
   if not said.differ then return ("%s: %s"):format(which(said.names), said.text) end
   local first = table.remove(said.names, 1)
   return ("%s: %s; with other numbers: %s"):format(first, said.text, which(said.names))
end

--- Returns the warnings of all recordings: see `recording:warnings`.
function together:warnings()
   local out = {}
   for _, d in ipairs(self.damage) do
      local text = d.what == "cut" and "the file is cut off: recordings may be missing" or d.at and reader.words(d)
         or d.what
      out[#out + 1] = d.path and ("%s: %s"):format(render.printable(d.path), text) or text
   end
   for _, said in ipairs(said_of(self.parts)) do out[#out + 1] = sentence(said) end
   out[#out + 1] = self.clock_note
   return out
end

expect.methods("recording", together, { group_by = "options: table|string", has_stacks = "", warnings = "" })

return together
