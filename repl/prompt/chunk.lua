-- SPDX-License-Identifier: MIT
--- What is typed at the prompt, compiled: an expression, statements, or statements and an expression after the
-- last semicolon.
-- @module repl.prompt.chunk

local tokens = require "repl.prompt.tokens"

local chunk = {}

local NAME = "=stdin"

--- Does a message of the compiler say that more is to come?
-- @string err
-- @treturn boolean
function chunk.incomplete(err)
   return err:find("<eof>'?$") ~= nil
end

-- Where the last semicolon outside of strings lies.
local function last_semicolon(text)
   local at
   for _, token in ipairs(tokens.code(text)) do
      if token.text == ";" then at = token.from end
   end
   return at
end

-- "a = 1; a + 1"
local function compile_last(text)
   local at = last_semicolon(text)
   if not at or not text:find("%S", at + 1) then return nil end
   local before, last = text:sub(1, at), text:sub(at + 1)
   local fn = loadstring(before .. " return " .. last, NAME)
   return fn and { fn = fn, before = before, expression = last }
end

--- Compiles what was typed.
-- @string text
-- @treturn[1] table `fn`; `expression`, its text, where there is one, and `before`, the statements in front of it
-- @return[2] nil
-- @treturn[2] string the compiler's message
-- @usage chunk.compile("1 + 1").fn() --> 2
function chunk.compile(text)
   local expression = text:match("^%s*=(.*)$")
   local fn, err = loadstring("return " .. (expression or text), NAME)
   if fn and text:find("%S") then return { fn = fn, expression = expression or text, before = "" } end
   if expression then return nil, err end
   fn, err = loadstring(text, NAME)
   local last = compile_last(text)
   if last or not fn then return last, err end
   return { fn = fn }
end

return chunk
