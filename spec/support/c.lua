-- SPDX-License-Identifier: MIT
--- C programs of spec/c, compiled against the built libperfmon and run.
local c = {}

local build = os.getenv("LPFM_BUILD") or "build"

--- Runs a shell command; returns its output (both streams), and its exit status.
function c.sh(command)
   local pipe = assert(io.popen("( " .. command .. " ) 2>&1; echo \"@status $?\"", "r"))
   local text = pipe:read("*a")
   pipe:close()
   local out, status = text:match("^(.*)@status (%d+)\n$")
   return out, tonumber(status)
end

--- Compiles spec/c/NAME.c into the build directory and returns the program's path.
-- @param name the file's name without .c
-- @param flags further compiler flags
function c.compile(name, flags)
   local program = build .. "/spec/" .. name
   local san = build:match("/san$") and "-fsanitize=address,undefined" or ""
   local out, status = c.sh(table.concat({ "mkdir -p", build .. "/spec", "&& LD_PRELOAD= gcc -std=gnu11 -D_GNU_SOURCE",
      "-O2 -g -Wall -Wextra -Werror", san, "-Ikernel/include -o", program, "spec/c/" .. name .. ".c", "-L" .. build,
      "-lperfmon -Wl,-rpath," .. build, "-pthread", flags or "" }, " "))
   assert(status == 0, out)
   return program
end

return c
