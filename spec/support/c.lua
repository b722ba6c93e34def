-- SPDX-License-Identifier: MIT
--- Compiles C programs of spec/c/* against the built libperfmon, and runs commands.
local busted = require "busted"
local assert = require "luassert"

local build = os.getenv("LPFM_BUILD") or "build"

local c = { program = build .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm" }

local prebuilt = os.getenv("LPFM_PREBUILT") -- the folder of programs that were built elsewhere

--- Starts a shell command. Returns a function that waits for its end and returns what sh() does.
function c.background(command)
   local pipe = assert(io.popen("( " .. command .. " ) 2>&1; echo \"@status $?\"", "r"))
   return function()
      local text = pipe:read("*a")
      pipe:close()
      local out, status = text:match("^(.*)@status (%d+)\n$")
      return out, tonumber(status)
   end
end

--- Runs a shell command; returns its output (both streams), and its exit status.
function c.sh(command)
   return c.background(command)()
end

--- Runs a shell command, which must succeed; returns its output.
function c.must(command)
   local out, status = c.sh(command)
   assert(status == 0, command .. ": " .. out)
   return out
end

--- Runs lpfm, of the interpreter that the specs run under, with a line of arguments; returns what
-- sh() does.
function c.lpfm(line)
   return c.sh(c.program .. " " .. line)
end

--- Runs commands that must fail. Each case has what `run` gets, the exit status, and a text that
-- the output must contain; no output may contain a traceback.
function c.fail(cases, run)
   for _, case in ipairs(cases) do
      local out, status = run(case[1])
      assert.equal(case[2], status, case[1] .. ": " .. out)
      assert.truthy(out:find(case[3], 1, true), case[1] .. ": " .. out)
      assert.falsy(out:find("traceback", 1, true), out)
   end
end

--- Makes a folder; returns its path.
function c.new_folder()
   local path = os.tmpname()
   assert(os.remove(path) and select(2, c.sh("mkdir " .. path)) == 0)
   return path
end

--- Makes a folder, which is removed after the tests of the file or block that asks for it; returns
-- its path.
function c.folder()
   local path = c.new_folder()
   busted.teardown(function() c.sh("rm -rf " .. path) end)
   return path
end

--- Returns the first of some programs that is not installed; nil if all are, or no programs are
-- given.
function c.missing(names)
   for _, name in ipairs(names or {}) do
      if select(2, c.sh("command -v " .. name)) ~= 0 then return name end
   end
end

--- Makes a target, usually one of spec/fuzz/build.mk, and returns it. It holds a lock, since spec
-- files that run at the same time make the same objects.
function c.make(target)
   if prebuilt then
      busted.pending("there is nothing here to make " .. target .. " with")
   end
   local out, status = c.sh("mkdir -p build/spec && env -u LD_PRELOAD -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "
      .. "flock build/spec/lock make -j2 LPFM_READY=1 " .. target)
   assert(status == 0, out)
   return target
end

local function built(name)
   local program = prebuilt .. "/" .. name
   if not io.open(program) then
      busted.pending("there is no compiler here, and " .. name .. " was not built before")
   end
   return program
end

local function build_program(name, sources, flags, compiler)
   if prebuilt then
      return built(name)
   end
   local program = build .. "/spec/" .. name
   local new = program .. ".$$" -- renamed when done: another run may be using the old one
   local out, status = c.sh(table.concat({ "mkdir -p", build .. "/spec", "&& LD_PRELOAD=",
      compiler or "gcc -std=gnu11 -D_GNU_SOURCE", "-O2 -g -Wall -Wextra -Werror -o", new, sources, "-pthread",
      flags or "", "&& mv -f", new, program }, " "))
   assert(status == 0, out)
   return program
end

--- Compiles spec/c/*/NAME.c, a program that uses libperfmon, into the build directory; returns its
-- path.
-- @param name the file's name without .c
-- @param flags further compiler flags
-- @param include where its headers are; kernel/include
function c.compile(name, flags, include)
   local san = build:match("/san$") and "-fsanitize=address,undefined" or ""
   local sources = ("%s -I%s spec/c/*/%s.c -L%s -lperfmon -Wl,-rpath,%s"):format(san, include or "kernel/include",
      name, build, build)
   return build_program(name, sources, flags)
end

--- Compiles spec/c/*/NAME.cpp, as `compile` does; nil where there is no compiler for it.
-- @param name the file's name without .cpp
-- @param flags further compiler flags
function c.compile_cpp(name, flags)
   if prebuilt or select(2, c.sh("command -v g++")) ~= 0 then return nil end
   local san = build:match("/san$") and "-fsanitize=address,undefined" or ""
   local sources = ("%s -Ikernel/include spec/c/*/%s.cpp -L%s -Wl,-rpath,%s"):format(san, name, build, build)
   return build_program(name, sources, flags, "g++ -std=c++98 -pedantic")
end

--- Compiles spec/c/*/NAME.c, a program to be measured, which has no sanitizers in any build.
-- @param name the file's name without .c
-- @param flags further compiler flags
-- @param as the program's name; NAME
function c.target(name, flags, as)
   return build_program(as or name, "spec/c/*/" .. name .. ".c", flags)
end

return c
