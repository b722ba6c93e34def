-- SPDX-License-Identifier: MIT
--- Splits Lua text into tokens: as much of Lua's lexer as the prompt needs, also for unfinished
-- text.
-- @module repl.prompt.tokens

local tokens = {}

local keywords = {}
for word in ([[and break do else elseif end false for function if in local nil not or repeat return then true
   until while]]):gmatch("%a+") do
   keywords[word] = true
end

--- Returns the keywords of Lua 5.1.
-- @treturn table of word = true
function tokens.keywords()
   return keywords
end

-- Returns the end of the long bracket that opens at `at`, and whether it is closed; nil if none
-- opens there.
local function long_end(text, at)
   local equals = text:match("^%[(=*)%[", at)
   if not equals then return nil end
   local _, to = text:find("]" .. equals .. "]", at, true)
   return to or #text, to ~= nil
end

local function quoted_end(text, at)
   local quote, i = text:sub(at, at), at + 1
   while i <= #text do
      local ch = text:sub(i, i)
      if ch == quote then return i, true end
      if ch == "\n" then return i - 1, false end
      i = i + (ch == "\\" and 2 or 1)
   end
   return #text, false
end

-- Returns the end of a number such as "1e-6" or "0xff"; the number may be incomplete, as "1e" is.
local function number_end(text, at)
   local _, to = text:find("^%.?%d[%w.]*", at)
   local word = to and text:sub(at, to)
   if not word or word:find("^0[xX]") or not word:find("[eE]$") then return to end
   local _, exponent = text:find("^[+-]%d+", to + 1)
   return exponent or to
end

-- Returns the kind and the end of the token that begins at `at`, and whether it is closed (for
-- comments and strings).
local function token_at(text, at)
   if text:find("^%-%-", at) then
      local to, closed = long_end(text, at + 2)
      if to then return "comment", to, closed end
      return "comment", (text:find("\n", at, true) or #text + 1) - 1, true
   end
   local _, to = text:find("^[%a_\128-\255][%w_\128-\255]*", at)
   if to then return keywords[text:sub(at, to)] and "keyword" or "name", to end
   to = number_end(text, at)
   if to then return "number", to end
   if text:find("^[\"']", at) then return "string", quoted_end(text, at) end
   local long, closed = long_end(text, at)
   if long then return "string", long, closed end
   for _, op in ipairs { "^%.%.%.", "^%.%.", "^[=~<>]=" } do
      _, to = text:find(op, at)
      if to then return "op", to end
   end
   return "op", at
end

--- Returns the tokens of a text, comments among them.
-- @string text
-- @treturn table of `{kind=, text=, from=, to=, open=}`: `kind` is name, keyword, number, string,
-- comment or op; `open` is true for a string or comment that is not closed
-- @usage tokens.of("x = 1")[1].text --> "x"
function tokens.of(text)
   local out, at = {}, text:find("%S")
   while at do
      local kind, to, closed = token_at(text, at)
      out[#out + 1] = { kind = kind, text = text:sub(at, to), from = at, to = to,
         open = (kind == "string" or kind == "comment") and not closed }
      at = text:find("%S", to + 1)
   end
   return out
end

--- Returns the tokens of a text, except its comments.
-- @string text
-- @treturn table
function tokens.code(text)
   local out = {}
   for _, token in ipairs(tokens.of(text)) do
      if token.kind ~= "comment" then out[#out + 1] = token end
   end
   return out
end

--- Says what is open at the end of a text.
-- @string text
-- @treturn string the quote of a string ("'", '"', "["), "-" for a comment, or ""
function tokens.open(text)
   local all = tokens.of(text)
   local last = all[#all]
   if not last or not (last.open or (last.kind == "comment" and not last.text:find("^%-%-%[=*%["))) then return "" end
   if last.kind == "comment" then return (last.open or last.to == #text) and "-" or "" end
   if last.text:find("^[\"']") and last.to < #text then return "" end -- the line ended the string
   return last.text:sub(1, 1)
end

local opening = { ["do"] = 1, ["then"] = 1, ["function"] = 1, ["repeat"] = 1, ["("] = 1, ["{"] = 1, ["["] = 1 }
local closing = { ["end"] = 1, ["until"] = 1, [")"] = 1, ["}"] = 1, ["]"] = 1, ["elseif"] = 1 }

--- Returns the depth of nested blocks and brackets at the end of a text.
-- @string text
-- @treturn number
-- @treturn table the depth in front of each token of `tokens.code`
function tokens.depth(text)
   local depth, depths = 0, {}
   for i, token in ipairs(tokens.code(text)) do
      depths[i] = depth
      if token.kind ~= "string" then
         depth = math.max(0, depth + (opening[token.text] or 0) - (closing[token.text] or 0))
      end
   end
   return depth, depths
end

--- If the last line of a text begins with the end of a block, gives it the indentation of the
-- block's first line.
-- @string text
-- @string indent of one level
-- @treturn string the text, or nil if nothing changes
function tokens.outdented(text, indent)
   local before, spaces, rest = text:match("^(.*)\n([ \t]*)([^\n]*)$")
   local first = before and tokens.code(rest)[1]
   if not first or tokens.open(before) ~= "" or not (closing[first.text] or first.text == "else") then return nil end
   local wanted = indent:rep(tokens.depth(before) - 1)
   return wanted ~= spaces and before .. "\n" .. wanted .. rest or nil
end

return tokens
