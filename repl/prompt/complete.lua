-- SPDX-License-Identifier: MIT
--- Completes what is typed at the prompt: variables, fields and methods; the fields of tables that
-- are arguments; in strings, values that the call accepts, such as events with unit masks, flags,
-- formats, machines, modules and files; the commands of the prompt; and the names that help
-- explains.
-- @module repl.prompt.complete

local commands = require "repl.command.rows"
local dot_commands = require "repl.prompt.dot_commands"
local kinds = require "repl.command.kinds"
local globals = require "repl.prompt.globals"
local namespace = require "repl.prompt.namespace"
local programming = require "repl.prompt.programming"
local reference = require "repl.prompt.reference"
local tokens = require "repl.prompt.tokens"
local tables = require "pfm.util.tables"

local complete = {}

local matching = kinds.matching

-- --- where in the text ---------------------------------------------------------------------------

local OPENING, CLOSING = { ["("] = true, ["{"] = true, ["["] = true }, { [")"] = true, ["}"] = true, ["]"] = true }

-- Returns the path that ends with token i, such as "c:write_pmds"; nil if no path ends there.
local function path_ending_at(list, i)
   if not list[i] or list[i].kind ~= "name" then return nil end
   local first = i
   while list[first - 1] and (list[first - 1].text == "." or list[first - 1].text == ":") and list[first - 2]
      and list[first - 2].kind == "name" do
      first = first - 2
   end
   local parts = {}
   for k = first, i do parts[#parts + 1] = list[k].text end
   return table.concat(parts)
end

-- Returns the brackets that are open at the end of the text. For each it has the called function,
-- the field before "=", and the number of the argument that the text has reached.
local function open_brackets(list)
   local stack = {}
   for i, token in ipairs(list) do
      if OPENING[token.text] and token.kind == "op" then
         local field = list[i - 1] and list[i - 1].text == "=" and list[i - 2] and list[i - 2].text or nil
         stack[#stack + 1] = { text = token.text, call = path_ending_at(list, i - 1), field = field, argument = 1 }
      elseif CLOSING[token.text] and token.kind == "op" then
         stack[#stack] = nil
      elseif token.text == "," and stack[#stack] then
         stack[#stack].argument = stack[#stack].argument + 1
      end
   end
   return stack
end

-- Returns the full name of a library function, "pfm.count.run", for one that was written with the
-- last name of its module, "count.run".
local function in_library(call)
   local name, rest = call:match("^([%w_]+)(.*)$")
   return name and (namespace.module(name) or "pfm." .. name) .. rest or call
end

-- Describes the place at the end of a text: `call`, the key of the called function, and `path`, its
-- name as it was typed; `argument`, the number of its argument; `level`, how many braces are open
-- in the argument; `field`, the name in front of "=" if a value follows; `after`, the last token.
local function site_of(text, in_string)
   local list = tokens.code(text)
   if in_string then list[#list] = nil end
   local stack = open_brackets(list)
   local last, before = list[#list], list[#list - 1]
   local site = { level = 0, field = last and last.text == "=" and before and before.text or nil, after = last,
      argument = 1 }
   -- as in stat "ls"
   if last and last.kind == "name" then site.call = path_ending_at(list, #list) end
   for i = #stack, 1, -1 do
      if site.call then break end
      local open = stack[i]
      site.field = site.field or (open.text == "{" and open.field) or nil
      site.call = open.call
      if open.text == "{" then site.level = site.level + 1 else site.argument = open.argument end
   end
   site.path = site.call
   site.call = site.call and (reference.key(site.call) or reference.key(in_library(site.call)))
   return site
end

-- --- code ----------------------------------------------------------------------------------------

-- Returns the fields that a call's table may have at a place.
local function fields_at(site)
   local entry = site.call and reference.entry(site.call)
   local after = site.after and site.after.text or "{"
   if not entry or not (after == "{" or after == "," or after == ";") then return {} end
   if site.level == 1 then return tables.keys(entry.fields or {}) end
   return site.level == 2 and not site.field and tables.keys(entry.entries or {}) or {}
end

local NUMBERS = { num = true, value = true, set = true, id = true, period = true, seconds = true }

-- Returns true if a number is expected at a place in a call's table.
local function wants_number(site)
   return site.call ~= nil and site.after ~= nil and site.after.text == "=" and NUMBERS[site.field] or false
end

-- Calls that take a list of registers, with the kind of these. `numbers_at` offers the registers
-- that the context is programmed with, or all if there are none.
local lists = { ["context:read_pmds"] = "pmds", ["context:write_pmds"] = "pmds", ["context:write_pmcs"] = "pmcs",
   ["lpfm.pmds"] = "pmds", ["lpfm.pmcs"] = "pmcs" }

local function numbers_at(site)
   local kind = lists[site.call]
   local after = site.after and site.after.text
   if not kind or site.level ~= 1 or not (after == "{" or after == ",") then return {} end
   local object = namespace.value(site.path:match("^(.-)[.:][%w_]+$") or "")
   local found = programming.is_open(object) and object:programming()[kind] or {}
   return tables.map(#found > 0 and found or require("lpfm")[kind]() or {}, function(reg) return tostring(reg.num) end)
end

local function in_value(value, sep, last)
   return value ~= nil and matching(namespace.of(value, false, sep == ":"), last) or {}
end

-- Returns the fields of the module that a require() before the word names, as completions of it:
-- require("pfm.count").ru. Returns nil if there is no such call.
local function required(before, word)
   local name = before:match("require%s*%(?%s*[\"']([%w_.]+)[\"']%s*%)?$")
   local sep, last = word:match("^([.:])([%w_]*)$")
   if not (name and sep) then return nil end
   local ok, module = pcall(require, name)
   local out = ok and in_value(module, sep, last) or {}
   for i, field in ipairs(out) do out[i] = sep .. field end
   return out
end

local function in_path(path, sep, last)
   local out = in_value(namespace.value(path), sep, last)
   for i, name in ipairs(out) do out[i] = path .. sep .. name end
   return out
end

-- Returns the fields and methods of a call's result, for "c:buffer()" or "lpfm.machine()", if the
-- description of the call tells them.
local function of_result(path, sep)
   local key = reference.key(path)
   local entry = key and reference.entry(key)
   local class = entry and entry.usage:match("%-> (%a+)")
   local out = tables.keys(entry and entry.returns or {})
   for _, method in ipairs(class and reference.methods(class) or {}) do out[#out + 1] = method:match("[%w_]+$") end
   for i, name in ipairs(out) do out[i] = sep .. name end
   return out
end

-- Extends the word by the path in front of it: t[1].na, where only ".na" is the word.
local function whole_path(word, before)
   return (before:match("[%a_][%w_.:]*%b[]$") or "") .. word
end

local function in_code(word, before)
   local of_module = required(before, word)
   if of_module then return of_module end
   local called = before:match("([%a_][%w_.:]*)%b()$")
   if called and word:find("^[.:]") then return matching(of_result(called, word:sub(1, 1)), word) end
   local whole = whole_path(word, before)
   local path, sep, last = whole:match("^(.-)([.:])([%w_]*)$")
   if path and path:find("[.:]$") then return {} end
   if path and path ~= "" then
      local out = in_path(path, sep, last)
      for i, name in ipairs(out) do out[i] = name:sub(#whole - #word + 1) end
      return out
   end
   if not word:find("^[%w_]*$") then return {} end
   local site = site_of(before, false)
   if wants_number(site) then return {} end
   for _, list in ipairs { fields_at(site), numbers_at(site) } do
      local found = matching(list, word)
      if #found > 0 then return found end
   end
   return matching(namespace.of(_G, true), word)
end

-- --- files ---------------------------------------------------------------------------------------

local function files(word)
   local dir, last = word:match("^(.*/)([^/]*)$")
   dir, last = dir or "", last or word
   local out = {}
   for _, name in ipairs(namespace.entries(dir == "" and "." or dot_commands.expand(dir)) or {}) do
      local hidden = name:find("^%.") and not last:find("^%.")
      if name ~= "." and name ~= ".." and not hidden and name:sub(1, #last) == last then out[#out + 1] = dir .. name end
   end
   if #out == 1 and namespace.entries(dot_commands.expand(out[1])) then out[1] = out[1] .. "/" end
   return out
end

-- --- strings -------------------------------------------------------------------------------------

local function registers()
   local lpfm, out = require "lpfm", {}
   for kind, list in pairs { PMC = lpfm.pmcs() or {}, PMD = lpfm.pmds() or {} } do
      for _, reg in ipairs(list) do
         out[#out + 1] = reg.name
         out[#out + 1] = kind .. reg.num
      end
   end
   return out
end

local function modules()
   local out = { "lpfm" }
   for _, name in ipairs(namespace.c_modules) do out[#out + 1] = "lpfm." .. name end
   for _, name in ipairs(namespace.modules()) do out[#out + 1] = namespace.module(name) end
   for name in pairs(package.loaded) do
      if name:find("^lpfm") then out[#out + 1] = name end
   end
   return out
end

local function explained(word)
   local out = reference.topics()
   for _, list in ipairs { reference.keys(), kinds.words("event", word), registers() } do
      for _, name in ipairs(list) do out[#out + 1] = name end
   end
   return out
end

-- The kinds of words that complete the arguments of calls; "?" is a name that help explains.
-- `repl.command.rows` has those of commands.
local arguments = {
   help = { "?" }, ["lpfm.machine"] = { "machine" }, ["lpfm.event"] = { "event", "pmu" }, ["lpfm.events"] = { "event" },
   ["machine:encode"] = { "sim_event", "any", "any" }, ["buffer:count_by"] = { "sample_field", "sample_field" },
   ["buffer:fields"] = { "sample_field", "sample_field", "sample_field", "sample_field" },
   ["events.parse"] = { "event" }, ["events.read"] = { "event" }, ["recording.open"] = { "file" },
   ["analyze.by"] = { "any", "key" }, ["metrics.group"] = { "group", "pmu" }, ["plot.recording"] = { "any", "figure" },
   ["export.write"] = { "any", "format", "file" },
}

-- The kinds of words that complete the values of fields in the tables that calls take.
local fields = {
   events = "event", event = "event", with = "event", format = "sampling_format", pmu = "pmu", metrics = "group",
   record = "file", output = "file", stages = "stages", from = "stages", ["until"] = "event", by = "key", sort = "key",
}

local same_as = { job = "stat", session = "stat" }

local function argument_kind(call, i)
   local row = commands.rows[same_as[call] or call]
   local list = row and row.call or arguments[call] or arguments[(call:gsub("^pfm%.", ""))]
   return list and list[i]
end

local flag_topics = { ["lpfm.create"] = "context", ["context:write_pmcs"] = "pmc", ["lpfm.pmcs"] = "pmc",
   ["context:write_pmds"] = "pmd", ["lpfm.pmds"] = "pmd", ["context:read_pmds"] = "pmd",
   ["context:create_evtsets"] = "set" }

-- Returns the kind of words that fit a string at this place, which is an argument or the value of a
-- field; for flags, nil and the list of their names; nil alone if nothing is known.
local function expected(site)
   local topic = site.field == "flags" and flag_topics[site.call]
   if topic then return nil, tables.keys(require("lpfm").flags[topic] or {}) end
   if site.field == "buf_flags" then return nil, tables.keys(require("lpfm").flags.buffer) end
   if site.field and fields[site.field] then return fields[site.field] end
   local call = site.call or site.path
   return site.level == 0 and call and argument_kind(call, site.argument) or nil
end

-- Returns words for a string of unknown meaning: events, registers and sampling formats.
local function anything(word)
   local out = {}
   for _, list in ipairs { kinds.words("event", word), registers(), kinds.words("sampling_format", word) } do
      for _, name in ipairs(list) do out[#out + 1] = name end
   end
   return out
end

local function words_for(kind, list, word)
   if kind == "?" then return explained(word) end
   return list or (kind and (kinds.words(kind, word) or {})) or anything(word)
end

local function in_text(word, before)
   if before:find("require%s*%(?%s*[\"']$") then return matching(modules(), word) end
   local kind, list = expected(site_of(before, true))
   if kind == "file" or kind == "command" or word:find("/") then return files(word) end
   local out = matching(words_for(kind, list, word), word)
   return #out == 0 and files(word) or out
end

-- --- commands and help ---------------------------------------------------------------------------

local function in_command(word, before)
   local name, rest = before:match("^%s*%.(%w+)%s+(.*)$")
   if not name then return matching(dot_commands.names(), word) end
   local wants = dot_commands.wants(name, rest == "" and 1 or 2)
   if wants == "file" then return files(word) end
   if wants == "context" then
      local list = tables.map(namespace.globals(programming.is_open), "name")
      return matching(list, word)
   end
   return wants == "help" and matching(explained(word), word) or {}
end

local function in_question(word)
   local mark, name = word:match("^(%?*)(.*)$")
   local out, path = {}, name:match("^(.-)[.:][%w_]*$")
   if name == "" then -- only pages and the prompt's names, as all names are hundreds
      for _, list in ipairs { reference.topics(), globals.names() } do tables.append(out, list) end
   else
      out = matching(explained(name), name)
      local list = path and in_code(name, "") or matching(namespace.of(_G), name)
      for _, found in ipairs(list) do out[#out + 1] = found end
   end
   for i, found in ipairs(out) do out[i] = mark .. found end
   return out
end

-- --- the calls of the prompt ---------------------------------------------------------------------

--- Says what is open at the end of a text: the quote of a string, "-" for a comment, "." for a
-- command of the prompt, "?" for a question to help; "" if nothing is.
-- @string text
-- @treturn string
function complete.quote(text)
   if text:find("^%s*%?") then return "?" end
   if text:find("^%s*%.%w*%s") or text:find("^%s*%.%w*$") then return "." end
   return tokens.open(text)
end

local function unique(list)
   local out, seen = {}, {}
   for _, word in ipairs(list) do
      if not seen[word] then out[#out + 1] = word end
      seen[word] = true
   end
   table.sort(out)
   return out
end

--- Returns the words that complete a word.
-- @string word
-- @string before the text up to the word
-- @string quote what is open before the word, as of `complete.quote`
-- @treturn table sorted
function complete.words(word, before, quote)
   if quote == "-" then return {} end
   if quote == "." then return unique(in_command(word, before)) end
   if quote == "?" then return unique(in_question(word)) end
   if quote ~= "" then return unique(in_text(word, before)) end
   return unique(in_code(word, before))
end

return complete
