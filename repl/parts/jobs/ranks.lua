-- SPDX-License-Identifier: MIT
--- The output of lpfm stat with the option ranks: counts of a job's ranks side by side, as text,
-- CSV and JSON.
-- @module repl.parts.jobs.ranks

local input = require "repl.command.input"
local options = require "repl.command.options"
local ranks = require "pfm.jobs.ranks"
local render = require "pfm.render"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"

local ranks_text = {}

-- --- text ----------------------------------------------------------------------------------------

local function label(member)
   local host = render.printable(member.host)
   if member.count then return ("%s (%s)"):format(host, render.plural(member.count, "rank")) end
   if member.rank then return ("%d on %s"):format(member.rank, host) end
   return member.file and ("%s on %s"):format(render.printable(member.file), host) or host
end

local function shown(value, unit)
   if not value then return "<not counted>" end
   if unit == "s" then return ("%.6f"):format(value) end
   if unit == "ns" then return render.number(value / 1e6, 2) end
   return render.number(value, value ~= math.floor(value) and 1 or 0)
end

local function shown_unit(unit)
   return unit == "ns" and "msec" or unit or ""
end

local function summary_rows(rows)
   local out = {}
   for i, row in ipairs(rows) do
      local function cell(value) return shown(value, row.unit) end
      out[i] = { row.name, shown_unit(row.unit), cell(row.mean), cell(row.min), row.min and label(row.min_of) or "",
         cell(row.max), row.max and label(row.max_of) or "", row.imbalance and ("%.2f"):format(row.imbalance) or "" }
   end
   return out
end

local function summary_lines(rows, what)
   local columns = { { title = "" }, {}, { title = "mean", right = true }, { title = "least", right = true },
      { title = what }, { title = "most", right = true }, { title = what }, { title = "max/mean", right = true } }
   return render.align(columns, summary_rows(rows), "  ")
end

local function member_lines(members, rows, what)
   local columns, out = { { title = what } }, {}
   for i, row in ipairs(rows) do
      columns[i + 1] = { title = row.unit and ("%s (%s)"):format(row.name, shown_unit(row.unit)) or row.name,
         right = true }
   end
   for i, member in ipairs(members) do
      out[i] = { label(member) }
      for k, row in ipairs(rows) do out[i][k + 1] = shown(member.values[row.name], row.unit) end
   end
   return render.align(columns, out, "  ")
end

local function failures(members)
   local out = {}
   for _, member in ipairs(members) do
      if (member.status or 0) ~= 0 then
         out[#out + 1] = ("  Rank %s ended with status %d."):format(label(member), member.status)
      end
   end
   return out
end

local function outlier_line(rows, what)
   local row, differ = ranks.outlier(rows)
   if not row and differ then return { "  None stands out beyond what may be chance." } end
   if not row then return { "  All are alike, within a tenth of the mean." } end
   local text = ("  %s %s stands out: %s is %.2f times the mean"):format(what, label(row.max_of), row.name,
      row.imbalance)
   if row.chance then
      return { ("%s, in %d runs each (p %s)."):format(text, row.max_of.runs, render.chance(row.chance)) }
   end
   return { text .. ".", "  One run each cannot tell whether that is chance; stat -r measures several." }
end

-- Says how many ranks (or hosts) the mean of an event is of, if not all have the event.
local function partial_lines(members, rows, what)
   local out = {}
   for _, row in ipairs(rows) do
      if row.n < #members then
         out[#out + 1] = ("  %s: the mean is of %d of %d %ss."):format(row.name, row.n, #members, what)
      end
   end
   return out
end

local function add_block(lines, block)
   tables.append(lines, block)
   lines[#lines + 1] = ""
end

-- Adds the summary over ranks or hosts and, if `each` is true, the table of them.
local function add_table(lines, members, rows, what, each)
   add_block(lines, summary_lines(rows, what:lower()))
   local partial = partial_lines(members, rows, what:lower())
   if #partial > 0 then add_block(lines, partial) end
   if each then add_block(lines, member_lines(members, rows, what:lower())) end
end

--- Returns the counts of the ranks as text.
-- @tparam table gathered of `ranks.gather`
-- @tparam table args `per_rank`, `per_host`
-- @treturn {string,...} lines
-- @usage
-- local text = require("repl.parts.jobs.ranks").text({ members = {}, problems = {}, missing = {} }, {})
function ranks_text.text(gathered, args)
   local members, hosts = gathered.members, ranks.by_host(gathered.members)
   local rows = ranks.summary(members)
   local lines = { "", (" %s on %s:"):format(render.plural(#members, "rank"), render.plural(#hosts, "host")), "" }
   add_table(lines, members, rows, "Rank", args.per_rank)
   if args.per_host then add_table(lines, hosts, ranks.summary(hosts), "Host", true) end
   if #members > 1 then tables.append(lines, outlier_line(rows, "Rank")) end
   tables.append(lines, failures(members))
   for _, text in ipairs(gathered.missing) do lines[#lines + 1] = ("  %s."):format(render.printable(text)) end
   for _, problem in ipairs(gathered.problems) do lines[#lines + 1] = "  Left out: " .. render.printable(problem) end
   lines[#lines + 1] = ""
   return lines
end

-- --- CSV and JSON --------------------------------------------------------------------------------

local function csv_lines(rows, sep)
   local out = {}
   for i, row in ipairs(rows) do
      local low, high = row.min_of or {}, row.max_of or {}
      out[i] = render.csv({ row.name, row.unit or "", row.n, row.mean or "", row.min or "",
         low.rank or low.file or low.host or "", row.max or "", high.rank or high.file or high.host or "",
         row.imbalance and ("%.6f"):format(row.imbalance) or "" }, 9, sep)
   end
   return out
end

local function json_member(member)
   return { rank = member.rank, host = member.host, ranks = member.count, file = member.file, values = member.values,
      status = member.status }
end

local function json_members(members)
   return tables.map(members, json_member)
end

local function json_of(gathered)
   local rows, summary = ranks.summary(gathered.members), {}
   for i, row in ipairs(rows) do
      summary[i] = { event = row.name, unit = row.unit, n = row.n, sum = row.sum, mean = row.mean, min = row.min,
         max = row.max, imbalance = row.imbalance, ["min-rank"] = (row.min_of or {}).rank,
         ["max-rank"] = (row.max_of or {}).rank, ["min-file"] = (row.min_of or {}).file,
         ["max-file"] = (row.max_of or {}).file, ["min-host"] = (row.min_of or {}).host,
         ["max-host"] = (row.max_of or {}).host }
   end
   return render.json { summary = summary, ranks = json_members(gathered.members),
      hosts = json_members(ranks.by_host(gathered.members)), problems = gathered.problems,
      missing = gathered.missing }
end

local HEEDED = { "ranks", "per_rank", "per_host", "json", "x", "output", "append" }

--- Runs lpfm stat with the option ranks.
-- @tparam table args of the command line
-- @tparam {string,...} paths
-- @treturn number exit status: 1 if something was left out or is missing
function ranks_text.main(args, paths)
   options.heed(args, "--ranks", HEEDED)
   if #paths == 0 then options.fail("--ranks: expected the files that lpfm stat --json -o run.%%r.json wrote") end
   paths = input.expand(paths)
   if args.output then text_file.spare(options.file_name(args.output), paths) end
   local gathered = ranks.gather(paths)
   if #gathered.members == 0 then error(table.concat(gathered.problems, "; "), 0) end
   if args.json then
      options.write({ json_of(gathered) }, args.output or "-")
   elseif args.x then
      options.write(csv_lines(ranks.summary(gathered.members), args.x), args.output or "-")
   else
      options.write(ranks_text.text(gathered, args), args.output or "-")
   end
   return #gathered.problems + #gathered.missing > 0 and 1 or 0
end

return ranks_text
