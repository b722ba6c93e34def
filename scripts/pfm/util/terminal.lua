-- SPDX-License-Identifier: MIT
--- The terminal that texts are shown on.
-- @module pfm.util.terminal

local terminal = {}

local has_posix, unistd = pcall(require, "posix.unistd")

--- Returns true if a descriptor is a terminal.
-- @int fd
-- @treturn boolean
function terminal.shows(fd)
   return has_posix and unistd.isatty(fd) == 1
end

--- Returns true if standard output is a terminal, but not a dumb one, and so is standard input if
-- `both` is true.
-- @tparam[opt] boolean both
-- @treturn boolean
function terminal.is_terminal(both)
   if not has_posix or os.getenv("TERM") == "dumb" then return false end
   return unistd.isatty(1) == 1 and (not both or unistd.isatty(0) == 1)
end

--- Returns true if texts may be coloured: on terminals, where NO_COLOR does not forbid it.
-- @treturn boolean
function terminal.colours()
   local forbidden = os.getenv("NO_COLOR")
   return terminal.is_terminal() and (forbidden == nil or forbidden == "")
end

local function ask(command)
   local pipe = io.popen(command .. " 2>/dev/null")
   local text = pipe and pipe:read("*l")
   if pipe then pipe:close() end
   return text or ""
end

--- Returns the size of the terminal.
-- @treturn number columns, 80 where they are not known
-- @treturn number lines, 24 where they are not known
function terminal.size()
   local lines, columns = ask("stty size"):match("^(%d+) (%d+)$")
   lines, columns = tonumber(lines) or 0, tonumber(columns) or 0
   return columns > 0 and columns or 80, lines > 0 and lines or 24
end

return terminal
