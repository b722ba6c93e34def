-- SPDX-License-Identifier: MIT
--- lpfm report: where the samples of a recording lie.
-- @module pfm.report

local blocks = require "lpfm.blocks"
local format = require "pfm.format"
local nearest = require "pfm.nearest"
local options = require "pfm.options"
local session = require "pfm.session"
local store = require "pfm.store"
local symbols = require "pfm.symbols"

local report = { summary = "show where the samples of a recording lie" }

-- --- sort keys -----------------------------------------------------------------------------------

local function base_name(path)
   return path:match("([^/]+)$") or path
end

local function comm_of(self, tid)
   return self.comms[tid] or (tid == 0 and "(idle)")
end

local function line_of(where)
   local file, line = symbols.line(where)
   if not file then return where.func end
   return ("%s:%d"):format(base_name(file), line)
end

local function address_of(where)
   local name = where.missing and where.func or ("%s+%s"):format(where.func, symbols.hex(where.offset))
   return ("%s %s"):format(symbols.hex(where.address), name)
end

-- What a sample counts under: from where it lies (w), its fields (s), the session (r).
local keys = {
   symbol = { title = "symbol", where = true, get = function(w) return w.func end },
   object = { title = "object", where = true, get = function(w) return base_name(w.object) end },
   line = { title = "line", where = true, get = line_of },
   address = { title = "address", where = true, get = address_of },
   thread = { title = "thread", get = function(_, s, r) return ("%d %s"):format(s.tid, comm_of(r, s.tid) or "") end },
   comm = { title = "comm", get = function(_, s, r) return comm_of(r, s.tid) or comm_of(r, s.pid) or "?" end },
   pid = { title = "process", get = function(_, s, r) return ("%d %s"):format(s.pid, comm_of(r, s.pid) or "") end },
   cpu = { title = "CPU", get = function(_, s) return tostring(s.cpu) end },
   event = { title = "event", get = function(_, s, r) return r.event_names[s.pmd] or tostring(s.pmd) end },
}
local aliases = { dso = "object", sym = "symbol", tid = "thread", ["function"] = "symbol", srcline = "line",
   ip = "address", process = "pid" }

local function key_names()
   local names = {}
   for name in pairs(keys) do names[#names + 1] = name end
   table.sort(names)
   return names
end

local function parse_keys(text)
   local out = {}
   for name in (text .. ","):gmatch("%s*([^,]*)%s*,") do
      local key = keys[aliases[name] or name]
      if not key then
         options.fail("--sort: unknown key '%s'%s (keys: %s)", name, nearest.hint(name, key_names()),
            table.concat(key_names(), ", "))
      end
      out[#out + 1] = key
   end
   return out
end

-- --- counting ------------------------------------------------------------------------------------

local FIELDS = { "pid", "tid", "cpu", "pmd", "ip" }

-- The tally's key: what the sort keys need.
local function fields_for(wanted)
   local need = { pmd = true }
   for _, key in ipairs(wanted) do
      if key.where then need.pid, need.ip = true, true end
      if key == keys.thread or key == keys.comm then need.tid, need.pid = true, true end
      if key == keys.pid then need.pid = true end
      if key == keys.cpu then need.cpu = true end
   end
   local out = {}
   for _, f in ipairs(FIELDS) do
      if need[f] then out[#out + 1] = f end
   end
   return out
end

local function row_iterator(tally, fields)
   local rows, n = tally:rows(), #fields
   return function()
      local got = { rows() }
      if got[1] == nil then return nil end
      local s = { samples = got[n + 1], events = got[n + 2] }
      for i, f in ipairs(fields) do s[f] = got[i] end
      return s
   end
end

local function cells_of(self, wanted, s, resolver)
   local where
   local cells = {}
   for i, key in ipairs(wanted) do
      if key.where then where = where or resolver:resolve(s.pid, s.ip) end
      cells[i] = key.get(where, s, self)
   end
   return cells, where
end

local function note_missing(result, where, s)
   if not where or not where.missing then return end
   local m = result.missing[where.object] or { samples = 0, why = where.missing }
   m.samples = m.samples + s.samples
   result.missing[where.object] = m
end

-- What samples stand for: of periods that are not all the same, those that ended with them.
local function events_of(self, s)
   local period = self.head.fixed and self.periods[s.pmd]
   return period and s.samples * period or s.events
end

local function add_row(result, cells, s)
   local id = table.concat(cells, "\0") .. "\0" .. s.pmd
   local row = result.by_id[id]
   if not row then
      row = { cells = cells, samples = 0, events = 0, pmd = s.pmd }
      result.by_id[id] = row
      result.rows[#result.rows + 1] = row
   end
   row.samples, row.events = row.samples + s.samples, row.events + s.events
   local total = result.totals[s.pmd] or { samples = 0, events = 0 }
   total.samples, total.events = total.samples + s.samples, total.events + s.events
   result.totals[s.pmd] = total
end

local function finish(result)
   for _, row in ipairs(result.rows) do
      local total = result.totals[row.pmd].events
      row.percent = total > 0 and row.events / total * 100 or 0
   end
   table.sort(result.rows, function(a, b)
      if a.events ~= b.events then return a.events > b.events end
      return table.concat(a.cells, "\0") < table.concat(b.cells, "\0")
   end)
   result.by_id = nil
   return result
end

--- Sorts the samples of a session.
-- @param self of `session.open`
-- @string[opt="symbol"] by sort keys, separated by commas
-- @treturn table `rows` of `cells`, `percent` (of its event's), `samples`, `events`, `pmd`; `titles`,
-- `totals` by PMD, `missing` (objects without symbols), `cut` (samples missing from damaged blocks)
-- @usage report.sort(assert(session.open "lpfm.data"), "comm,symbol").rows[1].percent
function report.sort(self, by)
   local wanted = parse_keys(by or "symbol")
   self.event_names, self.periods = {}, {}
   for _, e in ipairs(self.head.events) do self.event_names[e.pmd], self.periods[e.pmd] = e.name, e.period end
   local fields = fields_for(wanted)
   local tally, cut = self:tally { keys = fields }
   local resolver = store.resolver(self)
   local result = { rows = {}, by_id = {}, totals = {}, missing = {}, cut = cut, titles = {} }
   for i, key in ipairs(wanted) do result.titles[i] = key.title end
   for s in row_iterator(tally, fields) do
      s.events = events_of(self, s)
      local cells, where = cells_of(self, wanted, s, resolver)
      note_missing(result, where, s)
      add_row(result, cells, s)
   end
   return finish(result)
end

-- --- warnings ------------------------------------------------------------------------------------

local function changed_objects(self, out)
   if self.symbols then return end
   for path, o in pairs(self.objects) do
      local id = symbols.build_id(path)
      if o.build_id and id and id ~= o.build_id then
         out[#out + 1] = path .. " has changed since the recording: its symbols may be wrong"
      end
   end
end

-- Objects that hide much of what was sampled.
local function nameless_objects(result, out)
   local all = 0
   for _, t in pairs(result.totals) do all = all + t.samples end
   for object, m in pairs(result.missing) do
      if m.samples > all * 0.05 and m.why ~= "no symbol at this address" and m.why ~= "no mapping" then
         out[#out + 1] = ("no functions' names in %s: %s"):format(object, (m.why:gsub("^.*: ", "")))
      end
   end
end

--- What a reader should know, in words.
-- @param self session
-- @tparam table result of `report.sort`
-- @treturn table of strings
function report.warnings(self, result)
   local out = self:warnings()
   if result.cut > 0 then out[#out + 1] = format.plural(result.cut, "sample") .. " cut off in damaged blocks" end
   changed_objects(self, out)
   nameless_objects(result, out)
   return out
end

-- --- output --------------------------------------------------------------------------------------

local function count_samples(result)
   local n = 0
   for _, t in pairs(result.totals) do n = n + t.samples end
   return n
end

local function event_words(self)
   local out = {}
   for i, e in ipairs(self.head.events) do
      local period = e.unit == "ns" and format.time(e.period / 1e9) or format.number(e.period)
      local varies = self.head.frequency and e.unit ~= "ns" -- the period followed the rate of events
      out[i] = varies and ("%s about %s times a second"):format(e.name, format.number(self.head.frequency))
         or ("%s every %s"):format(e.name, period)
   end
   local random = self.head.random
   local mask = random and (", randomized by 0x%x"):format(random.mask) or ""
   return table.concat(out, ", ") .. mask
end

local function header_lines(self, result)
   local head, ends = self.head, self.ends or {}
   local m = head.machine
   local lines = {
      ("# %s of %s"):format(format.plural(count_samples(result), "sample"), head.what),
      ("# %s%s"):format(event_words(self), ends.elapsed and (", during %s"):format(format.time(ends.elapsed)) or ""),
      ("# %s, machine %s (%s) on %s, kernel %s"):format(os.date("%Y-%m-%d %H:%M:%S", head.time), m.name, m.pmu,
         m.host or "?", m.kernel or "?"),
   }
   return lines
end

local function visible(args, result)
   local top = options.number(args.top, "--top", true) or math.huge
   local limit = args.percent_limit and tonumber(args.percent_limit) or 0
   local rows = {}
   for _, row in ipairs(result.rows) do
      if #rows < top and row.percent >= limit then rows[#rows + 1] = row end
   end
   return rows, #result.rows - #rows
end

local function with_event(self, result)
   return #self.head.events > 1 and not (table.concat(result.titles, ","):find("event"))
end

local function text_lines(self, result, rows)
   local columns = { { title = "percent", right = true }, { title = "samples", right = true } }
   local show_event = with_event(self, result)
   if show_event then columns[3] = { title = "event" } end
   for _, title in ipairs(result.titles) do columns[#columns + 1] = { title = title } end
   local cells = {}
   for i, row in ipairs(rows) do
      local line = { ("%.2f%%"):format(row.percent), format.number(row.samples) }
      if show_event then line[3] = self.event_names[row.pmd] end
      for _, cell in ipairs(row.cells) do line[#line + 1] = cell end
      cells[i] = line
   end
   return format.align(columns, cells, "  ")
end

local function print_text(self, result, args)
   local rows, hidden = visible(args, result)
   local lines = header_lines(self, result)
   for _, w in ipairs(report.warnings(self, result)) do lines[#lines + 1] = "# Warning: " .. w end
   lines[#lines + 1] = "#"
   for _, line in ipairs(text_lines(self, result, rows)) do lines[#lines + 1] = line end
   if hidden > 0 then lines[#lines + 1] = ("# and %s"):format(format.plural(hidden, "more row")) end
   return lines
end

local function print_csv(self, result, args)
   local head = { "percent", "samples", "events", "event" }
   for _, title in ipairs(result.titles) do head[#head + 1] = title end
   local lines = { format.csv(head, #head, args.x) }
   for _, row in ipairs((visible(args, result))) do
      local cells = { ("%.4f"):format(row.percent), row.samples, row.events, self.event_names[row.pmd] }
      for _, cell in ipairs(row.cells) do cells[#cells + 1] = cell end
      lines[#lines + 1] = format.csv(cells, #head, args.x)
   end
   return lines
end

local function print_json(self, result, args)
   local rows = {}
   for i, row in ipairs((visible(args, result))) do
      local out = { percent = row.percent, samples = row.samples, events = row.events,
         event = self.event_names[row.pmd] }
      for k, title in ipairs(result.titles) do out[title] = row.cells[k] end
      rows[i] = out
   end
   local warnings = report.warnings(self, result)
   return { format.json {
      head = self.head, ends = self.ends, warnings = #warnings > 0 and warnings or nil, samples = count_samples(result),
      rows = rows,
   } }
end

local function warn_aside(self, result)
   io.stdout:flush()
   for _, w in ipairs(report.warnings(self, result)) do io.stderr:write("lpfm report: ", w, "\n") end
end

-- Each sample on a line.
local function print_samples(self, args, out)
   local head = { "event", "time", "pid", "tid", "cpu", "address", "period" }
   for _, e in ipairs(self.head.with or {}) do head[#head + 1] = e.name end
   local sep = args.x or ","
   out:write(format.csv(head, #head, sep), "\n")
   for block in self:each_block() do
      for s in blocks.each(block, self:sizes()) do
         local cells = { self.event_names[s.pmd], ("%.9f"):format(s.tstamp / 1e9), s.pid, s.tid, s.cpu,
            symbols.hex(s.ip), -s.last_reset }
         for _, v in ipairs(s.values) do cells[#cells + 1] = v end
         out:write(format.csv(cells, #head, sep), "\n")
      end
   end
end

-- --- the command ---------------------------------------------------------------------------------

--- The options.
function report.options()
   local c = options.command("report", "Shows where the samples of a recording lie.", "lpfm report [options] [file]")
   c.mixed = true
   c:option("-s --sort", "KEYS", "symbol, object, line, address, thread, comm, pid, cpu, event; or several.")
   c:option("-f --file", "FILE", "The recording (default: lpfm.data).")
   c:option("--top", "N", "Only the first N rows.")
   c:option("--percent-limit", "P", "Only rows of at least P percent.")
   c:option("-x", "SEP", "Print separated values.")
   c:flag("--json", "Print JSON.")
   c:flag("--samples", "Print every sample, as separated values.")
   c:epilog("Percentages are of the events that the samples stand for.", {
      "lpfm report", "lpfm report -s object", "lpfm report -s comm,symbol --top 20 prog.data",
   })
   return c
end

local function lines_for(args)
   return args.json and print_json or args.x and print_csv or print_text
end

local function check_limit(args)
   local p = args.percent_limit
   if p and not (tonumber(p) and tonumber(p) >= 0) then options.fail("--percent-limit: '%s' is not a percentage", p) end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function report.main(argv)
   local args, words = report.options():parse(argv)
   if #words > 1 then options.fail("one file at a time: '%s' is too much", words[2]) end
   check_limit(args)
   local self, err = session.open(args.file or words[1] or "lpfm.data")
   if not self then error(err, 0) end
   local result = report.sort(self, args.sort)
   if args.samples then
      print_samples(self, args, io.stdout)
   else
      io.stdout:write(table.concat(lines_for(args)(self, result, args), "\n"), "\n")
   end
   if args.x or args.samples then warn_aside(self, result) end
   return 0
end

--- Reports from a script or the prompt.
-- @string[opt="lpfm.data"] path
-- @string[opt="symbol"] by sort keys
-- @treturn table of `report.sort`; prints itself
-- @usage report("lpfm.data", "object").rows[1].cells[1]
function report.call(path, by)
   local self, err = session.open(path or "lpfm.data")
   if not self then error(err, 0) end
   return setmetatable(report.sort(self, by), {
      __tostring = function(result) return table.concat(print_text(self, result, { top = "20" }), "\n") end,
   })
end

return report
