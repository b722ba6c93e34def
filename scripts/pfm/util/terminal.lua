-- SPDX-License-Identifier: MIT
--- The terminal as a screen that is drawn again and again.
-- @module pfm.util.terminal

local terminal = {}

local ENTER, LEAVE = "\27[?1049h\27[?25l", "\27[?25h\27[?1049l" -- another screen, without a cursor
local HOME, REST_OF_LINE, REST = "\27[H", "\27[K", "\27[J"
local BOLD, PLAIN = "\27[1m", "\27[0m"

local has_posix, unistd = pcall(require, "posix.unistd")

--- Is standard output a terminal (and if both, can keys be read)?
-- @tparam[opt] boolean both
-- @treturn boolean
function terminal.is_terminal(both)
   if not has_posix or os.getenv("TERM") == "dumb" then return false end
   return unistd.isatty(1) == 1 and (not both or unistd.isatty(0) == 1)
end

--- May texts be coloured? On terminals, where NO_COLOR does not forbid it.
-- @treturn boolean
function terminal.colours()
   local forbidden = os.getenv("NO_COLOR")
   return terminal.is_terminal() and (forbidden == nil or forbidden == "")
end

local function ask(command)
   local pipe = io.popen(command .. " 2>/dev/null")
   local text = pipe:read("*l")
   pipe:close()
   return text or ""
end

--- The size of the terminal, in the order of `repl.keys.size`.
-- @treturn number columns, 80 where they are not known
-- @treturn number lines, 24 likewise
function terminal.size()
   local lines, columns = ask("stty size"):match("^(%d+) (%d+)$")
   lines, columns = tonumber(lines) or 0, tonumber(columns) or 0
   return columns > 0 and columns or 80, lines > 0 and lines or 24
end

local open = {}
open.__index = open

--- Takes the terminal over; keys are read as they are typed.
-- @treturn screen `draw`, `key`, `leave`
function terminal.enter()
   local self = setmetatable({ settings = terminal.is_terminal(true) and ask("stty -g") or "" }, open)
   if self.settings ~= "" then os.execute("stty -icanon -echo min 0 time 0") end
   io.stdout:write(ENTER)
   io.stdout:flush()
   return self
end

--- Draws lines in the place of those before; the first in bold, all cut to the screen.
-- @tparam table lines
-- @number columns
function open:draw(lines, columns) -- luacheck: no self
   local bold, plain = "", ""
   if terminal.colours() then bold, plain = BOLD, PLAIN end
   local out = { HOME }
   for i, line in ipairs(lines) do
      local text = line:sub(1, columns)
      out[#out + 1] = (i == 1 and bold .. text .. plain or text) .. REST_OF_LINE .. (i < #lines and "\r\n" or "")
   end
   out[#out + 1] = REST
   io.stdout:write(table.concat(out))
   io.stdout:flush()
end

--- A key that was typed, if any.
-- @return one character, or nil
function open:key()
   if self.settings == "" or require("posix.poll").rpoll(0, 0) ~= 1 then return nil end
   local ch = unistd.read(0, 1)
   return ch ~= "" and ch or nil
end

--- Gives the terminal back as it was.
function open:leave()
   io.stdout:write(LEAVE)
   io.stdout:flush()
   if self.settings ~= "" then os.execute("stty " .. self.settings) end
end

return terminal
