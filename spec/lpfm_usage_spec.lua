-- SPDX-License-Identifier: MIT
-- The examples in the documentation of the C module run.

local lpfm = require "lpfm"
local handles = require "support.handles"
local dirent = require "posix.dirent"

local descriptors = handles.settled()

-- The whole @usage examples of a C file (they require what they use), with the function each belongs to.
local function examples(path)
   local file = assert(io.open(path))
   local text = file:read("*a")
   file:close()
   local found = {}
   for block in text:gmatch("/%*%*%*\n(.-)%*/") do
      local code = block:match("@usage(.*)")
      if code and code:find("require", 1, true) then
         found[#found + 1] = { name = block:match("@function ([%w_.:]+)") or block:match("@table ([%w_.]+)"),
            code = code:gsub("\n@.*", "\n") }
      end
   end
   return found
end

local files = dirent.dir("lpfm")
table.sort(files)

describe("the example of", function()
   before_each(function()
      assert(lpfm.machine("perf"))
   end)

   for _, name in ipairs(files) do
      if name:find("%.c$") then
         for _, example in ipairs(examples("lpfm/" .. name)) do
            it(tostring(example.name) .. " in " .. name .. " runs", function()
               local code = assert(loadstring(example.code, "=" .. name .. ": " .. tostring(example.name)))
               local printed = {}
               setfenv(code, setmetatable({ print = function(...) printed[#printed + 1] = select("#", ...) end },
                  { __index = _G }))
               code()
            end)
         end
      end
   end
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
