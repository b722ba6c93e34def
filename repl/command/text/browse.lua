-- SPDX-License-Identifier: MIT
--- An interactive report on a terminal, with rows to unfold, to select and to annotate.
-- @module repl.command.text.browse

local analyze = require "pfm.analyze"
local annotate = require "repl.command.annotate"
local render = require "pfm.render"
local screen = require "repl.screen"
local tables = require "pfm.util.tables"

local browse = {}

local WARNINGS = 2    -- warnings shown at most
local NEIGHBOURS = 10 -- callers and callees shown of an unfolded row
local LEAST = 0.5     -- percent; the smallest node of an unfolded tree
local STEP = 8        -- columns that a key scrolls
local OBJECT = 20     -- columns for the name of a program or library
local HOT, WARM = 5, 0.5          -- percent; rows from these on are red, or green, as in perf
local HOT_CODE, WARM_CODE = 10, 1 -- the same for lines of code, as in lpfm annotate
local HELP = {
   "up, down, PgUp, PgDn, Home, End   go through the rows",
   "left, right   scroll sideways, beside the numbers",
   "Enter   of a function with +: what called it, what it called; of those: go there",
   "e       the whole tree of a function: of its callers, and of what it called; functions of at least 0.5 %",
   "E       the whole trees of all functions of at least 0.5 %; or fold all again",
   "s       sort by what functions have themselves, or by what they and those they called have",
   "a       the function's source and instructions",
   "/ n     search; the next one",
   "t o     one thread; one program or library; or all again",
   "q Esc   back; q on the first page leaves",
   "?       this page",
   "",
   "red: at least 5 %; green: at least 0.5 %.  [k]: a function of the kernel",
}
local KEYS = "? help, q quits, Enter unfolds, e whole tree, s sorts, a code, / search, t, o"

-- --- pages: a title, lines, and a cursor ---------------------------------------------------------

local function clamp(n, low, high) return math.max(low, math.min(high, n)) end

local moves = {
   up = function(p) return p.at - 1 end, down = function(p) return p.at + 1 end, k = function(p) return p.at - 1 end,
   j = function(p) return p.at + 1 end, home = function() return 1 end, ["end"] = function(p) return #p.lines end,
   ["page up"] = function(p, room) return p.at - room end, ["page down"] = function(p, room) return p.at + room end,
   [" "] = function(p, room) return p.at + room end,
}

-- Returns a text without its first n characters.
local function utf8_from(text, n)
   for _ = 1, n do text = text:gsub("^[%z\1-\127\192-\255][\128-\191]*", "", 1) end
   return text
end

local function shade(text, percent, hot, warm)
   if percent >= hot then return "\27[31m" .. text .. "\27[0m" end
   return percent >= warm and "\27[32m" .. text .. "\27[0m" or text
end

-- Colours the shares at the beginning of a row.
local function paint_shares(text)
   return (text:gsub("%f[%d]%d+%.%d%d%%", function(share)
      return shade(share, tonumber(share:sub(1, -2)), HOT, WARM)
   end))
end

-- Colours the share of a line of code.
local function paint_code(text)
   return (text:gsub("^(.?%s*)(%d+%.%d%d)( |)", function(before, share, behind)
      return before .. shade(share, tonumber(share), HOT_CODE, WARM_CODE) .. behind
   end))
end

-- Returns the number of lines that the terminal has between the heads and the foot of a page.
local function room_of(page)
   local _, height = screen.size()
   return math.max(1, height - #page.heads - 1)
end

local function draw(page)
   local room, lines = room_of(page), {}
   local function scrolled(text) -- scrolls the text right of the numbers
      if page.left == 0 then return text end
      return text:sub(1, page.fixed) .. utf8_from(text:sub(page.fixed + 1), page.left)
   end
   page.at = clamp(page.at, 1, math.max(1, #page.lines))
   page.top = clamp(page.top or 1, page.at - room + 1, page.at)
   page.top = clamp(page.top, 1, math.max(1, #page.lines - room + 1))
   for i, head in ipairs(page.heads) do lines[i] = i == page.titled and " " .. scrolled(head) or head end
   for i = page.top, math.min(#page.lines, page.top + room - 1) do
      lines[#lines + 1] = (i == page.at and ">" or " ") .. scrolled(page.lines[i])
   end
   local marked = #page.lines > 0 and #page.heads + page.at - page.top + 1 or nil
   for _ = #lines + 1, #page.heads + room do lines[#lines + 1] = "" end
   lines[#lines + 1] = page.note or page.foot
   screen.draw(lines, marked, function(text, i)
      return i > #page.heads and page.paint and page.paint(text) or text
   end)
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

-- Handles a key while text is typed on the last line.
local function type_word(page, key)
   if key == "enter" then
      page.word, page.typed = page.typed ~= "" and page.typed or page.word, nil
      return find(page)
   end
   if key == "escape" then page.typed = nil end
   if key == "backspace" then page.typed = page.typed:gsub("[^\128-\191][\128-\191]*$", "") end
   if #key == 1 then page.typed = page.typed .. key end
end

-- --- the stack of pages --------------------------------------------------------------------------

local function longest(page)
   local n = 0
   for _, line in ipairs(page.lines) do n = math.max(n, render.width(line)) end
   return n
end

local function push(view, page)
   page.at, page.left, page.fixed = 1, 0, page.fixed or 0
   view.pages[#view.pages + 1] = page
end

local function push_lines(view, title, lines, paint, fixed)
   push(view, { heads = { title, "" }, lines = lines, foot = "q goes back, / searches, left and right scroll", on = {},
      paint = paint, fixed = fixed })
end

--- Draws the topmost page.
-- @tparam table view of `browse.open`
function browse.draw(view)
   local page = view.pages[#view.pages]
   if page.typed then page.note = "/" .. page.typed end
   draw(page)
end

--- Handles a key.
-- @tparam table view of `browse.open`
-- @string key of `screen.key`
-- @treturn boolean true if the user leaves
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
   elseif key == "right" then
      page.left = clamp(page.left + STEP, 0, math.max(0, longest(page) - page.fixed - STEP))
   elseif key == "left" then
      page.left = math.max(0, page.left - STEP)
   elseif key == "/" then
      page.typed = ""
   elseif key == "n" then
      find(page)
   elseif page.on[key] then
      page.on[key](view, page)
   end
   return false
end

-- --- what called a function, and what it called --------------------------------------------------

local function new_node(name)
   return { name = name, events = 0, children = {}, by_name = {} }
end

-- Adds the functions of a stack from names[from] to names[to], callers or callees of a function, to
-- the tree below `node`: each becomes a child of the one before. A function that calls itself is
-- added once. If `deep` is false, only the first one is added.
local function add_way(node, names, from, to, step, deep, events)
   for i = from, to, step do
      local name = names[i]
      if name ~= node.name then
         local child = node.by_name[name] or tables.enter(node.by_name, name, new_node(name), node.children)
         child.events, node = child.events + events, child
         if not deep then return end
      end
   end
end

local function by_events(a, b)
   if a.events ~= b.events then return a.events > b.events end
   return a.name < b.name
end

local function add_lines(out, node, whole, word, depth, deep)
   table.sort(node.children, by_events)
   for i, child in ipairs(node.children) do
      local percent = child.events / whole * 100
      if deep and percent < LEAST or not deep and i > NEIGHBOURS then break end
      out[#out + 1] = { name = child.name, share = ("%14.2f%%  "):format(percent),
         text = ("%s%s %s"):format(("  "):rep(depth), word, child.name) }
      add_lines(out, child, whole, word, depth + 1, deep)
   end
end

-- Unfolds several rows, for which it reads all stacks once; `how` is "near" or "whole" for each
-- row. If a function is in a stack several times, its outermost call counts, as on the page of lpfm
-- report --html.
local function unfold_rows(view, how)
   if next(how) == nil then return end
   local wanted, whole = {}, {} -- by event; false: for any event
   for row, depth in pairs(how) do
      local of_event = wanted[row.event or false] or {}
      wanted[row.event or false] = of_event
      of_event[row.symbol] = of_event[row.symbol]
         or { callers = new_node(row.symbol), callees = new_node(row.symbol), deep = depth == "whole" }
   end
   analyze.stacks(view.self, "symbol", { filter = view.filter }, function(s, names)
      for event, rows in pairs(wanted) do
         if not event or s.event == event then
            whole[event] = (whole[event] or 0) + s.events
            local seen = {}
            for i = #names, 1, -1 do
               local found = not seen[names[i]] and rows[names[i]]
               seen[names[i]] = true
               if found then
                  add_way(found.callers, names, i + 1, #names, 1, found.deep, s.events)
                  add_way(found.callees, names, i - 1, 1, -1, found.deep, s.events)
               end
            end
         end
      end
   end)
   for row, depth in pairs(how) do
      local event = row.event or false
      local found, lines = wanted[event][row.symbol], {}
      add_lines(lines, found.callers, whole[event] or 1, "called by", 0, found.deep)
      add_lines(lines, found.callees, whole[event] or 1, "calls", 0, found.deep)
      row.unfolded, row.depth = lines, depth
   end
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

-- Returns the rows as they are shown: names of objects are shortened and, if both symbol and object
-- are among the keys, [k] marks functions of the kernel and [.] others.
local function shown_rows(result)
   local symbol, object, out = tables.find(result.titles, "symbol"), tables.find(result.titles, "object"), {}
   for i, row in ipairs(result.rows) do
      row.symbol = symbol and row.cells[symbol]
      local cells = { unpack(row.cells) }
      if symbol and object then
         cells[symbol] = (cells[object] == "[kernel]" and "[k] " or "[.] ") .. cells[symbol]
      end
      if object then cells[object] = render.shorten(cells[object], OBJECT) end
      out[i] = setmetatable({ cells = cells }, { __index = row })
   end
   return out
end

--- Sorts rows by their own share, without the functions that they called.
-- @tparam table rows
-- @treturn table the rows
function browse.by_self(rows)
   table.sort(rows, function(a, b)
      if a.events ~= b.events then return a.events > b.events end
      return same_as(a) < same_as(b)
   end)
   return rows
end

-- Fills a page with the rows and their unfolded trees. `page.what` gets for each line its row and,
-- for a line of a tree, the name of its function.
local function fill(view, page)
   local result = view.result
   local text = view.lines_of(view.self, result, shown_rows(result))
   local by = view.by_self and ", sorted by self" or ""
   page.heads = { view.heading(result, words_of_filter(view.filter) .. by) }
   for i = 1, math.min(WARNINGS, #view.warnings) do page.heads[i + 1] = "Warning: " .. view.warnings[i] end
   page.heads[#page.heads + 1] = ""
   page.heads[#page.heads + 1] = text[1]
   page.titled, page.fixed = #page.heads, select(2, text[1]:find("samples", 1, true)) + 2
   page.lines, page.what = {}, {}
   for i, row in ipairs(result.rows) do
      local mark = view.self:has_stacks() and row.symbol and (row.unfolded and "-" or "+") or " "
      page.lines[#page.lines + 1], page.what[#page.what + 1] = mark .. text[i + 1]:sub(2), { row = row }
      for _, line in ipairs(row.unfolded or {}) do
         page.what[#page.what + 1] = { name = line.name, row = row }
         page.lines[#page.lines + 1] = line.share .. (" "):rep(page.fixed - #line.share) .. line.text
      end
   end
   if #page.lines == 0 then page.note = view.filter and next(view.filter) and "no samples match" or "no samples yet" end
end

--- Sorts the samples again; the cursor stays on its row, and rows remain unfolded.
-- @tparam table view of `browse.open`
function browse.refresh(view)
   local page, unfolded = view.pages[1], {}
   local at = page.what and page.what[page.at]
   local on_row, of_name = at and same_as(at.row), at and at.name
   for _, what in ipairs(page.what or {}) do unfolded[same_as(what.row)] = what.row.unfolded and what.row.depth end
   view.result = view.sort(view.filter, view.by_self)
   shown_rows(view.result)
   local how = {}
   for _, row in ipairs(view.result.rows) do how[row] = unfolded[same_as(row)] end
   unfold_rows(view, how)
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

-- Unfolds rows. While sampling goes on, all rows are sorted again, so that all shares are of the
-- same samples.
local function show_unfolded(view, page, how)
   if not view.live then
      unfold_rows(view, how)
      return fill(view, page)
   end
   for row, depth in pairs(how) do row.unfolded, row.depth = {}, depth end
   browse.refresh(view)
end

-- Moves the cursor to a row.
local function stay_on(page, row)
   for i, what in ipairs(page.what) do
      if not what.name and same_as(what.row) == same_as(row) then page.at = i end
   end
end

-- Unfolds a row, or folds it if it is unfolded to this depth.
local function unfold(view, page, depth)
   local what = page.what[page.at]
   if not what then return end
   if what.name and depth == "near" then return go_to(page, what.name) end
   local row = what.row
   if not view.self:has_stacks() then
      page.note = "what called what is not recorded: that takes -g"
   elseif not row.symbol then
      page.note = "only functions unfold: -s symbol"
   else
      local again = row.unfolded and row.depth == depth
      row.unfolded = nil
      show_unfolded(view, page, not again and { [row] = depth } or {})
      stay_on(page, row)
   end
end

-- Unfolds the whole trees of all functions, or folds all rows.
local function unfold_all(view, page)
   if not view.self:has_stacks() or not page.what[1] or not page.what[1].row.symbol then
      return unfold(view, page, "whole")
   end
   local how, any = {}, false
   for _, row in ipairs(view.result.rows) do
      any, row.unfolded = any or row.unfolded ~= nil, nil
      if (row.total or row).percent >= LEAST then how[row] = "whole" end
   end
   local row = page.what[page.at].row
   show_unfolded(view, page, not any and how or {})
   stay_on(page, row)
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
   push_lines(view, "lpfm annotate: " .. name, lines, paint_code, #"  100.00 | ")
end

local ALL = "all"

-- Lets the user choose one thread or object, or all.
local function choose(view, field, by, value_of)
   local filter = tables.copy(view.filter)
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
   enter = function(view, page) unfold(view, page, "near") end,
   e = function(view, page) unfold(view, page, "whole") end,
   E = unfold_all, a = show_code,
   s = function(view, page)
      if not view.result.rows[1] or not view.result.rows[1].total then
         page.note = "all samples count where they lie: that what functions called counts, too, takes -g"
         return
      end
      view.by_self = not view.by_self
      browse.refresh(view)
      view.pages[1].at = 1
   end,
   t = function(view) choose(view, "tid", "thread", thread_of) end,
   o = function(view) choose(view, "object", "object", itself) end,
   ["?"] = function(view)
      local lines = tables.slice(HELP)
      lines[#lines + 1] = view.help
      push_lines(view, "The keys", lines)
   end,
}

--- Makes the view of a report, sorted and with its first page.
-- @tparam table view `self`, the recording; `sort(filter, by_self)`, which returns a result of
-- `pfm.analyze.by`; if by_self is true, its rows are in the order of `browse.by_self`;
-- `heading(result, words)`, the first line, with the filter in words; `lines_of(self, result,
-- rows)`, the title of the columns, and a line for each row; `filter`; `warnings`; `keys`,
-- functions `(view)` of further keys, and `help`, a line about these; `live`: sampling goes on
-- @treturn table the view
function browse.open(view)
   local on = setmetatable(view.keys or {}, { __index = actions })
   view.pages = { { foot = KEYS, at = 1, left = 0, fixed = 0, on = on, paint = paint_shares } }
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
