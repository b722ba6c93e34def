-- SPDX-License-Identifier: MIT
-- pages.lua - writes the pages of help as HTML, which LDoc keeps as it is.
--   LUA_PATH='scripts/?.lua;?.lua' lua repl/pages.lua FOLDER

local topics = require "repl.prompt.topics"

local FOLDER = ...

-- Characters with a meaning in HTML or, as "`" and "@{", for LDoc.
local codes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["`"] = "&#96;", ["@"] = "&#64;" }

-- Empty lines separate blocks: a block that begins with spaces is preformatted, others are
-- paragraphs.
local function html(text)
   local out = {}
   for block in (text:gsub("[&<>`@]", codes) .. "\n\n"):gmatch("(.-)\n\n+") do
      local tag = block:find("^ ") and "pre" or "p"
      out[#out + 1] = ("<%s>%s</%s>"):format(tag, block, tag)
   end
   return table.concat(out, "\n")
end

for _, name in ipairs(topics.names) do
   local file = assert(io.open(("%s/%s.md"):format(FOLDER, name), "w"))
   assert(file:write("<h1>", name, "</h1>\n<p><em>", topics.titles[name], "</em></p>\n", html(topics.pages[name])))
   assert(file:close())
end
