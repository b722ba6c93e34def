-- SPDX-License-Identifier: MIT
-- topics.lua - writes the pages of help for LDoc, which takes what looks like HTML as it is.
--   LUA_PATH='scripts/?.lua;?.lua' lua topics.lua FOLDER

local topics = require "repl.prompt.topics"

local FOLDER = ...

-- "`" and "@{" mean something to LDoc.
local codes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["`"] = "&#96;", ["@"] = "&#64;" }

-- Blocks are separated by empty lines: those that begin with spaces stay as they are, the others are paragraphs.
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
