-- SPDX-License-Identifier: MIT
--- Shows texts that are longer than the terminal with a pager: $PAGER, or less.
-- @module repl.prompt.pager

local signal = require "posix.signal"
local terminal = require "pfm.util.terminal"

local pager = {}

local USUAL = "less -FRX" -- -F quits if the text fits, -X leaves it on the screen

-- Returns true if a text and the next prompt have more lines than the terminal.
local function is_long(text)
   local columns, most = terminal.size()
   local lines = 0
   for line in text:gmatch("([^\n]*)\n") do
      lines = lines + math.max(1, math.ceil(#line / columns))
      if lines >= most then return true end
   end
   return false
end

-- Returns the pager's command, or nil if there is none or PAGER is empty.
local function command()
   local wanted = os.getenv("PAGER") or USUAL
   local word = wanted:match("^%s*(%S+)")
   if not word or word == "cat" then return nil end
   local found = io.popen(("command -v '%s' 2>/dev/null"):format((word:gsub("'", "'\\''"))))
   local path = found:read("*l")
   found:close()
   return path and wanted
end

--- Prints a text. The pager may leave before it has read all of it.
-- @string text whole lines
function pager.print(text)
   local wanted = terminal.is_terminal(true) and is_long(text) and command()
   if not wanted then
      io.stdout:write(text)
      return
   end
   io.stdout:flush()
   local before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
   local pipe = io.popen(wanted, "w")
   pipe:write(text)
   pipe:close()
   signal.signal(signal.SIGPIPE, before)
end

return pager
