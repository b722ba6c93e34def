-- SPDX-License-Identifier: MIT
--- Gives the labs a folder of their own for what they remember, during the tests of a file; returns
-- its path.
local c = require "support.c"
local lpfm = require "lpfm"
local stdlib = require "posix.stdlib"
local judge = require "repl.lab.judge"
local busted = require "busted"

return function()
   local scratch, state, machine = c.folder(), os.getenv("XDG_STATE_HOME"), nil
   busted.setup(function()
      machine = lpfm.machine().name
      stdlib.setenv("XDG_STATE_HOME", scratch)
      judge.limit = 600 -- s for each script, so that none fails because the computer is busy
   end)
   busted.teardown(function()
      stdlib.setenv("XDG_STATE_HOME", state)
      assert(lpfm.machine(machine))
   end)
   return scratch
end
