-- SPDX-License-Identifier: MIT
--- The hottest functions' instructions and source lines, as HTML to unfold.
-- @module pfm.export.html.code

local code = require "pfm.recording.code"
local escape = require "pfm.export.escape"
local render = require "pfm.render"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local section = {}

local FUNCTIONS, ROWS = 10, 300 -- functions that are shown, and rows of each
local AROUND = 4                -- rows beside one with samples
local HOT = 10                  -- percent of the samples that make a row hot

-- Returns rows of `percent` (or nil), `text`, `kind`: instructions, after their line if it changes.
local function rows_of(f, source)
   local out, before = {}, nil
   for _, i in ipairs(f.instructions) do
      local place = i.file and ("%s:%d"):format(stacks.base_name(i.file), i.line)
      if place and place ~= before then
         out[#out + 1] = { kind = "src", text = ("%s  %s"):format(place, source(i.file, i.line) or ""), samples = 0 }
         before = place
      end
      local text = ("%s: %s"):format(symbols.hex(i.address):sub(3), i.text:gsub("\t", " "))
      out[#out + 1] = { text = (text:gsub(":? $", "")), samples = i.samples, percent = i.percent,
         kind = i.percent >= HOT and "hot" or "" }
   end
   return out
end

-- Returns the rows to show: those with the most samples, and those beside them.
local function choose(rows)
   local order, keep, n = {}, {}, 0
   for i, row in ipairs(rows) do
      if row.samples > 0 then order[#order + 1] = i end
   end
   table.sort(order, function(a, b)
      if rows[a].samples ~= rows[b].samples then return rows[a].samples > rows[b].samples end
      return a < b
   end)
   for _, at in ipairs(order) do
      for i = math.max(1, at - AROUND), math.min(#rows, at + AROUND) do
         if not keep[i] and n < ROWS then keep[i], n = true, n + 1 end
      end
   end
   return keep
end

local function row_html(row)
   return ('<tr class="%s"><td class="n">%s</td><td>%s</td></tr>\n'):format(row.kind,
      row.samples > 0 and ("%.2f%%"):format(row.percent) or "", escape(row.text))
end

local function add_rows(out, rows)
   local keep, left = choose(rows), 0
   local function gap()
      if left > 0 then
         out[#out + 1] = ('<tr class="gap"><td></td><td>%s left out</td></tr>\n'):format(render.plural(left, "row"))
      end
      left = 0
   end
   for i, row in ipairs(rows) do
      if keep[i] then
         gap()
         out[#out + 1] = row_html(row)
      else
         left = left + 1
      end
   end
   gap()
end

local function notes(f)
   return f.why and ('<p class="soft">Only sampled addresses are shown: %s.</p>\n'):format(escape(f.why)) or ""
end

local TABLE = [[
<div class="scroll" tabindex="0" role="region" aria-label="code"><table class="code"><thead class="hidden">
<tr><th scope="col">share</th><th scope="col">code</th></tr></thead><tbody>
]]

local function add_function(out, f, event, source, open)
   out[#out + 1] = ('<details%s><summary><code>%s</code> in %s: %s of %s, %.2f%%</summary>\n%s'):format(
      open and " open" or "", escape(f.symbol), escape(f.object), render.plural(f.samples, "sample"),
      escape(event.name), f.percent, notes(f))
   out[#out + 1] = TABLE
   add_rows(out, rows_of(f, source))
   out[#out + 1] = "</tbody></table></div></details>\n"
end

--- Returns the section about code.
-- @tparam table self of `recording.open`
-- @string[opt] event its name; by default the first
-- @treturn string HTML; where the code cannot be shown, why
function section.html(self, event)
   local sampled, source = stacks.event(self, event), code.source_reader()
   local ok, list = pcall(code.functions, self, nil, { top = FUNCTIONS, event = sampled.name, partly = true })
   if not ok then return '<p class="soft">Not shown: ' .. escape(tostring(list)) .. ".</p>\n" end
   local out = {}
   for i, f in ipairs(list) do add_function(out, f, sampled, source, i == 1) end
   return table.concat(out)
end

return section
