-- SPDX-License-Identifier: MIT
-- Each public function of the script library, called with missing and with wrong arguments: it
-- returns something that is a number where it is one, or nil and why; or its error names what is
-- wrong, and no line of the library.

local dirent = require "posix.dirent"
local lpfm = require "lpfm"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local reference = require "pfm.manual"

-- Functions that do something for ever, or with the whole computer, when their only argument is
-- left out or empty.
local WORKING = { ["pfm.system.count"] = true }

local function none() end
local VALUES = { {}, 1, "x", "7", true, none, { 1, 2 }, { "x" }, { {} }, lpfm.u64(5), { lpfm.u64(5), lpfm.u64(6) } }

-- Returns lists of arguments: none, one of each value, and each value as the second and as the
-- third one.
local function attempts()
   local out = { { n = 0 }, { n = 1 } }
   for _, first in ipairs(VALUES) do
      out[#out + 1] = { first, n = 1 }
      for _, second in ipairs(VALUES) do
         out[#out + 1] = { first, second, n = 2 }
         out[#out + 1] = { first, first, second, n = 3 }
      end
   end
   return out
end

local function is_number(value, depth)
   if type(value) == "number" then return value == value and math.abs(value) < math.huge end
   for _, element in pairs(type(value) == "table" and depth < 4 and value or {}) do
      if not is_number(element, depth + 1) then return false end
   end
   return true
end

-- Returns what is wrong with the answer of a call, or nil.
local function fault(ok, ...)
   if not ok then
      local message = tostring((...))
      local place = message:match("^[^\n:]*%.lua:%d+:")
      return place and not place:find("arguments_spec", 1, true) and message or nil
   end
   for i = 1, select("#", ...) do
      if not is_number((select(i, ...)), 1) then return "returns nan or infinity" end
   end
end

local function shown(arguments)
   local out = {}
   for i = 1, arguments.n do out[i] = type(arguments[i]) end
   return table.concat(out, ", ")
end

-- Returns the public functions of the script library by their names.
local function functions()
   local out = {}
   for _, module in ipairs(reference) do
      local ok, exports = pcall(require, module.name)
      for _, item in ipairs(ok and not module.private and module.name:find "^pfm%." and module.items or {}) do
         local of, own = item.name:match("^(.*)%.([%w_]+)$")
         local fn = of == module.name and type(exports) == "table" and exports[own]
         if type(fn) == "function" and not WORKING[item.name] then out[item.name] = fn end
      end
   end
   return out
end

describe("A function of the script library names wrong arguments:", function()
   local list = attempts()
   local all, home, folder = functions(), unistd.getcwd(), nil
   local path = package.path
   setup(function() -- "x" is the name of a file, too
      folder = assert(stdlib.mkdtemp "/tmp/arguments.XXXXXX")
      package.path = ((";" .. path):gsub(";([^/;])", ";" .. home .. "/%1"):sub(2))
      assert(unistd.chdir(folder))
   end)
   before_each(function() assert(lpfm.machine "perf") end)
   teardown(function()
      require("pfm.region").finish() -- what some of the calls have begun
      require("pfm.jitmap").stop()
      for name in dirent.files(folder) do os.remove(folder .. "/" .. name) end
      assert(unistd.chdir(home))
      assert(unistd.rmdir(folder))
      package.path = path
   end)

   for name, fn in pairs(all) do
      it(name, function()
         for _, arguments in ipairs(list) do
            local wrong = fault(pcall(fn, unpack(arguments, 1, arguments.n)))
            assert.is_nil(wrong, ("%s(%s): %s"):format(name, shown(arguments), wrong or ""))
         end
      end)
   end
end)

-- Makes an object of each class of the script library, by the name that the manual has for it.
local MAKERS = {
   ["pfm.recording"] = function()
      return require("pfm.recording").of { head = { events = { { name = "x", pmd = 4 } } }, blocks = {} }
   end,
   ["Loop"] = function() return require("pfm.loop").new() end,
   ["figure"] = function() return require("pfm.plot").bars { { "x", 1 } } end,
   ["map"] = function() return require("pfm.jitmap").parse "" end,
   ["dump"] = function() return require("pfm.jitdump").stored { functions = {}, lines = {}, files = {} } end,
   ["resolver"] = function() return require("pfm.symbols").resolver { kernel = false } end,
   ["pfm.program"] = function() return require("pfm.program").new { where = "tid == 1" } end,
   ["pfm.fleet.collector"] = function() return setmetatable({}, require "pfm.fleet.collector") end,
   ["pfm.fleet.store"] = function() return setmetatable({}, require "pfm.fleet.store") end,
}

describe("A method of the script library", function()
   for _, module in ipairs(reference) do
      local public = not module.private and module.name:find "^pfm%." and module.name ~= "pfm.ffi"
      for _, item in ipairs(public and module.items or {}) do
         local class, key = item.name:match("^([%w_.]+):([%w_]+)$")
         if class then
            it(item.name .. " says that it is called with a colon where its object is another value", function()
               local object = assert(MAKERS[class], "the spec makes no " .. class)()
               for _, value in ipairs { false, 5, "x", none, {}, setmetatable({}, { __index = object }) } do
                  local ok, message = pcall(object[key], value or nil)
                  assert.is_false(ok)
                  local words = key .. ": %w+ expected, got " .. type(value or nil)
                     .. ": a method is called with a colon, as in %w+:" .. key .. "%(%.%.%.%)$"
                  assert.truthy(message:find(words), message)
                  local place = message:match("^[^ ]*%.lua:")
                  assert.truthy(not place or place:find("arguments_spec", 1, true), message)
               end
            end)
         end
      end
   end
end)

describe("Loop:add", function()
   it("names what is no context, or closed, at the line of the call", function()
      local loop, ctx = require("pfm.loop").new(), assert(lpfm.create())
      ctx:close()
      for value, words in pairs { [io.stdout] = "loop:add: context expected, got userdata",
         [lpfm.u64(5)] = "loop:add: context expected, got userdata", [ctx] = "the context is closed" } do
         local ok, message = pcall(function() loop:add(value, none) end)
         assert.is_false(ok)
         assert.truthy(message:find("arguments_spec%.lua:%d+: " .. words .. "$"), message)
      end
   end)
end)

describe("A number that is too large, or none,", function()
   local function refused(n, name, fn)
      local ok, message = pcall(fn)
      assert.is_false(ok, name .. " of " .. n)
      assert.equal(name .. ": expected a whole number", message:match("^(.-: expected a whole number)"), message)
      assert.equal(n == n and tostring(n) or "nan", message:match("got (%S+)$"), name)
   end

   it("is refused where it is a count", function()
      local render, figure = require "pfm.render", require("pfm.plot").bars { { "x", 1 } }
      for _, n in ipairs { math.huge, -math.huge, 0 / 0, 2 ^ 64, 1e300, 0.5 } do
         refused(n, "render.csv: n", function() render.csv({}, n) end)
         refused(n, "decimals", function() render.number(1, n) end)
         refused(n, "width", function() figure:text { width = n } end)
         refused(n, "height", function() figure:text { height = n } end)
         refused(n, "width", function() figure:save("x.svg", { width = n }) end)
         refused(n, "height", function() figure:svg { height = n } end)
      end
   end)

   it("is refused where it is a width, but for math.huge", function()
      local render = require "pfm.render"
      for _, n in ipairs { -math.huge, 0 / 0, 2 ^ 64, 1e300, 0.5 } do
         refused(n, "render.cut: columns", function() render.cut("text", n) end)
         refused(n, "render.shorten: columns", function() render.shorten("text", n) end)
         refused(n, "render.sparkline: width", function() render.sparkline({ 1 }, n) end)
         refused(n, "render.wrap: width", function() render.wrap("text", n) end)
         refused(n, "doc.text: width", function() require("pfm.doc").text("lpfm.create", n) end)
      end
      assert.equal("text", render.shorten("text", math.huge))
   end)
end)

describe("A path with a zero byte", function()
   it("is refused, and not cut there", function()
      local recording, path = require "pfm.recording", "/nonexistent/a\0b"
      local recorded = MAKERS["pfm.recording"]()
      for _, call in ipairs {
         function() recording.open(path) end, function() recording.is_one(path) end,
         function() recording.create(path, { events = {} }) end,
         function() require("pfm.record").run({ command = { "true" } }, path) end,
         function() require("pfm.export").write(recorded, "csv", path) end,
         function() require("pfm.jitdump").read(path) end, function() require("pfm.jitmap").start(path) end,
         function() require("pfm.jobs.merge").files({ path }, "/nonexistent/c") end,
         function() require("pfm.jobs.ranks").gather { path } end,
         function() require("pfm.memtrace").record { command = { "true" }, file = path } end,
         function() require("pfm.plot").bars({ { "x", 1 } }):save(path) end,
         function() require("pfm.fleet.collector").new { spec = {}, folder = path, every = 1 } end,
      } do
         assert.error_matches(call, "^%S+ ?%S* expected a .*string.* zero byte")
      end
   end)
end)
