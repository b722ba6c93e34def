-- SPDX-License-Identifier: MIT
--- Formats values for notebooks: as text, and some also as HTML tables or pictures.
-- @module repl.parts.notebook.bundle

local plot = require "pfm.plot"
local show = require "repl.prompt.show"

local bundle = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

local function html(text)
   return (text:gsub("[&<>]", escapes))
end

local function table_row(tag, columns, cells)
   local out = {}
   for i, column in ipairs(columns) do
      local align = column.right and "right" or "left"
      out[i] = ('<%s style="text-align:%s">%s</%s>'):format(tag, align, html(cells[i]), tag)
   end
   return "<tr>" .. table.concat(out) .. "</tr>\n"
end

local function html_table(columns, rows, more)
   local titles, out = {}, {}
   for i, column in ipairs(columns) do titles[i] = column.title end
   for i, row in ipairs(rows) do out[i] = table_row("td", columns, row) end
   return ("<table>\n<thead>%s</thead>\n<tbody>\n%s</tbody></table>%s"):format(table_row("th", columns, titles),
      table.concat(out), more and "<p>" .. html(more) .. "</p>" or "")
end

--- Formats results for a notebook, by MIME type.
-- @tparam table results values, and their number n
-- @treturn ?table nil if there is nothing to show
-- @usage require("repl.parts.notebook.bundle").of({ n = 1, lpfm.pmds() })["text/html"]
function bundle.of(results)
   if results.n == 0 then return nil end
   local value, parts, out = results[1], {}, {}
   if results.n == 1 and plot.is_figure(value) then
      out["image/svg+xml"] = value:svg()
      out["text/plain"] = value:text { colour = false, utf8 = true }
      return out
   end
   for i = 1, results.n do parts[i] = show.text((results[i])) end
   out["text/plain"] = table.concat(parts, "\t")
   if results.n == 1 and show.columns(value) then
      out["text/html"] = html_table(show.columns(value))
   elseif results.n == 1 and type(value) == "table" and type((getmetatable(value) or {}).html) == "function" then
      out["text/html"] = getmetatable(value).html()
   end
   return out
end

return bundle
