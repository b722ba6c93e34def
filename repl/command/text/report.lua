-- SPDX-License-Identifier: MIT
--- The results of pfm.analyze as lines of text.
-- @module repl.command.text.report

local analyze = require "pfm.analyze"
local render = require "pfm.render"
local collected = require "pfm.recording.stacks"
local tables = require "pfm.util.tables"
local stacks = require "pfm.stacks"

local report_text = {}

local BAR = 40      -- columns of the widest bar
local TOP = 3       -- keys listed for a phase, those with the largest shares
local LEAST = 0.5   -- percent; smaller nodes of a tree are not shown

local function value(n)
   return n and render.number(n % 1 == 0 and n or tonumber(("%.6g"):format(n))) or "-"
end

-- Adds a line above that names the event, if it is one of several.
local function name_event(lines, self, n, event)
   if event and #self.head.events > 1 then
      table.insert(lines, 1, ("# %s of %s"):format(render.plural(n, "sample"), event))
   end
   return lines
end

--- Returns the columns of rows' shares for `report_text.rows`. With call stacks, rows have a total,
-- which includes called functions, beside their own share.
-- @tparam {table,...} rows
-- @treturn {table,...} pairs of a title and a function that returns the text of a row
function report_text.shares(rows)
   local out = { { "percent", function(row) return ("%.2f%%"):format(row.percent) end },
      { "samples", function(row) return render.number(row.samples) end } }
   if rows[1] and rows[1].total then
      out[1][1] = "self"
      table.insert(out, 1, { "children", function(row) return ("%.2f%%"):format(row.total.percent) end })
   end
   return out
end

--- Makes lines of rows: numbers, the event if it is wanted, and the cells.
-- @tparam {table,...} columns of the numbers, as of `report_text.shares`
-- @tparam {string,...} titles of the rows' `cells`
-- @tparam {table,...} rows
-- @tparam[opt] boolean with_event
-- @string[opt="  "] indent
-- @treturn {string,...}
function report_text.rows(columns, titles, rows, with_event, indent)
   local heads, cells = {}, {}
   for i, column in ipairs(columns) do heads[i] = { title = column[1], right = column[1] ~= "" } end
   if with_event then heads[#heads + 1] = { title = "event" } end
   for _, title in ipairs(titles) do heads[#heads + 1] = { title = title } end
   for i, row in ipairs(rows) do
      local line = tables.map(columns, function(column) return column[2](row) end)
      if with_event then line[#line + 1] = row.event end
      for _, cell in ipairs(row.cells) do line[#line + 1] = cell end
      cells[i] = line
   end
   return render.align(heads, cells, indent or "  ")
end

--- Returns the phases of a recording.
-- @param self recording
-- @string by keys
-- @tparam table options of `analyze.phases`
-- @treturn {string,...}
-- @treturn table of `analyze.phases`
function report_text.phases(self, by, options)
   local rows, found, n = {}, analyze.phases(self, by, options), 0
   for i, phase in ipairs(found) do
      local names = {}
      for k = 1, math.min(TOP, #phase.rows) do
         names[k] = ("%s %.1f%%"):format(phase.rows[k].kind, phase.rows[k].percent)
      end
      rows[i] = { ("%.6f"):format(phase.from), ("%.6f"):format(phase.to), render.number(phase.samples),
         table.concat(names, ", ") }
      n = n + phase.samples
   end
   local lines = render.align({ { title = "from s", right = true }, { title = "to s", right = true },
      { title = "samples", right = true }, { title = by or "symbol" } }, n > 0 and rows or {}, "  ")
   if n == 0 then
      lines[#lines + 1] = "# no samples match"
   elseif found[1].from == found[#found].to then
      lines[#lines + 1] = "# the samples are of one moment: how long the phase lasted is not known"
   end
   return name_event(lines, self, n, found[1] and found[1].event), found
end

local function most(bins)
   local n = 1
   for _, bin in ipairs(bins) do n = math.max(n, bin.count) end
   return n
end

--- Returns the histogram of a value.
-- @param self recording
-- @param what of `analyze.histogram`
-- @tparam table options of `analyze.histogram`
-- @treturn {string,...}
-- @treturn table of `analyze.histogram`
function report_text.histogram(self, what, options)
   local h, rows = analyze.histogram(self, what, options), {}
   local highest = most(h.bins)
   for i, bin in ipairs(h.bins) do
      rows[i] = { value(bin.from), value(bin.to), render.number(bin.count),
         ("#"):rep(math.ceil(bin.count / highest * BAR)) }
   end
   local lines = render.align({ { title = "from", right = true }, { title = "below", right = true },
      { title = "samples", right = true }, { title = what } }, rows, "  ")
   table.insert(lines, 1, ("# %s of %s: mean %s, deviation %s, least %s, median %s, 90%% %s, 99%% %s, most %s"):format(
      render.plural(h.n, "value"), what, value(h.mean), value(h.deviation), value(h.min), value(h.median), value(h.p90),
      value(h.p99), value(h.max)))
   return name_event(lines, self, h.n, h.event), h
end

--- Says how two values correlate.
-- @param self recording
-- @param x of `analyze.correlate`
-- @param y
-- @tparam table options of `analyze.correlate`
-- @treturn {string,...}
-- @treturn table of `analyze.correlate`
function report_text.correlation(self, x, y, options)
   local c = analyze.correlate(self, x, y, options)
   if not c.r then
      local why = c.n < 2 and "two at least are needed" or ("%s or %s does not vary"):format(x, y)
      return name_event({ ("# %s: %s"):format(render.plural(c.n, "sample"), why) }, self, c.n, c.event), c
   end
   local lines = { ("# %s of %s, %s: means %s, %s"):format(render.plural(c.n, "sample"), x, y, value(c.mean_x),
      value(c.mean_y)) }
   lines[2] = ("r = %.4f%s"):format(c.r, c.low and (" (95%% between %.4f and %.4f)"):format(c.low, c.high) or "")
   lines[3] = ("%s = %s + %s * %s"):format(y, value(c.intercept), value(c.slope), x)
   return name_event(lines, self, c.n, c.event), c
end

local function count(node)
   local n = #node.children
   for _, child in ipairs(node.children) do n = n + count(child) end
   return n
end

-- Adds the rows of the nodes below a node, except nodes of less than `limit` percent and what is
-- below these; returns how many nodes are left out.
local function add_nodes(rows, node, depth, limit)
   local hidden = 0
   for _, child in ipairs(node.children) do
      if child.percent >= limit then
         rows[#rows + 1] = { ("%.2f%%"):format(child.percent), ("%.2f%%"):format(child.self.percent),
            render.number(child.samples), (" "):rep(2 * depth) .. render.printable(child.name) }
         hidden = hidden + add_nodes(rows, child, depth + 1, limit)
      else
         hidden = hidden + 1 + count(child)
      end
   end
   return hidden
end

-- Removes the nodes below a node that have less than `limit` percent.
local function prune(node, limit)
   local kept = {}
   for _, child in ipairs(node.children) do
      if child.percent >= limit then
         kept[#kept + 1] = child
         prune(child, limit)
      end
   end
   node.children = kept
end

--- Returns the tree of calls.
-- @param self recording
-- @tparam table options of `stacks.tree`
-- @number[opt] limit percent of the smallest node in the lines and in the tree; by default the tree
-- is whole, and the lines show nodes of 0.5 or more
-- @treturn {string,...}
-- @treturn table of `stacks.tree`
function report_text.tree(self, options, limit)
   local tree, rows = stacks.tree(self, options), {}
   local hidden = add_nodes(rows, tree, 0, limit or LEAST)
   local lines = render.align({ { title = options.order == "callee" and "percent" or "children", right = true },
      { title = "self", right = true }, { title = "samples", right = true },
      { title = options.order == "callee" and "called, and by whom" or "calling, and whom" } }, rows, "  ")
   if #tree.children == 0 then lines[#lines + 1] = "# no samples match" end
   if hidden > 0 then lines[#lines + 1] = ("# and %s"):format(render.plural(hidden, "more row")) end
   if limit then prune(tree, limit) end
   return name_event(lines, self, tree.samples, collected.event(self, options.event).name), tree
end

--- Returns derived metrics by row.
-- @param self recording
-- @tparam table result of `analyze.by`
-- @tparam table formulas of `analyze.derive`
-- @int[opt] top how many rows
-- @treturn {string,...}
-- @treturn table of `analyze.derive`
function report_text.derived(self, result, formulas, top)
   local names = tables.keys(formulas)
   local columns = { { "samples", function(row) return render.number(row.counts.samples) end } }
   for i, name in ipairs(names) do columns[i + 1] = { name, function(row) return value(row.metrics[name]) end } end
   local list = analyze.derive(self, result, formulas)
   local hidden = 0
   while #list > (top or math.huge) do
      hidden, list[#list] = hidden + 1, nil
   end
   local lines = report_text.rows(columns, result.titles, list)
   for _, row in ipairs(list) do
      for _, name in ipairs(names) do row.metrics[name] = row.metrics[name] or render.null end
   end
   if hidden > 0 then lines[#lines + 1] = ("# and %s"):format(render.plural(hidden, "more row")) end
   return lines, list
end

return report_text
