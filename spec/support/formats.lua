-- SPDX-License-Identifier: MIT
--- Runs the program of spec/c/formats, which tests sampling formats, and the core from within.
local c = require "support.c"

local formats = {}

--- Builds the program.
function formats.make()
   c.make("-f Makefile -f spec/c/formats/formats.mk build/spec/formats")
end

--- Runs a case, and raises its output if it fails. Without a case, returns the names of all, one
-- per line.
function formats.run(case)
   local out, status = c.sh("LD_PRELOAD= build/spec/formats " .. (case or ""))
   assert(status == 0, out)
   return out
end

return formats
