-- SPDX-License-Identifier: MIT
--- Exports recordings to a store, which is a database of recordings, and reports from it.
-- @module repl.parts.fleet.stored

local flamegraph = require "pfm.export.flamegraph"
local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local input = require "repl.command.input"
local options = require "repl.command.options"
local text_file = require "pfm.util.text_file"
local render = require "pfm.render"
local report_text = require "repl.command.text.report"
local store = require "pfm.fleet.store"
local tables = require "pfm.util.tables"

local stored = {}

-- Calls a method of a store. If the method refuses an argument, this is an error in the command
-- line; other failures of the store are not.
local function asked(self, method, ...)
   local results = { pcall(options.checked, self[method], self, ...) }
   if results[1] then return unpack(results, 2) end
   local err = results[2]
   local message = type(err) == "table" and err.usage and err.message or ""
   error(message:sub(1, #self.name + 2) == self.name .. ": " and message or err, 0)
end

-- --- loading -------------------------------------------------------------------------------------

--- Reads the properties that the option set gives to recordings.
-- @tparam table list of NAME=VALUE
-- @treturn table for `pfm.fleet.store`
function stored.read_given(list)
   local out = {}
   for _, text in ipairs(list) do
      local name, value = text:match("^%s*(%a+)=(.*)$")
      if not tables.find(store.given, name) then
         options.fail("--set: '%s' is not NAME=VALUE%s (names: %s)", text, nearest.hint(name or text, store.given),
            table.concat(store.given, ", "))
      end
      out[name] = value
   end
   return out
end

local function say(text, ...)
   io.stderr:write("lpfm export: ", text:format(...), "\n")
end

local function print_result(result, name, seconds)
   for _, warning in ipairs(result.warnings) do say("%s", warning) end
   for _, refused in ipairs(result.refused) do say("left out: %s", refused.why) end
   local rate = result.samples > 0 and (", %s a second"):format(render.number(math.floor(result.samples / seconds)))
      or ""
   say("%s with %s into %s%s%s", render.plural(result.files, "recording"), render.plural(result.samples, "sample"),
      name, rate, result.there > 0 and ("; %s there already"):format(render.number(result.there)) or "")
   if result.left > 0 or result.why then
      say("%s not loaded: %s", render.plural(result.left, "recording"), result.why)
   end
end

--- Loads recordings into a store.
-- @tparam table args of export: `to`, `set`
-- @tparam table files names of recordings
-- @treturn number exit status: 1 if a recording is not in the store afterwards
function stored.load(args, files)
   options.heed(args, "--to", { "to", "set", "input" }) -- no filters: whole recordings are stored
   local clock = require("lpfm.proc").clock
   local given = stored.read_given(args.set)
   local self = options.checked(store.open, args.to)
   local started, shown = clock(), input.counter("lpfm export", #files, "recordings")
   given.progress = shown
   function given.waiting(err, seconds)
      say("%s does not answer: %s; waiting for it, at most %.0f s", self.name, err, seconds)
   end
   local result = self:load(files, given)
   shown()
   print_result(result, self.name, math.max(clock() - started, 1e-3))
   return (#result.refused > 0 or result.why) and 1 or 0
end

-- --- pictures ------------------------------------------------------------------------------------

local function span_of(totals)
   return ("%s to %s UTC"):format(os.date("!%Y-%m-%d %H:%M", totals.from), os.date("!%Y-%m-%d %H:%M", totals.to))
end

local function recordings_of(totals)
   return ("%s of %s"):format(render.plural(totals.recordings, "recording"), render.plural(totals.hosts, "host"))
end

local pictures = {}

function pictures.folded(list, out)
   for _, stack in ipairs(list) do out:write(("%s %.0f\n"):format(stack.name, stack.weight)) end
end

function pictures.flamegraph(list, out, args, total, event, totals)
   local samples = args.weight == "samples"
   local note = ("%s: %s, %s"):format(event, recordings_of(totals), span_of(totals))
   local selection = #args.select > 0 and table.concat(args.select, ", ") or "everything"
   out:write(flamegraph.draw(list, total, { title = args.title or selection, note = note,
      icicle = args.icicle, unit = samples and "sample" or event:find("clock") and "ns" or "event" }))
end

local FOLDED = { "db", "select", "event", "weight", "format", "output" }
local DRAWN = { "title", "icicle", unpack(FOLDED) }

--- Draws samples from a store.
-- @tparam table args `db`, `select`, `event`, `weight`, `output`, `title`, `icicle`
-- @string format "flamegraph" or "folded"
-- @treturn number exit status
function stored.draw(args, format)
   if not pictures[format] then
      options.fail("--db: a database has sums, and no samples: its formats are flamegraph and folded")
   end
   options.heed(args, "--db", DRAWN)
   if format == "folded" then options.heed(args, "--format folded", FOLDED) end
   local self = options.checked(store.open, args.db)
   local weight = args.weight or (format == "folded" and "samples" or "events")
   local list, total, event, totals = asked(self, "stacks", { where = args.select, event = args.event,
      weight = weight })
   local path = args.output ~= "-" and args.output or nil
   local file, err = io.stdout, nil
   if path then file, err = io.open(path, "wb") end
   if not file then error("cannot write " .. err, 0) end
   local out = text_file.checked(file, path or "the output")
   local ok, why = pcall(function()
      pictures[format](list, out, args, total, event, totals)
      out:close()
   end)
   if path and not ok then text_file.remove(path) end
   if not ok then error(why, 0) end
   return 0
end

-- --- reports -------------------------------------------------------------------------------------

-- Options that need a recording file.
local OF_FILES = { "call_graph", "slice", "phases", "histogram", "correlate", "raw", "html", "samples", "pid", "tid",
   "cpu", "time", "input" }
local AS_CONDITIONS = { "event", "symbol", "object", "comm", "rank", "host", "node", "job", "step" }

local function check(args)
   for _, name in ipairs(OF_FILES) do
      if args[name] then
         options.fail("--db and --%s exclude each other: a store does not keep that%s", (name:gsub("_", "-")),
            name == "time" and "; --select time=yesterday chooses recordings" or "")
      end
   end
   if #args.derive > 0 then options.fail("--db and --derive exclude each other") end
end

-- Returns the conditions of a query: the given ones, and those of -e, --symbol and the like, which
-- hold for both sides of a comparison.
local function conditions(args, texts)
   local out = { unpack(texts) }
   for _, name in ipairs(AS_CONDITIONS) do
      if args[name] then
         local values = name_list.read(args[name])
         if name == "rank" then values = { (args[name]:gsub(",", "|")) } end
         out[#out + 1] = { name, values }
      end
   end
   return out
end

-- Returns the columns: for each its title, and a function that returns the text of a row.
local function columns_of(result)
   local out = report_text.shares(result.rows)
   if not result.old then return out end
   return { { "old", function(row) return ("%.2f%%"):format(row.old.percent) end },
      { "new", function(row) return ("%.2f%%"):format(row.percent) end },
      { "change", function(row) return ("%+.2f"):format(row.percent - row.old.percent) end }, out[#out] }
end

local function has_several(events)
   local n = 0
   for _ in pairs(events) do n = n + 1 end
   return n > 1
end

local function header(self, result, args)
   local function side(name, totals, texts)
      local chosen = #texts > 0 and ", " .. table.concat(texts, ", ") or ""
      if not totals.from then return ("# %sno samples%s in %s"):format(name, chosen, self.name) end
      return ("# %s%s in %s, %s%s"):format(name, render.plural(totals.samples, "sample"), recordings_of(totals),
         span_of(totals), chosen)
   end
   if not result.old then return { side("", result.totals, args.select), "#" } end
   return { side("old: ", result.old, args.against), side("new: ", result.totals, args.select), "#" }
end

local function text_lines(self, result, args)
   local with_event = has_several(result.totals.events) and not table.concat(result.titles, ","):find("event")
   local lines = header(self, result, args)
   for _, line in ipairs(report_text.rows(columns_of(result), result.titles, result.rows, with_event)) do
      lines[#lines + 1] = line
   end
   if result.more > 0 then lines[#lines + 1] = ("# and %s"):format(render.plural(result.more, "more row")) end
   return lines
end

local function flat(result, row)
   local out = { percent = row.percent, samples = row.samples, events = row.events, event = row.event,
      children = row.total and row.total.percent, old_percent = row.old and row.old.percent,
      old_samples = row.old and row.old.samples, old_events = row.old and row.old.events }
   for i, title in ipairs(result.titles) do out[title] = row.cells[i] end
   return out
end

local function json_lines(self, result)
   local rows = tables.map(result.rows, function(row) return flat(result, row) end)
   return { render.json { store = self.name, totals = result.totals, old = result.old, rows = rows } }
end

local function csv_lines(_, result, args)
   local fixed = result.old and { "old_percent", "percent", "old_samples", "samples", "old_events", "events", "event" }
      or { "percent", "samples", "events", "event" }
   if result.rows[1] and result.rows[1].total and not result.old then table.insert(fixed, 1, "children") end
   local head = tables.join(fixed, result.titles)
   local lines = { render.csv(head, #head, args.x) }
   for _, row in ipairs(result.rows) do
      local values, cells = flat(result, row), {}
      for i, name in ipairs(head) do
         local is_share = name == "percent" or name == "old_percent" or name == "children"
         cells[i] = is_share and ("%.4f"):format(values[name]) or values[name]
      end
      lines[#lines + 1] = render.csv(cells, #head, args.x)
   end
   return lines
end

local function above(rows, limit)
   return tables.filter(rows, function(row) return (row.total or row).percent >= limit end)
end

--- Prints a report of the samples in a store.
-- @tparam table args of report
-- @treturn number exit status
-- @raise if no samples match
function stored.report(args)
   check(args)
   local self = options.checked(store.open, args.db)
   local result = asked(self, "report", args.sort, { where = conditions(args, args.select),
      against = #args.against > 0 and conditions(args, args.against) or nil,
      children = not args.no_children and #args.against == 0, limit = options.number(args.top, "--top", true) })
   local all = #result.rows
   if all == 0 then error(self.name .. ": no samples match", 0) end
   result.rows = above(result.rows, tonumber(args.percent_limit) or 0)
   result.more = result.more + all - #result.rows
   local lines = (args.json and json_lines or args.x and csv_lines or text_lines)(self, result, args)
   options.print(lines)
   return 0
end

return stored
