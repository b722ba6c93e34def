-- SPDX-License-Identifier: MIT
--- The global names that the prompt adds to Lua's, also for scripts that were saved there. The
-- commands are functions, and the library's modules have the last part of their names:
-- `record("ls")`, `record.run{...}`.
-- @module repl.prompt.globals

local command = require "repl.command.rows"
local namespace = require "repl.prompt.namespace"
local parts = require "repl.parts"

local globals = {}

-- Functions that are not commands: each is the function `call` of module repl.prompt.NAME.
local calls = { "help", "watch" }

--- The error value that `quit()` raises.
globals.quitting = {}

-- The metatable of pfm and of the globals, which loads the library's modules at first use.
local on_demand = {
   modules = true, -- tells `repl.prompt.namespace` that fields can be modules
   __index = function(self, name)
      local module = namespace.module(name)
      local missing = not module and self == _G and parts.missing(name)
      if missing then error(("%s: %s"):format(name, missing), 0) end
      if not module then return nil end
      rawset(self, name, require(module))
      return rawget(self, name)
   end,
}

-- Returns the function of a command. If the library has a module of that name, the function has the
-- module's fields, too.
local function function_of(row)
   local function call(...) return command.module(row.name).call(...) end
   local module = namespace.module(row.name)
   if module then
      return setmetatable({}, {
         __call = function(_, ...) return call(...) end,
         __index = function(_, key) return require(module)[key] end,
         __tostring = function() return ("%s: a function, and the module %s"):format(row.name, module) end,
         module = module,
      })
   end
   return call
end

-- Former names of functions, which still work.
local former = { session = "job", sessions = "jobs" }

-- Functions of the prompt that are not the `call` of a module.
local own = {
   job = function(...) return require("repl.prompt.jobs").start(...) end,
   jobs = function() return require("repl.prompt.jobs").list() end,
   show = function(...) require("repl.prompt.show").print(...) end,
   --- Leaves the prompt.
   -- @function quit
   -- @prompt quit
   quit = function() error(globals.quitting, 0) end,
}

-- --- writing texts in pieces: a single write of a long text would be one C call, which Ctrl-C
-- cannot interrupt -------

local PIECE = 2 ^ 14 -- bytes, which even a slow terminal takes quickly
local jit = rawget(_G, "jit")

local function is_long(value)
   return type(value) == "string" and #value > PIECE
end

local function any_long(...)
   for i = 1, select("#", ...) do
      if is_long((select(i, ...))) then return true end
   end
   return false
end

-- Returns a write method for files that writes in pieces. The JIT is off for it, so that Ctrl-C can
-- interrupt it between two pieces.
local function in_pieces(write)
   local function write_pieces(file, ...)
      if not any_long(...) then return write(file, ...) end
      for i = 1, select("#", ...) do
         local value = select(i, ...)
         for at = 1, is_long(value) and #value or 1, PIECE do
            local ok, err, errno = write(file, is_long(value) and value:sub(at, at + PIECE - 1) or value)
            if not ok then return ok, err, errno end
         end
      end
      return write(file)
   end
   if jit then jit.off(write_pieces) end
   return write_pieces
end

local function print_in_pieces(...)
   for i = 1, select("#", ...) do io.stdout:write(i > 1 and "\t" or "", tostring((select(i, ...)))) end
   io.stdout:write("\n")
end

-- Makes print, io.write and the write method of files write in pieces.
local function write_in_pieces()
   if print == print_in_pieces then return end
   local methods = getmetatable(io.stdout).__index
   methods.write = in_pieces(methods.write)
   rawset(io, "write", function(...) return io.output():write(...) end)
   rawset(_G, "print", print_in_pieces)
end

-- --- the names -----------------------------------------------------------------------------------

--- Defines the global names, and makes tostring() of contexts describe how they are programmed.
function globals.provide()
   require("repl.prompt.counters").install()
   write_in_pieces()
   for _, row in ipairs(command.rows) do
      if row.call then rawset(_G, row.name, function_of(row)) end
   end
   for _, name in ipairs(calls) do
      rawset(_G, name, function(...) return require("repl.prompt." .. name).call(...) end)
   end
   for name, fn in pairs(own) do rawset(_G, name, fn) end
   for name, now in pairs(former) do rawset(_G, name, own[now]) end
   rawset(_G, "lpfm", require "lpfm")
   rawset(_G, "pfm", setmetatable({}, on_demand))
   setmetatable(_G, on_demand)
end

--- Returns the names of the functions, and of lpfm and pfm. `repl.prompt.namespace.modules` has
-- those of the library's modules.
-- @treturn table sorted
function globals.names()
   local out = { "lpfm", "pfm" }
   for _, row in ipairs(command.rows) do
      if row.call then out[#out + 1] = row.name end
   end
   for _, name in ipairs(calls) do out[#out + 1] = name end
   for name in pairs(own) do out[#out + 1] = name end
   table.sort(out)
   return out
end

--- Returns the name of a function that the prompt provides.
-- @param value
-- @return string or nil
function globals.name_of(value)
   for _, name in ipairs(globals.names()) do
      if value ~= nil and rawget(_G, name) == value then return name end
   end
end

return globals
