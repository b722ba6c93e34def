-- SPDX-License-Identifier: MIT
--- Compiles what is typed at the prompt: an expression, statements, or statements and an expression
-- after them, behind a semicolon or on lines of its own.
-- @module repl.prompt.chunk

local tokens = require "repl.prompt.tokens"

local chunk = {}

local NAME = "=stdin"

--- Returns true if a message of the compiler says that the text is incomplete.
-- @string err
-- @treturn boolean
function chunk.incomplete(err)
   return err:find("<eof>'?$") ~= nil
end

--- Finds the first wrong one of n items by bisection: all items after a wrong one must be wrong,
-- too.
-- @int n the number of items
-- @tparam function is_wrong whether the item with this number is wrong
-- @treturn int its number; n + 1 if none is wrong
-- @usage chunk.first_wrong(10, function(i) return i * i > 50 end) --> 8
function chunk.first_wrong(n, is_wrong)
   local first, last = 1, n + 1
   while first < last do
      local middle = math.floor((first + last) / 2)
      if is_wrong(middle) then last = middle else first = middle + 1 end
   end
   return first
end

-- Returns positions where the last statement may begin, outside of blocks and brackets: after
-- semicolons, and on new lines. If the whole text compiles, only a name may begin one on a new
-- line, since anything else continues the line above.
local function beginnings(text, whole)
   local out = {}
   local code = tokens.code(text)
   local _, depths = tokens.depth(text)
   for i, token in ipairs(code) do
      local before = code[i - 1]
      local on_new_line = before and text:sub(before.to + 1, token.from - 1):find("\n", 1, true)
      if before and depths[i] == 0 and (before.text == ";" or on_new_line and (token.kind == "name" or not whole)) then
         out[#out + 1] = token.from
      end
   end
   return out
end

-- Compiles an expression behind statements to a function that returns its values. If possible that
-- is not a tail call, which would hide the names of functions from messages.
local function returning(before, expression)
   return loadstring(("%s return (function(...) return ... end)(%s\n)"):format(before, expression), NAME)
      or loadstring(before .. " return " .. expression, NAME)
end

-- Compiles statements with an expression at the end: "a = 1; a + 1", or the same on two lines.
local function compile_last(text, whole)
   local all = beginnings(text, whole)
   local function before(i) return text:sub(1, all[i] - 1) end
   local wrong = chunk.first_wrong(#all, function(i)
      local fn, err = loadstring(before(i), NAME)
      return not fn and not chunk.incomplete(err)
   end)
   for i = wrong - 1, 1, -1 do
      if loadstring(before(i), NAME) then
         local last = text:sub(all[i])
         local fn = loadstring("return " .. last, NAME) and returning(before(i), last)
         return fn and { fn = fn, before = before(i), expression = last }
      end
   end
   return nil
end

--- Returns the locals that are in scope at the end of statements.
-- @string text
-- @treturn {string,...} names
-- @usage require("repl.prompt.chunk").outer_locals("local a, b = 1, 2")[2] --> "b"
function chunk.outer_locals(text)
   local code, out = tokens.code(text), {}
   local _, depths = tokens.depth(text)
   for i, token in ipairs(code) do
      local k = i + 1
      if token.text == "local" and token.kind == "keyword" and depths[i] == 0 and code[k] then
         if code[k].text == "function" then k = k + 1 end
         while code[k] and code[k].kind == "name" do
            out[#out + 1] = code[k].text
            k = code[k + 1] and code[k + 1].text == "," and code[k - 1].text ~= "function" and k + 2 or #code + 1
         end
      end
   end
   return out
end

local KEEP = "\nlocal keep_ = ... "

-- Returns the statements and, behind them, code that passes their outer locals to the function that
-- the chunk is called with; nil if there are no such locals.
local function keeping(statements)
   local out = {}
   for _, name in ipairs(chunk.outer_locals(statements)) do out[#out + 1] = ("keep_(%q, %s) "):format(name, name) end
   return #out > 0 and statements .. KEEP .. table.concat(out) or nil
end

-- Compiles a text again with code behind it that passes its locals on. Keeps the first result if
-- the second does not compile, for example where the text ends with a return.
local function with_locals(compiled, text)
   local before = compiled.expression and compiled.before or text
   local kept = keeping(before)
   local fn = kept and (compiled.expression and returning(kept, compiled.expression) or loadstring(kept, NAME))
   compiled.fn = fn or compiled.fn
   return compiled
end

--- Compiles what was typed. The chunk is called with a function, to which it passes the name and
-- value of each outer local after it has run: the locals would otherwise be gone with the line.
-- @string text
-- @treturn[1] table `fn`; `expression`, the text of the expression if there is one, and `before`,
-- the statements in front of it
-- @return[2] nil
-- @treturn[2] string the compiler's message
-- @usage chunk.compile("1 + 1").fn() --> 2
function chunk.compile(text)
   local expression = text:match("^%s*=(.*)$") or text:match("^%s*return%f[^%w_]%s*(%S.*)$")
   local fn, err = loadstring("return " .. (expression or text), NAME)
   if fn and text:find("%S") then
      return { fn = returning("", expression or text), expression = expression or text, before = "" }
   end
   if text:find("^%s*=") then return nil, err end
   fn, err = loadstring(text, NAME)
   local last = compile_last(text, fn)
   if not last and not fn then return nil, err end
   return with_locals(last or { fn = fn }, text)
end

return chunk
