-- SPDX-License-Identifier: MIT
--- Runs the client program of a database.
-- @module pfm.store.client

local put = require "pfm.util.put"
local text_file = require "pfm.util.text_file"

local client = {}

local function take(path)
   return text_file.all(path) or ""
end

-- Runs a command that reads what is written and prints into a file. A signal that this process catches may cut short
-- what it writes, then it has not been written; it cannot do that to what it reads.
local function run_with(command, parts, printed, said, status)
   -- who was interrupted has removed the files
   local pipe = io.popen(("{ %s; } >%s 2>%s; code=$?; [ ! -e %s ] || echo $code >%s; cat >/dev/null"):format(command,
      printed, said, status, status), "w")
   local ok, err = true, nil
   for _, part in ipairs(parts) do
      if ok then ok, err = put(pipe, part) end
   end
   pipe:close()
   local code, why = take(status):match("%d+"), take(said):gsub("%s+$", "")
   if code == "0" and ok then return true end
   if why == "" then why = ("%s failed (%s)"):format(command:match("%S+"), code ~= "0" and code or err or "no room") end
   return nil, why
end

-- Calls a function with names of files, which are gone after it, even if it is interrupted.
local function with_files(n, fn)
   local names = {}
   local results = { pcall(function()
      for i = 1, n do names[i] = os.tmpname() end
      return fn(unpack(names))
   end) }
   for _, name in ipairs(names) do os.remove(name) end
   if not results[1] then error(results[2], 0) end
   return unpack(results, 2, 3)
end

--- What a program prints.
-- @string command of a shell
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string what it said of its failure
function client.read(command)
   return with_files(3, function(printed, said, status)
      local ok, why = run_with(command .. " </dev/null", {}, printed, said, status)
      if not ok then return nil, why end
      return take(printed)
   end)
end

--- Runs a program that reads. A slow one makes the writer wait.
-- @string command
-- @tparam table parts strings that it reads
-- @treturn[1] bool true
-- @return[2] nil
-- @treturn[2] string what it said of its failure
function client.write(command, parts)
   return with_files(2, function(said, status) return run_with(command, parts, "/dev/null", said, status) end)
end

-- --- lines of values, as both databases write and read them -------------------------------------

local escapes = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r", ["\0"] = "" }
local letters = { t = "\t", n = "\n", r = "\r", b = "\b", f = "\f", ["0"] = "\0" }

--- Some cells of a line.
-- @tparam table values strings and numbers
-- @treturn string
function client.cells(values)
   local out = {}
   for i, value in ipairs(values) do
      out[i] = type(value) == "number" and ("%.0f"):format(value) or (tostring(value):gsub("[\\\t\n\r%z]", escapes))
   end
   return table.concat(out, "\t")
end

--- A line of a table.
-- @tparam table values strings and numbers
-- @treturn string
function client.line(values)
   return client.cells(values) .. "\n"
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
