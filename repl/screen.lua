-- SPDX-License-Identifier: MIT
--- A full-screen terminal with names for keys. Its settings are restored after an error and at a
-- fatal signal, too.
-- @module repl.screen

local render = require "pfm.render"
local terminal = require "pfm.util.terminal"

local screen = {}

local SEQUENCE = 0.05 -- s; the bytes of one key arrive within it
local WIDTH, HEIGHT = 80, 24

local names = {
   ["\27[A"] = "up", ["\27[B"] = "down", ["\27[C"] = "right", ["\27[D"] = "left", ["\27OA"] = "up", ["\27OB"] = "down",
   ["\27OC"] = "right", ["\27OD"] = "left", ["\27[5~"] = "page up", ["\27[6~"] = "page down", ["\27[H"] = "home",
   ["\27[F"] = "end", ["\27[1~"] = "home", ["\27[4~"] = "end", ["\27OH"] = "home", ["\27OF"] = "end",
   ["\27"] = "escape",
   ["\r"] = "enter", ["\n"] = "enter", ["\127"] = "backspace", ["\8"] = "backspace", ["\3"] = "quit", ["\4"] = "quit",
}

local function keys()
   local ok, module = pcall(require, "repl.keys")
   return ok and module or nil
end

--- Returns true if stdin and stdout are terminals on which single keys can be read.
-- @treturn boolean
function screen.possible()
   return terminal.is_terminal(true) and keys() ~= nil
end

--- Returns the size of the terminal.
-- @treturn number columns
-- @treturn number lines
function screen.size()
   local columns, lines = keys().size()
   return columns or WIDTH, lines or HEIGHT
end

-- Reads the rest of an escape sequence.
local function sequence(first)
   local text = first
   while not (text:find("^\27O.") or text:find("^\27%[[%d;]*[^%d;%[]")) do
      local more = keys().key(SEQUENCE)
      if not more then break end
      text = text .. more
   end
   return text
end

--- Waits for a key.
-- @number[opt] seconds at most
-- @treturn string a character, or a name: "up", "down", "left", "right", "page up", "page down",
-- "home", "end", "enter", "escape", "backspace", "quit" (Ctrl-C, Ctrl-D, or the terminal is gone),
-- "resize", "timeout", "unknown"
function screen.key(seconds)
   local key, why = keys().key(seconds or 3600)
   if not key then return (why == "eof" or why == "interrupted") and "quit" or why end
   if key == "\27" then return names[sequence(key)] or "unknown" end
   return names[key] or key
end

--- Draws lines from the top. Line `marked` is shown in reverse, the first and the last in bold.
-- @tparam {string,...} lines
-- @int[opt] marked
-- @func[opt] paint adds colours to the text of other lines: `(text, its number)`
function screen.draw(lines, marked, paint)
   local columns, height = screen.size()
   local colours, out = terminal.colours(), {}
   for i = 1, math.min(#lines, height) do
      local text = render.cut(render.printable(lines[i]), columns)
      local on = colours and (i == marked and "\27[7m" or (i == 1 or i == #lines) and "\27[1m") or ""
      local painted = colours and on == "" and paint and paint(text, i) or text
      out[i] = on .. painted .. (on ~= "" and "\27[0m" or "") .. (render.width(text) < columns and "\27[K" or "")
   end
   io.stdout:write("\27[H", table.concat(out, "\r\n"), "\27[J")
   io.stdout:flush()
end

--- Runs a function on the full screen, and restores the terminal when it returns or raises.
-- @tparam function fn
-- @bool[opt] live if true, `fn` polls keys by `key(0)`, and no change of the terminal's size
-- interrupts its waiting
function screen.run(fn, live)
   io.stdout:flush()
   local module = keys()
   module.raw(true, live)
   module.full(true)
   local ok, err = pcall(fn)
   io.stdout:flush()
   module.full(false)
   module.raw(false)
   if not ok then error(err, 0) end
end

return screen
