-- SPDX-License-Identifier: MIT
--- Runs the client program of a database.
-- @module pfm.store.client

local text_file = require "pfm.util.text_file"

local client = {}

local function take(path)
   local text = text_file.all(path) or ""
   os.remove(path)
   return (text:gsub("%s+$", ""))
end

--- What a program prints.
-- @string command of a shell
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string what it said of its failure
function client.read(command)
   local said = os.tmpname()
   local pipe = io.popen(("{ %s; } 2>%s </dev/null; echo $?"):format(command, said), "r")
   local text = pipe:read("*a")
   pipe:close()
   local out, status = text:match("^(.-)(%d+)\n$")
   local why = take(said)
   if status == "0" then return out end
   return nil, why ~= "" and why or ("%s failed (%s)"):format(command:match("%S+"), status or "killed")
end

--- Runs a program that reads. A slow one makes the writer wait.
-- @string command
-- @tparam table parts strings that it reads
-- @treturn[1] bool true
-- @return[2] nil
-- @treturn[2] string what it said of its failure
function client.write(command, parts)
   local said, status = os.tmpname(), os.tmpname()
   local pipe = io.popen(("{ %s; } >/dev/null 2>%s; echo $? >%s; cat >/dev/null"):format(command, said, status), "w")
   for _, part in ipairs(parts) do pipe:write(part) end
   pipe:close()
   local code, why = take(status), take(said)
   if code == "0" then return true end
   return nil, why ~= "" and why or ("%s failed (%s)"):format(command:match("%S+"), code ~= "" and code or "no room")
end

-- --- lines of values, as both databases write and read them -------------------------------------

local escapes = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r", ["\0"] = "" }
local letters = { t = "\t", n = "\n", r = "\r", b = "\b", f = "\f", ["0"] = "\0" }

--- A line of a table.
-- @tparam table values strings and numbers
-- @treturn string
function client.line(values)
   local out = {}
   for i, value in ipairs(values) do
      out[i] = type(value) == "number" and ("%.0f"):format(value) or (tostring(value):gsub("[\\\t\n\r%z]", escapes))
   end
   return table.concat(out, "\t") .. "\n"
end

--- The lines of a table.
-- @string text
-- @treturn table of tables of strings
function client.rows(text)
   local out = {}
   for line in text:gmatch("([^\n]*)\n") do
      local row = {}
      for cell in (line .. "\t"):gmatch("([^\t]*)\t") do
         row[#row + 1] = cell:gsub("\\(.)", function(letter) return letters[letter] or letter end)
      end
      out[#out + 1] = row
   end
   return out
end

--- The numbers in a cell that is a list.
-- @string cell
-- @treturn table of strings
function client.numbers(cell)
   local out = {}
   for number in cell:gmatch("%d+") do out[#out + 1] = number end
   return out
end

return client
