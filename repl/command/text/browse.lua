-- SPDX-License-Identifier: MIT
--- A report on a terminal: rows to walk through, to unfold, to select and to annotate.
-- @module repl.command.text.browse

local analyze = require "pfm.analyze"
local annotate = require "repl.command.annotate"
local screen = require "repl.screen"

local browse = {}

local WARNINGS = 2    -- shown
local NEIGHBOURS = 10 -- callers, and functions called, that a row unfolds to
local HELP = {
   "up, down, PgUp, PgDn, Home, End   go through the rows",
   "Enter   of a function: who called it, whom it called,",
   "        where there are call stacks; of those: go there",
   "a       the function's source and instructions",
   "/ n     search; the next one",
   "t o     one thread; one program or library; or all again",
   "q Esc   back; q on the first page leaves",
   "?       this page",
}
local KEYS = "? help, q quits, Enter unfolds, a annotates, / searches, t threads, o objects"

-- --- pages: a title, lines, and a cursor -----------------------------------------------------------

local function clamp(n, low, high) return math.max(low, math.min(high, n)) end

local moves = {
   up = function(p) return p.at - 1 end, down = function(p) return p.at + 1 end, k = function(p) return p.at - 1 end,
   j = function(p) return p.at + 1 end, home = function() return 1 end, ["end"] = function(p) return #p.lines end,
   ["page up"] = function(p, room) return p.at - room end, ["page down"] = function(p, room) return p.at + room end,
   [" "] = function(p, room) return p.at + room end,
}

-- Rows between the heads and the foot.
local function room_of(page)
   local _, height = screen.size()
   return math.max(1, height - #page.heads - 1)
end

local function draw(page)
   local room, lines = room_of(page), {}
   page.at = clamp(page.at, 1, math.max(1, #page.lines))
   page.top = clamp(page.top or 1, page.at - room + 1, page.at)
   page.top = clamp(page.top, 1, math.max(1, #page.lines - room + 1))
   for i, head in ipairs(page.heads) do lines[i] = head end
   for i = page.top, math.min(#page.lines, page.top + room - 1) do
      lines[#lines + 1] = (i == page.at and ">" or " ") .. page.lines[i]
   end
   local marked = #page.lines > 0 and #page.heads + page.at - page.top + 1 or nil
   for _ = #lines + 1, #page.heads + room do lines[#lines + 1] = "" end
   lines[#lines + 1] = page.note or page.foot
   screen.draw(lines, marked)
   page.note = nil
end

local function find(page)
   if not page.word or page.word == "" then return end
   for i = 1, #page.lines do
      local at = (page.at + i - 1) % #page.lines + 1
      if page.lines[at]:lower():find(page.word:lower(), 1, true) then
         page.at = at
         return
      end
   end
   page.note = ("'%s' is not in these rows"):format(page.word)
end

-- A key of the text that is being typed on the last line.
local function type_word(page, key)
   if key == "enter" then
      page.word, page.typed = page.typed ~= "" and page.typed or page.word, nil
      return find(page)
   end
   if key == "escape" then page.typed = nil end
   if key == "backspace" then page.typed = page.typed:gsub("[^\128-\191][\128-\191]*$", "") end
   if #key == 1 then page.typed = page.typed .. key end
end

-- --- pages on each other -------------------------------------------------------------------------

local function push(view, page)
   page.at = 1
   view.pages[#view.pages + 1] = page
end

local function push_lines(view, title, lines)
   push(view, { heads = { title, "" }, lines = lines, foot = "q goes back, / searches", on = {} })
end

--- Draws the page on top.
-- @tparam table view of `browse.open`
function browse.draw(view)
   local page = view.pages[#view.pages]
   if page.typed then page.note = "/" .. page.typed end
   draw(page)
end

--- Does what a key says.
-- @tparam table view of `browse.open`
-- @string key of `screen.key`
-- @treturn boolean true: the reader leaves
function browse.key(view, key)
   local page = view.pages[#view.pages]
   if key == "quit" then return true end
   if page.typed then
      type_word(page, key)
   elseif key == "q" or key == "escape" then
      if #view.pages == 1 then return key == "q" end
      view.pages[#view.pages] = nil
   elseif moves[key] then
      page.at = moves[key](page, room_of(page))
   elseif key == "/" then
      page.typed = ""
   elseif key == "n" then
      find(page)
   elseif page.on[key] then
      page.on[key](view, page)
   end
   return false
end

-- --- who called a function, and whom it called ---------------------------------------------------

local function listed(counts, whole, arrow)
   local names, out = {}, {}
   for name in pairs(counts) do names[#names + 1] = name end
   table.sort(names, function(a, b)
      if counts[a] ~= counts[b] then return counts[a] > counts[b] end
      return a < b
   end)
   for i = 1, math.min(NEIGHBOURS, #names) do
      out[i] = { name = names[i], text = ("%8.2f%%  %s %s"):format(counts[names[i]] / whole * 100, arrow, names[i]) }
   end
   return out
end

-- Of an event, or of all.
local function neighbours(view, name, event)
   local callers, callees, whole = {}, {}, 0
   analyze.stacks(view.self, "symbol", { filter = view.filter }, function(s, names)
      if event and s.event ~= event then return end
      whole = whole + s.events
      local seen = {}
      local function add(list, other, direction)
         if not other or seen[direction .. other] then return end
         list[other], seen[direction .. other] = (list[other] or 0) + s.events, true
      end
      for i, at in ipairs(names) do
         if at == name then
            add(callers, names[i + 1], "<")
            add(callees, names[i - 1], ">")
         end
      end
   end)
   local out = listed(callers, whole, "called by")
   for _, line in ipairs(listed(callees, whole, "calls")) do out[#out + 1] = line end
   return out
end

-- --- the report ----------------------------------------------------------------------------------

local function words_of_filter(filter)
   local out = {}
   for name, value in pairs(filter) do out[#out + 1] = name .. " " .. value end
   table.sort(out)
   return #out > 0 and ", " .. table.concat(out, ", ") or ""
end

local function same_as(row)
   return row and table.concat(row.cells, "\0") .. "\0" .. (row.event or "")
end

-- The lines of the rows, and of what they unfold to: `what` has for each line a row, perhaps a function's name.
local function fill(view, page)
   local result = view.result
   local text = view.lines_of(view.self, result, result.rows)
   page.heads = { view.heading(result, words_of_filter(view.filter)) }
   for i = 1, math.min(WARNINGS, #view.warnings) do page.heads[i + 1] = "Warning: " .. view.warnings[i] end
   page.heads[#page.heads + 1] = ""
   page.heads[#page.heads + 1] = " " .. text[1]
   page.lines, page.what = {}, {}
   for i, row in ipairs(result.rows) do
      page.lines[#page.lines + 1], page.what[#page.what + 1] = text[i + 1], { row = row }
      for _, line in ipairs(row.unfolded or {}) do
         page.lines[#page.lines + 1], page.what[#page.what + 1] = "      " .. line.text, { name = line.name, row = row }
      end
   end
   if #page.lines == 0 then page.note = view.filter and next(view.filter) and "no samples match" or "no samples yet" end
end

--- Sorts the samples anew; the cursor stays on its row, and what was unfolded is.
-- @tparam table view of `browse.open`
function browse.refresh(view)
   local page, unfolded = view.pages[1], {}
   local at = page.what and page.what[page.at]
   local on_row, of_name = at and same_as(at.row), at and at.name
   for _, what in ipairs(page.what or {}) do unfolded[same_as(what.row)] = what.row.unfolded ~= nil end
   view.result = view.sort(view.filter)
   for _, row in ipairs(view.result.rows) do
      if unfolded[same_as(row)] then row.unfolded = neighbours(view, row.symbol, row.event) end
   end
   fill(view, page)
   for i, what in ipairs(page.what) do
      if same_as(what.row) == on_row and (what.name == of_name or not what.name) then page.at = i end
      if same_as(what.row) == on_row and what.name == of_name then break end
   end
end

local function go_to(page, name)
   for i, what in ipairs(page.what) do
      if not what.name and what.row.symbol == name then page.at = i end
   end
   if page.what[page.at].name then page.note = "its row is not shown" end
end

local function unfold(view, page)
   local what = page.what[page.at]
   if not what then return end
   if what.name then return go_to(page, what.name) end
   local row = what.row
   if not view.self:has_stacks() then
      page.note = "who called what is not recorded: that takes -g"
   elseif not row.symbol then
      page.note = "only functions unfold: -s symbol"
   else
      row.unfolded = not row.unfolded and neighbours(view, row.symbol, row.event) or nil
      fill(view, page)
   end
end

local function show_code(view, page)
   local what = page.what[page.at]
   local name = what and (what.name or what.row.symbol)
   if not name then
      page.note = "only functions have code: -s symbol"
      return
   end
   local ok, lines = pcall(annotate.lines, view.self, name, { event = what.row.event, partly = true })
   if not ok then
      page.note = tostring(lines)
      return
   end
   push_lines(view, "lpfm annotate: " .. name, lines)
end

local ALL = "all"

-- Lets a person choose one thread or object, or all.
local function choose(view, field, by, value_of)
   local filter = {}
   for name, value in pairs(view.filter) do filter[name] = value end
   filter[field] = nil
   local rows = analyze.by(view.self, by, { filter = filter }).rows
   local lines = { ALL }
   for i, row in ipairs(rows) do lines[i + 1] = ("%8.2f%%  %s"):format(row.percent, row.cells[1]) end
   push(view, { heads = { ("Show only the samples of one %s"):format(by), "" }, lines = lines,
      foot = "Enter chooses, q goes back", on = { enter = function(_, page)
         filter[field] = page.at > 1 and value_of(rows[page.at - 1].cells[1]) or nil
         view.filter, view.pages[1].at, view.pages[2] = filter, 1, nil
         view.pages[1].what = nil
         browse.refresh(view)
      end } })
end

local function thread_of(cell) return cell:match("^%d+") end
local function itself(cell) return cell end

local actions = {
   enter = unfold, right = unfold, a = show_code,
   t = function(view) choose(view, "tid", "thread", thread_of) end,
   o = function(view) choose(view, "object", "object", itself) end,
   ["?"] = function(view) push_lines(view, "The keys", HELP) end,
}

--- Begins to show a report.
-- @tparam table view `self` (the recording), `sort(filter)`: the samples sorted, as `pfm.analyze.by` does;
-- `heading(result, words)`: the first line (words: of the filter), `lines_of(self, result, rows)`: the title of the
-- columns, and a line for each row; `filter`, `warnings`; `keys`: what keys of its own do, `(view)`
-- @treturn table the view
function browse.open(view)
   local on = setmetatable(view.keys or {}, { __index = actions })
   view.pages = { { foot = view.foot or KEYS, at = 1, on = on } }
   browse.refresh(view)
   return view
end

--- Shows a report until its reader leaves.
-- @tparam table view of `browse.open`
function browse.run(view)
   browse.open(view)
   screen.run(function()
      repeat browse.draw(view) until browse.key(view, screen.key())
   end)
end

return browse
