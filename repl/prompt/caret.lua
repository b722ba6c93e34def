-- SPDX-License-Identifier: MIT
--- Errors in typed text: shows the line, a caret under the error, and the name that may have been
-- meant.
-- @module repl.prompt.caret

local chunk = require "repl.prompt.chunk"
local render = require "pfm.render"
local namespace = require "repl.prompt.namespace"
local nearest = require "pfm.util.nearest"
local reference = require "repl.prompt.reference"
local tokens = require "repl.prompt.tokens"

local caret = {}

local INDENT, WIDTH, AROUND = "   ", 100, 40

-- --- drawing -------------------------------------------------------------------------------------

-- Returns the line that contains position `at`, and the column of `at` in it.
local function line_at(text, at)
   local from = at
   while from > 1 and text:sub(from - 1, from - 1) ~= "\n" do from = from - 1 end
   local to = (text:find("\n", from, true) or #text + 1) - 1
   return text:sub(from, to), at - from + 1
end

-- Cuts a long line on both sides of a column.
local function cut(line, column)
   if #line <= WIDTH then return line, column end
   local from = math.max(1, column - AROUND)
   local before = from > 1 and "..." or ""
   local part = before .. line:sub(from, from + 2 * AROUND)
   return from + 2 * AROUND < #line and part .. "..." or part, column - from + 1 + #before
end

local function draw(text, at)
   local line, column = cut(line_at(text, math.min(at, #text + 1)))
   line = line:gsub("\t", " ")
   return ("%s%s\n%s%s^"):format(INDENT, line, INDENT, (" "):rep(render.width(line:sub(1, column - 1))))
end

-- --- syntax --------------------------------------------------------------------------------------

local function is_wrong(text)
   local compiled, err = chunk.compile(text)
   return not compiled and not chunk.incomplete(err)
end

-- Returns the first token after which no continuation can make the text valid Lua.
local function culprit(text)
   local all = tokens.code(text)
   local first = chunk.first_wrong(#all, function(i) return is_wrong(text:sub(1, all[i].to)) end)
   return all[first] or { from = #text + 1, text = "" }
end

--- Points at a syntax error.
-- @string text what was typed
-- @string err the compiler's message
-- @treturn string the message, the line, a caret
function caret.syntax(text, err)
   local token = culprit(text)
   local plain = err:gsub("^stdin:%d+: ", "")
   return ("%s\n%s"):format(plain, draw(text, token.from))
end

-- --- what happened while the code ran ------------------------------------------------------------

-- Returns the tokens of line n of the text.
local function tokens_of_line(text, n)
   local out, line, at = {}, 1, 1
   for _, token in ipairs(tokens.code(text)) do
      local _, breaks = text:sub(at, token.from - 1):gsub("\n", "")
      line, at = line + breaks, token.from
      if line == n then out[#out + 1] = token end
   end
   return out
end

-- Returns the path in front of token i: "lpfm.machine" of lpfm.machine.foo; nil if token i follows
-- no path.
local function path_before(list, i)
   local parts = {}
   while i > 2 and (list[i - 1].text == "." or list[i - 1].text == ":") and list[i - 2].kind == "name" do
      i = i - 2
      table.insert(parts, 1, list[i].text)
   end
   return #parts > 0 and table.concat(parts, ".") or nil
end

local separators = { global = {}, ["local"] = {}, upvalue = {}, method = { [":"] = true },
   field = { ["."] = true } }

-- Returns the token that a message such as "attempt to index (or call) a nil value" is about, and
-- its index; nil if none fits.
local function find_named(list, kind, name)
   local wanted = separators[kind]
   for i, token in ipairs(list) do
      local before = list[i - 1] and list[i - 1].text
      local behind_dot = before == "." or before == ":"
      if token.kind == "name" and token.text == name and (wanted[before] or (not behind_dot and not next(wanted))) then
         return token, i
      end
   end
end

local function hint_for(list, i, kind, name)
   if kind == "global" then return nearest.hint(name, namespace.of(_G)) end
   local path = path_before(list, i)
   local value = path and namespace.value(path)
   if value == nil then return "" end
   return nearest.hint(name, namespace.of(value))
end

local function point_at_name(text, list, err, kind, name)
   local token, i = find_named(list, kind, name)
   if not token then return nil end
   return ("%s%s\n%s"):format(err, hint_for(list, i, kind, name), draw(text, token.from))
end

-- Lists the known formats after the error 'create: no sampling format is called "stak"'.
local function format_hint(name)
   local known = {}
   for i, format in ipairs(require("lpfm").formats() or {}) do known[i] = format.name end
   return nearest.hint(name, known)
end

-- Lists the fields that a call accepts after "write_pmds: element 1: unknown field 'valu'".
local function field_hint(err)
   local format = err:match('no sampling format is called "([^"]+)"$')
   if format then return format_hint(format) end
   local call, field = err:match("^([%w_]+): .*unknown field '([^']+)'$")
   local fields = {}
   for _, key in ipairs(call and reference.keys() or {}) do
      local entry = key:match("[%w_]+$") == call and reference.entry(key) or {}
      for _, known in ipairs { entry.fields or {}, entry.entries or {} } do
         for name in pairs(known) do fields[#fields + 1] = name end
      end
   end
   return field and nearest.hint(field, fields) or ""
end

-- Finds in the line a text that a message quotes, 'like this', or a register's number.
local function point_at_quoted(text, list, err)
   local quoted = err:match("'([^'\n]+)'") or err:match('"([^"\n]+)"') or err:match("PM[CD](%d+)")
   if not quoted then return nil end
   for _, token in ipairs(list) do
      local within = token.kind == "string" and token.text:find(quoted, 1, true)
      if token.text == quoted then within = 1 end
      if within then return ("%s%s\n%s"):format(err, field_hint(err), draw(text, token.from + within - 1)) end
   end
end

--- Points at the cause of a run-time error, if the message names it.
-- @string text what was typed
-- @string err the message, without a traceback
-- @treturn string the message, with the line and a caret where they are known
function caret.runtime(text, err)
   local line, plain = err:match("^stdin:(%d+): ([^\n]*)$")
   plain = plain or (not err:find("\n", 1, true) and not err:find("^[^\n]-:%d+: ") and err)
   if not plain then return err end
   local list = line and tokens_of_line(text, tonumber(line)) or tokens.code(text)
   local kind, name = plain:match("(%l+) '([^']+)' %(a nil value%)")
   local method = plain:match("^([%w_]+): .*a method is called with a colon")
   if method then kind, name = "field", method end
   local pointed = kind and separators[kind] and point_at_name(text, list, plain, kind, name)
      or point_at_quoted(text, list, plain)
   return pointed or not text:find("\n", 1, true) and plain or err
end

return caret
