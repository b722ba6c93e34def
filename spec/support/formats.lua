-- SPDX-License-Identifier: MIT
--- The program of spec/c/formats: sampling formats, and what else can only be seen inside the core.
local c = require "support.c"

local formats = {}

--- Builds it, if need be.
function formats.make()
   c.make("-f Makefile -f spec/c/formats/formats.mk build/spec/formats")
end

--- Runs one case; raises with its output if it fails. Without a case, the names of all, a line each.
function formats.run(case)
   local out, status = c.sh("LD_PRELOAD= build/spec/formats " .. (case or ""))
   assert(status == 0, out)
   return out
end

return formats
