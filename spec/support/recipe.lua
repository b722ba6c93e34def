-- SPDX-License-Identifier: MIT
--- Reads the recipes of CONTRIBUTING.md and kernel/README.md, and follows them in a copy of the
-- source tree.
local c = require "support.c"
local files = require "support.files"

local recipe = {}

--- Reads the recipe of a section.
-- @string document its path
-- @string title the section's
-- @treturn table `own`: new files, `{ path = text }`; `rows`: by path
-- `{ row, the list that it belongs to or nil }`; `copies`: `{ to = from }`
function recipe.read(document, title)
   local text = (files.read(document) .. "\n## "):match("\n##+ " .. title .. "\n(.-)\n##+ ")
   local out = { own = {}, rows = {}, copies = {} }
   for path, source in text:gmatch("\n`([^`\n]+)`:\n\n```%l+\n(.-\n)```\n") do out.own[path] = source end
   for path, row, rest in text:gmatch("In `([^`]+)` add the row%s`([^`]+)`([^`]*`?[^`]*`?)") do
      out.rows[path] = { row, rest:match("^%s+to `([%w.]+)`") }
   end
   for from, to in text:gmatch("Copy `([^`]+)` to `([^`]+)`") do out.copies[to] = from end
   assert(next(out.own) or next(out.rows) or next(out.copies), "no recipe under '" .. title .. "' of " .. document)
   return out
end

--- Returns the number of files that a recipe touches, according to CONTRIBUTING.md.
-- @string title of the recipe's section
-- @treturn int
function recipe.files_named(title)
   local anchor = title:lower():gsub(" ", "%%-")
   return tonumber(files.read("CONTRIBUTING.md"):match("| (%d+) | %[[^%]]*%]%([^)#]*#" .. anchor .. "%)"))
end

-- Adds a row: in C behind the last row of the list, "\tX(...)", where all rows but the last end in
-- a backslash; in Lua at the head of the list.
local function add_row(path, row, list)
   local lines, place = {}, nil
   for line in files.read(path):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = line
      if list and line:gsub("^local ", "") == list .. " = {" or not list and line:find("^\tX%(") then place = #lines end
   end
   assert(place, path .. " has no list " .. (list or "of rows X(...)"))
   lines[place] = lines[place] .. (list and "\n   " or " \\\n\t") .. row
   files.write(path, table.concat(lines, "\n") .. "\n")
end

-- Returns how many files of these folders are new or different in the copy.
local function touched(root, folders)
   local n = 0
   for _, folder in ipairs(folders) do
      local out = c.sh(("diff -rq %s %s/%s"):format(folder, root, folder))
      for _ in out:gmatch("[^\n]+") do n = n + 1 end
   end
   return n
end

--- Follows a recipe in a copy of the tree.
-- @string root the copy
-- @tparam {string,...} folders that the copy has
-- @string document
-- @string title
-- @treturn int how many files it has touched
function recipe.follow(root, folders, document, title)
   local steps, before = recipe.read(document, title), touched(root, folders)
   for to, from in pairs(steps.copies) do steps.own[to] = files.read(from) end
   for path, source in pairs(steps.own) do
      assert(not io.open(path), path .. " is there already")
      files.write(root .. "/" .. path, source)
   end
   for path, row in pairs(steps.rows) do add_row(root .. "/" .. path, unpack(row, 1, 2)) end
   return touched(root, folders) - before
end

return recipe
