-- SPDX-License-Identifier: MIT
--- The keys that sort and filter samples: one table for reports, figures, scripts and stores.
--
-- A key takes a sample as `pfm.recording.samples` yields it.
-- @module pfm.analyze.keys

local expect = require "pfm.util.expect"
local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local origin = require "pfm.recording.origin"
local render = require "pfm.render"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local fail = expect.fail

local keys = {}

local function base_name(path)
   return path:match("([^/]+)$") or path
end

local function line_of(s)
   local file, line = symbols.line(s.where)
   return file and ("%s:%d"):format(base_name(file), line) or s.symbol
end

local function address_of(s)
   local name = s.where.missing and s.symbol or ("%s+%s"):format(s.symbol, symbols.hex(s.where.offset))
   return ("%s %s"):format(symbols.hex(s.where.address), name)
end

local function thread_of(s)
   return ("%d %s"):format(s.tid, s.comm)
end

local function process_of(s)
   return ("%d %s"):format(s.pid, s.process)
end

-- Returns the start of a slice in s: with 6 decimals if it is a whole number of us, else with 9.
local function time_of(s)
   local us = s.time * 1e6
   return (math.abs(us - math.floor(us + 0.5)) < 1e-3 and "%.6f" or "%.9f"):format(s.time)
end

-- The keys by name. `get` returns the cell of a sample; `choose`, where a filter does not compare
-- the cell, returns the one to three texts that it compares; `where`: the key needs the sample's
-- place in the program; `takes`: the fields of the sample that it needs, by default the one of its
-- own name; `number`: cells are numbers; `ranges`: a filter takes ranges of cells, too, and its
-- messages call them by this text; `label`: the format of a cell in figures; `sliced`: the key is a
-- slice of time, which figures have as an axis.
local rows = {
   symbol = { title = "symbol", where = true, get = function(s) return s.symbol end,
      choose = function(s) return s.symbol, symbols.source_name(s.symbol) end },
   object = { title = "object", where = true, get = function(s) return base_name(s.object) end,
      choose = function(s)
         local path = s.where.path or s.object
         return base_name(s.object), base_name(path), path
      end },
   line = { title = "line", where = true, get = line_of },
   address = { title = "address", where = true, get = address_of },
   thread = { title = "thread", takes = { "tid", "pid" }, get = thread_of,
      choose = function(s) return tostring(s.tid), thread_of(s) end },
   comm = { title = "comm", takes = { "tid", "pid" }, get = function(s) return s.comm end },
   pid = { title = "process", takes = { "pid" }, get = process_of,
      choose = function(s) return tostring(s.pid), process_of(s) end },
   cpu = { title = "CPU", label = "CPU %s", number = true, ranges = "CPUs", takes = { "cpu", "pid" },
      get = function(s) return tostring(s.cpu or "-") end },
   event = { title = "event", get = function(s) return s.event end },
   set = { title = "set", number = true, get = function(s) return tostring(s.set) end },
   time = { title = "time", number = true, sliced = true, get = time_of },
}
for _, name in ipairs(origin.columns) do
   rows[name] = { title = name, label = name == "rank" and "rank %s" or nil, number = name == "rank",
      takes = { "pid" }, get = function(s) return s[name] and tostring(s[name]) or "-" end }
end
local aliases = { dso = "object", sym = "symbol", tid = "thread", ["function"] = "symbol", srcline = "line",
   ip = "address", process = "pid", symoff = "address", command = "comm" }

--- Lists the names of the keys.
-- @tparam[opt] boolean figures only those that a figure shows
-- @treturn {string,...} sorted
function keys.names(figures)
   local names = {}
   for name, key in pairs(rows) do names[#names + 1] = not (figures and key.sliced) and name or nil end
   table.sort(names)
   return names
end

--- Returns a key.
-- @string name
-- @treturn ?table `title`, `get`, `where`, `takes`, `number`, `label`; nil if there is none
function keys.of(name)
   return rows[aliases[name] or name]
end

--- Reads the names of keys, as perf's users spell them, too.
-- @param by a text with commas, or a list of names
-- @tparam[opt] {string,...} known the keys that are allowed, by default all
-- @treturn {string,...} their names
-- @raise on an unknown name
function keys.read(by, known)
   known = known or keys.names()
   local out, is = {}, {}
   for _, name in ipairs(known) do is[name] = true end
   if type(by) ~= "table" then by = { expect.kind("sort keys", by, "string") } end
   for i, name in ipairs(by) do expect.kind(("sort keys: element %d"):format(i), name, "string") end
   for given in (table.concat(by, ",") .. ","):gmatch("%s*([^,]*)%s*,") do
      local name = is[given] and given or aliases[given] or given
      if not is[name] then
         fail("unknown sort key '%s'%s (keys: %s)", given, nearest.hint(given, known), table.concat(known, ", "))
      end
      out[#out + 1] = name
   end
   return out
end

-- --- filters -------------------------------------------------------------------------------------

--- Makes the tests of a filter.
-- @tparam table filter a text by key, values separated by commas; names of `pfm.recording.origin`
-- choose recordings, `from` and `to` times: they are not tests of single samples and left out
-- @treturn {table,...} of `key`, `name`, `title` and `list`, for `keys.pass` and `keys.unmet`
-- @raise on a name that is no filter
function keys.tests(filter)
   local out, known = {}, { from = true, to = true }
   for _, name in ipairs(origin.names) do known[name] = true end
   for name, text in pairs(filter) do
      local key = not known[name] and keys.of(name)
      if key and not key.sliced then
         local list, why = name_list.test(tostring(text), key.ranges)
         if not list then fail("%s: %s", name, why) end
         out[#out + 1] = { name = name, title = key.title, key = key, list = list }
      elseif not known[name] then
         local names = keys.names(true)
         fail("there is no filter '%s'%s (filters: %s, tid, from, to)", tostring(name),
            nearest.hint(tostring(name), names), table.concat(names, ", "))
      end
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out
end

--- Returns true if a sample passes all tests. After a test has failed, another is made only if one
-- of its values has not been seen yet: `keys.unmet` names values that no sample has.
-- @tparam {table,...} tests of `keys.tests`
-- @tparam table s the sample
-- @treturn boolean
function keys.pass(tests, s)
   local passes = true
   for _, test in ipairs(tests) do
      if passes or not name_list.all_met(test.list) then
         local key = test.key
         passes = name_list.has(test.list, s.samples or 1, key.get(s), (key.choose or key.get)(s)) and passes
      end
   end
   return passes
end

local SHOWN = 8 -- names of what there is

-- Says which name is meant instead of a value; and, if the filter selects nothing (`none`), what
-- there is.
local function instead(title, values, there, none)
   if #there == 0 then return (" (no sample has a %s)"):format(title) end
   local hint = #values == 1 and not tonumber(values[1]) and nearest.hint(values[1], there) or ""
   if not none then return hint end
   local more = #there > SHOWN and (" and %s more"):format(render.number(#there - SHOWN)) or ""
   local shown = table.concat(tables.slice(there, 1, math.min(#there, SHOWN)), ", ")
   return ("%s (there are: %s%s)"):format(hint, shown, more)
end

-- Says which samples a test was made of: those that the time and the choice of recordings left.
local function of_which(filter, test)
   local words = { (filter.from or filter.to) and "in that time" }
   for _, name in ipairs(origin.names) do
      if filter[name] and name ~= test then words[#words + 1] = ("of %s %s"):format(name, filter[name]) end
   end
   return words[1] and table.concat(words, ", ") .. ", " or ""
end

--- Finds the values of a filter that no sample had, after all of them were tested.
-- @tparam {table,...} tests of `keys.tests` and `origin.tests`
-- @tparam table filter
-- @treturn {table,...} of `name` (of the filter), `none` (no sample had any of its values), `of`
-- (which samples were tested, if not all), `instead` (what is meant, or there) and `text`, which
-- says it
function keys.unmet(tests, filter)
   local out = {}
   for _, test in ipairs(tests) do
      local values, there = name_list.missing(test.list)
      local none = next(test.list.met) == nil
      local of, other = of_which(filter, test.name), instead(test.title, values, there, none)
      out[#out + 1] = #values > 0 and { name = test.name, none = none, of = of, instead = other,
         text = ("%sno sample has the %s '%s'%s"):format(of, test.title, table.concat(values, "' or '"), other) }
         or nil
   end
   return out
end

return keys
