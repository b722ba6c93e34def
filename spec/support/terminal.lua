-- SPDX-License-Identifier: MIT
--- Runs programs in terminals and types to them: each has a tmux server of its own. No function
-- sleeps: tests wait for what the screen shows.
local lpfm = require "lpfm"
local files = require "support.files"
local PATIENCE = require "support.patience"

local terminal = {}
terminal.__index = terminal

local LOOK = 0.02 -- s between two looks at the screen
local servers = 0 -- numbers the servers, since the one before may not have ended yet

--- Quotes a word for the shell.
function terminal.quote(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Calls tmux by a single process ("exec"), since processes take most of the time on a loaded
-- machine.
local function tmux(self, ...)
   local words = { "exec tmux", "-L", self.socket, "-f", "/dev/null" }
   for _, word in ipairs { ... } do words[#words + 1] = terminal.quote(tostring(word)) end
   local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1", "r"))
   local text = pipe:read("*a")
   pipe:close()
   return text
end

--- Starts a command in a terminal.
-- @param command a shell command line
-- @param options optional `columns` (120), `rows` (50), `first`: what to wait for
function terminal.start(command, options)
   options = options or {}
   servers = servers + 1
   local self = setmetatable({ socket = ("lpfm-spec-%d-%d"):format(require("lpfm.proc").getpid(), servers) }, terminal)
   tmux(self, "new-session", "-d", "-s", "t", "-x", options.columns or 120, "-y", options.rows or 50, command)
   self:wait_for(options.first or "lpfm>")
   return self
end

--- Returns the text on the screen, after what has scrolled out of it.
function terminal:screen()
   return (tmux(self, "capture-pane", "-p", "-t", "t", "-S", "-400"))
end

--- Returns the text on the screen with its escape sequences for colours and the like.
function terminal:raw_screen()
   return (tmux(self, "capture-pane", "-p", "-e", "-t", "t"))
end

--- Waits until a function of the screen's text returns a true value; `what` is for the message.
function terminal:wait_until(is, what)
   local deadline = require("lpfm.proc").clock() + PATIENCE
   local shown
   repeat
      shown = self:screen()
      local found = is(shown)
      if found then return found, shown end
      lpfm.poll({}, LOOK)
   until require("lpfm.proc").clock() > deadline
   error(("%s does not appear in:\n%s"):format(what, (shown:gsub("%s+$", ""))), 3)
end

--- Waits until the screen shows text (plain).
function terminal:wait_for(text)
   local _, shown = self:wait_until(function(screen) return screen:find(text, 1, true) end, "'" .. text .. "'")
   return shown
end

--- Waits until a line of the screen matches a pattern; returns what it captures.
function terminal:wait_match(pattern)
   return (self:wait_until(function(screen) return screen:match(pattern) end, "'" .. pattern .. "'"))
end

--- Waits until the cursor is in a column.
function terminal:wait_cursor(column)
   self:wait_until(function()
      return tonumber((tmux(self, "display-message", "-p", "-t", "t", "#{cursor_x}"))) == column
   end, "the cursor in column " .. column)
end

function terminal:type(text)
   tmux(self, "send-keys", "-t", "t", "-l", "--", text)
end

function terminal:press(...)
   tmux(self, "send-keys", "-t", "t", ...)
end

function terminal:enter(text)
   tmux(self, "send-keys", "-t", "t", "-l", "--", text, ";", "send-keys", "-t", "t", "Enter")
end

--- Pastes text in bracketed mode, as terminals do.
function terminal:paste(text)
   local path = os.tmpname()
   files.write(path, text)
   tmux(self, "load-buffer", path, ";", "paste-buffer", "-p", "-t", "t")
   os.remove(path)
end

function terminal:resize(columns, rows)
   tmux(self, "resize-window", "-t", "t", "-x", columns, "-y", rows)
end

function terminal:clear()
   tmux(self, "send-keys", "-R", "-t", "t", ";", "clear-history", "-t", "t", ";", "send-keys", "-t", "t", "C-l")
end

function terminal:stop()
   tmux(self, "kill-server")
end

return terminal
