-- SPDX-License-Identifier: MIT
--- Shows the progress of work on a terminal.
-- @module repl.command.text.progress

local render = require "pfm.render"

local progress = {}

local BLINK = 1 -- s between updates, and before the first

local function is_watched()
   local ok, unistd = pcall(require, "posix.unistd")
   return ok and unistd.isatty(2) == 1
end

--- Shows on a terminal, at intervals, how many things are done.
-- @string who the beginning of the line
-- @number total number of things
-- @string nouns what the things are: "files"
-- @treturn function `(n)` shows that n are done; without n, it clears the line
function progress.counter(who, total, nouns)
   if not is_watched() then return function() end end
   local clock = require("lpfm.proc").clock
   local last, shown = clock(), false
   return function(n)
      if not n then
         if shown then io.stderr:write("\r", (" "):rep(70), "\r") end
         return
      end
      local now = clock()
      if now - last < BLINK then return end
      last, shown = now, true
      io.stderr:write(("\r%s: %s of %s %s "):format(who, render.number(n), render.number(total), nouns))
   end
end

return progress
