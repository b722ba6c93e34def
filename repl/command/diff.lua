-- SPDX-License-Identifier: MIT
--- lpfm diff: compares two recordings, and says whether differences can be chance.
-- @module repl.command.diff

local analyze = require "pfm.analyze"
local input = require "repl.command.input"
local render = require "pfm.render"
local options = require "repl.command.options"
local recording = require "pfm.recording"
local report = require "repl.command.report"
local report_text = require "repl.command.text.report"
local summary = require "pfm.recording.summary"
local tables = require "pfm.util.tables"
local expect = require "pfm.util.expect"

local diff = {}

local ALPHA = 0.05
local SMALL = 0.05 -- percentage points; smaller differences are shown only if they are significant

local COMPARED = "shares are compared, --absolute compares events; the ratio is always shown"
local WORDS = "name the files without an option: lpfm diff OLD NEW"

--- Makes the parser of the command line.
function diff.options()
   local c = options.command("diff", "Shows how recordings of a program differ.",
      "lpfm diff [options] OLD[,OLD...] [NEW[,NEW...]]")
   c.mixed = true
   c:option("-s --sort", "KEYS", "Sort keys, as for 'lpfm report' (default: symbol).")
   c:flag("--absolute", "Compare events (for clocks: time) instead of shares.")
   c:option("--top", "N", "Show the first N rows.")
   c:option("--percent-limit", "P", ("Hide insignificant differences below P points (default: %g)."):format(SMALL))
   c:flag("--significant", "Show significant differences only.")
   c:option("--alpha", "P", ("Call a difference significant if p is below P (default: %g)."):format(ALPHA))
   input.add_filters(c)
   c:option("-x", "SEP", "Print separated values.")
   c:flag("--json", "Print JSON.")
   c:habits(input.habits { ["-p"] = "--absolute", ["--period"] = "--absolute", ["-t"] = "-x" },
      { "--stdio", "-q", "--quiet", "-v", "--verbose", "-b", "--baseline-only" },
      { ["-c"] = COMPARED, ["--compute"] = COMPARED, ["-f"] = WORDS, ["-i"] = WORDS, ["--file"] = WORDS,
         ["--input"] = WORDS, ["-o"] = "the greatest difference comes first; for another order, use -x and sort(1)" })
   c:epilog([[
change is of a row's share of the samples; events x says how many times as many events there are, which may go the other
way where the whole run grew or shrank.
p is the probability that chance alone makes such a difference in any row (*: below --alpha). For one recording of
each kind that is the chance of sampling; runs may differ by more than that. To account for it, record several runs of
each and compare old1,old2,old3 with new1,new2,new3, or 'old*' with 'new*'. A merged file is
the runs that are in it. NEW defaults to lpfm.data.]], {
      "lpfm diff before.data after.data", "lpfm diff -s object,symbol before.data",
      "lpfm diff 'old.*.data' 'new.*.data'", "lpfm diff --absolute a1.data,a2.data,a3.data b1.data,b2.data,b3.data",
   })
   return c
end

local function open_all(list)
   local out, words = {}, {}
   for word in (list .. ","):gmatch("([^,]+),") do words[#words + 1] = word end
   if input.is_there(list) then words = { list } end -- the name of one file has commas
   for _, path in ipairs(input.expand(words)) do
      local self = expect.value(recording.open(path))
      out[#out + 1] = self
   end
   if #out == 0 then options.fail("expected a recording, got '%s'", list) end
   out = input.distinct(out, function(why) io.stderr:write("lpfm diff: ", why, "\n") end)
   return out
end

-- --- output --------------------------------------------------------------------------------------

local NOT_COMPARED = { unsampled = "%s: %s was not sampled there, so it is not compared",
   none = "%s: no samples of %s there, so shares are not compared (--absolute compares counts)" }

-- Returns the warnings about the recordings, each with the file's name.
local function warnings_of(result, lists)
   local out = {}
   for _, list in ipairs(lists) do
      for _, self in ipairs(list) do
         for _, w in ipairs(self:warnings()) do out[#out + 1] = ("%s: %s"):format(render.printable(self.path), w) end
      end
   end
   for _, pair in ipairs(result.unsampled) do
      out[#out + 1] = (NOT_COMPARED[pair.why]):format(render.printable(pair.run.path), pair.event)
   end
   for _, unmet in ipairs(result.unmet) do
      out[#out + 1] = ("%s: %s"):format(render.printable(unmet.run.path), unmet.text)
   end
   return out
end

local function describe(side, recordings)
   local lines = {}
   for _, self in ipairs(recordings) do
      -- a damaged file lacks samples
      local n = self:group_by({ pair = { "tstamp", "tstamp" } }):moments().n
      lines[#lines + 1] = ("# %s: %s, %s of %s"):format(side, render.printable(self.path),
         render.plural(n, "sample"), render.what(self.head.what))
   end
   return lines
end

local function visible(args, result)
   local top, rows = options.number(args.top, "--top", true) or math.huge, {}
   local limit = args.percent_limit and options.number(args.percent_limit, "--percent-limit") or SMALL
   for _, row in ipairs(result.rows) do
      local large = math.abs(row.percent) >= limit or math.abs(row.change) * 100 >= limit * row.old.total_events
      if #rows < top and (row.significant or (large and not args.significant)) then rows[#rows + 1] = row end
   end
   return rows, #result.rows - #rows
end

-- Returns true if rows need the name of the event: there are several events, and no sort key shows
-- it.
local function wants_event(result)
   local first = result.rows[1] and result.rows[1].event
   if tables.find(result.titles, "event") then return false end
   for _, row in ipairs(result.rows) do
      if row.event ~= first then return true end
   end
end

local function numbers_of(row, absolute)
   if absolute then
      return render.number(row.old.events, 0), render.number(row.new.events, 0), ("%+.0f"):format(row.change)
   end
   return ("%.2f%%"):format(row.old.percent), ("%.2f%%"):format(row.new.percent), ("%+.2f"):format(row.percent)
end

local function text_lines(result, rows, args)
   local columns = {
      { "old", function(row) return (numbers_of(row, args.absolute)) end },
      { "new", function(row) return (select(2, numbers_of(row, args.absolute))) end },
      { "change", function(row) return (select(3, numbers_of(row, args.absolute))) end },
      { "events x", function(row) return row.ratio and ("%.3f"):format(row.ratio) or "-" end },
      { "p", function(row) return render.chance(row.p) end },
      { "", function(row) return row.significant and "*" or "" end },
   }
   return report_text.rows(columns, result.titles, rows, wants_event(result))
end

local function print_text(result, args, old, new)
   local rows, hidden = visible(args, result)
   local lines = describe("old", old)
   for _, line in ipairs(describe("new", new)) do lines[#lines + 1] = line end
   for _, w in ipairs(warnings_of(result, { old, new })) do lines[#lines + 1] = "# Warning: " .. w end
   lines[#lines + 1] = "#"
   for _, line in ipairs(text_lines(result, rows, args)) do lines[#lines + 1] = line end
   if hidden > 0 then lines[#lines + 1] = ("# and %s"):format(render.plural(hidden, "more row")) end
   if #result.rows == 0 and #result.unsampled == 0 then lines[#lines + 1] = "# no samples match" end
   return lines
end

local function flat(result, row)
   local out = { event = row.event, old_percent = row.old.percent, new_percent = row.new.percent, change = row.percent,
      old_events = row.old.events, new_events = row.new.events, old_samples = row.old.samples,
      new_samples = row.new.samples, ratio = row.ratio, p = row.p, significant = row.significant }
   for i, title in ipairs(result.titles) do out[title] = row.cells[i] end
   return out
end

local COLUMNS = { "old_percent", "new_percent", "change", "old_events", "new_events", "old_samples", "new_samples",
   "ratio", "p", "event" }

local function print_csv(result, args, old, new)
   local head, lines = tables.join(COLUMNS, result.titles), {}
   for _, list in ipairs { old, new } do
      for _, self in ipairs(list) do lines[1] = lines[1] or summary.simulated(self) end
   end
   lines[#lines + 1] = render.csv(head, #head, args.x)
   for _, row in ipairs((visible(args, result))) do
      local values, cells = flat(result, row), {}
      for i, name in ipairs(head) do cells[i] = values[name] end
      lines[#lines + 1] = render.csv(cells, #head, args.x)
   end
   return lines
end

local function print_json(result, args, old, new)
   local rows = tables.map((visible(args, result)), function(row) return flat(result, row) end)
   local function heads(recordings)
      return tables.map(recordings, function(self) return { path = self.path, head = self.head, ends = self.ends } end)
   end
   return { render.json { old = heads(old), new = heads(new), rows = rows } }
end

-- --- the command ---------------------------------------------------------------------------------

local function alpha_of(args)
   local alpha = options.number(args.alpha, "--alpha") or ALPHA
   if alpha >= 1 then options.fail("--alpha: '%s' is not a probability below 1", args.alpha) end
   return alpha
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function diff.main(argv)
   local args, words = diff.options():parse(argv)
   if #words == 0 then options.fail("expected OLD and NEW recordings (NEW defaults to lpfm.data)") end
   if #words > 2 then
      options.fail("unexpected argument '%s': several runs are separated by commas", words[3])
   end
   args.sort = input.keys(args.sort)
   local wanted = { filter = input.filter(args), absolute = args.absolute, alpha = alpha_of(args) }
   local old, new = open_all(words[1]), open_all(words[2] or "lpfm.data")
   local result = options.checked(analyze.diff, old, new, args.sort, wanted)
   if #result.rows == 0 and #result.unsampled == 0 then
      for _, list in ipairs { old, new } do
         for _, self in ipairs(list) do report.check_found(self, args.sort, wanted.filter) end
      end
   end
   local lines = args.json and print_json or args.x and print_csv or print_text
   options.print(lines(result, args, old, new))
   if lines ~= print_text then options.warn("lpfm diff", warnings_of(result, { old, new })) end
   return 0
end

--- Compares old and new recordings, one or several, and says whether a difference can be chance.
-- @string old a recording, or several separated by commas
-- @string[opt="lpfm.data"] new a recording, or several separated by commas
-- @string[opt="symbol"] by sort keys
-- @treturn table of `pfm.analyze.diff`; the prompt shows it as text
-- @usage require("repl.command.diff").call("lpfm.data", "lpfm.data").rows[1].p
function diff.call(old, new, by)
   options.arguments("diff", 'diff("old.data", "new.data")', { old, "string", "the names of recordings" },
      { new, "string?", "the names of recordings" }, { by, "string?", "sort keys" })
   local a, b = open_all(old), open_all(new or "lpfm.data")
   return options.shown(analyze.diff(a, b, by),
      function(result) return print_text(result, { top = "20" }, a, b) end)
end

return diff
