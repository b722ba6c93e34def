-- SPDX-License-Identifier: MIT
--- Completion at the prompt, wherever a name can stand: variables, fields, methods; fields of the tables that calls
-- take; inside strings what the call expects there: events and unit masks, flags, formats, machines, modules, files;
-- the prompt's own commands; what help explains.
-- @module repl.prompt.complete

local dot_commands = require "repl.prompt.dot_commands"
local names = require "repl.prompt.names"
local reference = require "repl.prompt.reference"
local tokens = require "repl.prompt.tokens"

local complete = {}

local function starts(text, prefix)
   return text:sub(1, #prefix) == prefix
end

-- Those that begin like the word; if there are none, whatever their case.
local function matching(list, word)
   local out, seen = {}, {}
   for _, fold in ipairs { tostring, string.lower } do
      for _, name in ipairs(list) do
         if starts(fold(name), fold(word)) and not seen[name] then
            seen[name] = true
            out[#out + 1] = name
         end
      end
      if #out > 0 then break end
   end
   return out
end

local function keys_of(t)
   local out = {}
   for key in pairs(t or {}) do out[#out + 1] = key end
   return out
end

-- --- where in the text ---------------------------------------------------------------------------

local OPENING, CLOSING = { ["("] = true, ["{"] = true, ["["] = true }, { [")"] = true, ["}"] = true, ["]"] = true }

-- The path that ends with token i: "c:write_pmds"; nil if none does.
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

-- The brackets that are open at the end: the call that each belongs to, the field, the argument's number.
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

-- Where the end of a text lies: `call`, the key of what is called; `argument`, of its parentheses; `level`, how many
-- braces deep in its argument; `field`, the one whose value stands here.
local function site_of(text, in_string)
   local list = tokens.code(text)
   if in_string then list[#list] = nil end
   local stack = open_brackets(list)
   local last, before = list[#list], list[#list - 1]
   local site = { level = 0, field = last and last.text == "=" and before and before.text or nil, after = last,
      argument = 1 }
   if last and last.kind == "name" then site.call = path_ending_at(list, #list) end -- stat "ls"
   for i = #stack, 1, -1 do
      if site.call then break end
      local open = stack[i]
      site.field = site.field or (open.text == "{" and open.field) or nil
      site.call = open.call
      if open.text == "{" then site.level = site.level + 1 else site.argument = open.argument end
   end
   site.path = site.call
   site.call = site.call and reference.key(site.call)
   return site
end

-- --- code ----------------------------------------------------------------------------------------

-- The fields that can be given at a place in a call's tables.
local function fields_at(site)
   local entry = site.call and reference.entry(site.call)
   local after = site.after and site.after.text or "{"
   if not entry or not (after == "{" or after == "," or after == ";") then return {} end
   if site.level == 1 then return keys_of(entry.fields) end
   return site.level == 2 and not site.field and keys_of(entry.entries) or {}
end

local function in_path(path, sep, last)
   local value = names.value(path)
   if value == nil then return {} end
   local out = matching(names.of(value, false, sep == ":"), last)
   for i, name in ipairs(out) do out[i] = path .. sep .. name end
   return out
end

-- The fields of what a call returns, as far as its description tells: "c:buffer()", "lpfm.machine()".
local function of_result(path, sep)
   local key = reference.key(path)
   local entry = key and reference.entry(key)
   local class = entry and entry.usage:match("%-> (%a+)")
   local out = keys_of(entry and entry.returns)
   for _, method in ipairs(class and reference.methods(class) or {}) do out[#out + 1] = method:match("[%w_]+$") end
   for i, name in ipairs(out) do out[i] = sep .. name end
   return out
end

-- What stands in front of the word can belong to it: t[1].na, where only ".na" is the word.
local function whole_path(word, before)
   return (before:match("[%a_][%w_.:]*%b[]$") or "") .. word
end

local function in_code(word, before)
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
   local fields = matching(fields_at(site_of(before, false)), word)
   return #fields > 0 and fields or matching(names.of(_G, true), word)
end

-- --- files ---------------------------------------------------------------------------------------

local function files(word)
   local dir, last = word:match("^(.*/)([^/]*)$")
   dir, last = dir or "", last or word
   local out = {}
   for _, name in ipairs(names.entries(dir == "" and "." or dot_commands.expand(dir)) or {}) do
      local hidden = name:find("^%.") and not last:find("^%.")
      if name ~= "." and name ~= ".." and not hidden and starts(name, last) then out[#out + 1] = dir .. name end
   end
   if #out == 1 and names.entries(dot_commands.expand(out[1])) then out[1] = out[1] .. "/" end
   return out
end

-- --- strings -------------------------------------------------------------------------------------

-- "BASE:ma": the unit masks and modifiers of an event.
local function masks(base, before, pmu)
   local lpfm = require "lpfm"
   local out, event = {}, lpfm.event(base, pmu)
   for _, full in ipairs(lpfm.events(base, { masks = true, pmu = pmu }) or {}) do
      local name, mask = full:match("^(.+):([^:]+)$")
      if name and name:lower() == base:lower() then out[#out + 1] = before .. mask end
   end
   for _, modifier in ipairs(event and event.modifiers or {}) do out[#out + 1] = before .. modifier.name end
   for _, level in ipairs { "u", "k", "uk" } do out[#out + 1] = before .. level end
   return out
end

-- "MODEL::NAME": events of another model.
local function events_of(model)
   local out = {}
   for i, name in ipairs(require("lpfm").events(nil, { pmu = model }) or {}) do out[i] = model .. "::" .. name end
   return out
end

local here = {} -- the names of events of a machine: to list them takes tens of milliseconds

local function events_here()
   local machine = require("lpfm").machine()
   local key = machine.name .. " " .. machine.pmu
   if here.key == key then return here.names end
   local out = require("pfm.events").names()
   for _, name in ipairs((require("lpfm").events(nil, { generic = true })) or {}) do out[#out + 1] = name end
   here.key, here.names = key, out
   return out
end

local function events(word)
   local model, rest = word:match("^([%w_]+)::(.*)$")
   local before, base = (rest or word):match("^(([^:]+):.-)[^:]*$")
   if base then return masks(base, (model and model .. "::" or "") .. before, model) end
   if model then return events_of(model) end
   return events_here()
end

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

local function formats()
   local out = {}
   for _, f in ipairs(require("lpfm").formats() or {}) do out[#out + 1] = f.name end
   return out
end

local function modules()
   local out = { "lpfm", "lpfm.proc" }
   for _, name in ipairs(names.modules()) do out[#out + 1] = "pfm." .. name end
   for name in pairs(package.loaded) do
      if name:find("^lpfm") then out[#out + 1] = name end
   end
   return out
end

local function machines()
   return require("lpfm").machines()
end

local function flags_of(topic)
   return function() return keys_of(require("lpfm").flags[topic]) end
end

local function metric_groups()
   local out = {}
   for i, entry in ipairs(require("pfm.metrics").all()) do out[i] = entry.name end
   return out
end

local function pmus()
   local out = {}
   for i, pmu in ipairs(require("lpfm").pmus()) do out[i] = pmu.name end
   return out
end

local function report_keys()
   return { "symbol", "object", "line", "address", "thread", "comm", "pid", "cpu", "event" }
end

local function sample_fields()
   return { "ip", "tid", "pid", "cpu", "tstamp", "set", "ovfl_pmd", "last_reset" }
end

local function explained(word)
   local out = reference.topics()
   for _, list in ipairs { reference.keys(), events(word), registers() } do
      for _, name in ipairs(list) do out[#out + 1] = name end
   end
   return out
end

local function sim_events()
   local machine = require("lpfm").machine()
   return machine and machine.events and machine:events() or {}
end

local function none()
   return {}
end

-- What a string is, by the call it is an argument of, or by the field it is the value of.
local by_argument = {
   help = { explained }, list = { events, pmus }, report = { files, report_keys }, record = { files, files },
   stat = { files, events, metric_groups }, session = { files, events, metric_groups },
   ["lpfm.machine"] = { machines }, ["lpfm.event"] = { events, pmus }, ["lpfm.events"] = { events },
   ["machine:encode"] = { sim_events, none, none }, ["buffer:count_by"] = { sample_fields, sample_fields },
   ["buffer:fields"] = { sample_fields, sample_fields, sample_fields, sample_fields },
   ["events.parse"] = { events }, ["events.read"] = { events },
}

local by_field = {
   events = events, with = events, format = formats, buf_flags = flags_of "buffer", pmu = pmus, metrics = metric_groups,
   record = files, output = files,
}

local flag_topics = { ["lpfm.create"] = "context", ["context:write_pmcs"] = "pmc", ["lpfm.pmcs"] = "pmc",
   ["context:write_pmds"] = "pmd", ["lpfm.pmds"] = "pmd", ["context:read_pmds"] = "pmd",
   ["context:create_evtsets"] = "set" }

local function expected(site)
   if site.field == "flags" and flag_topics[site.call] then return flags_of(flag_topics[site.call]) end
   if site.field and by_field[site.field] then return by_field[site.field] end
   local list = by_argument[site.call or site.path]
   return site.level == 0 and list and list[site.argument] or nil
end

-- In a string of which nothing is known, names of events and registers, then files.
local function anything(word)
   local out = {}
   for _, list in ipairs { events(word), registers(), formats() } do
      for _, name in ipairs(list) do out[#out + 1] = name end
   end
   return out
end

local function in_text(word, before)
   if before:find("require%s*%(?%s*[\"']$") then return matching(modules(), word) end
   local source = expected(site_of(before, true))
   if source == files or word:find("/") then return files(word) end
   local out = matching((source or anything)(word), word)
   return #out == 0 and files(word) or out
end

-- --- commands and help ---------------------------------------------------------------------------

local function in_command(word, before)
   local name, rest = before:match("^%s*%.(%w+)%s+(.*)$")
   if not name then return matching(dot_commands.names(), word) end
   local wants = dot_commands.wants(name, rest == "" and 1 or 2)
   if wants == "file" then return files(word) end
   if wants == "context" then
      local list = {}
      for _, c in ipairs(names.globals(require("repl.prompt.journal").is_open)) do list[#list + 1] = c.name end
      return matching(list, word)
   end
   return wants == "help" and matching(explained(word), word) or {}
end

local function in_question(word)
   local mark, name = word:match("^(%?*)(.*)$")
   local out, path = matching(explained(name), name), name:match("^(.-)[.:][%w_]*$")
   for _, found in ipairs(path and in_code(name, "") or matching(names.of(_G), name)) do out[#out + 1] = found end
   for i, found in ipairs(out) do out[i] = mark .. found end
   return out
end

-- --- the calls of the prompt ---------------------------------------------------------------------

--- What is open at the end of a text: a quote; "." in the arguments of a command, "?" where help is asked for; "".
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

--- Words that complete one.
-- @string word
-- @string before the text up to the word
-- @string quote what is open there, of `complete.quote`
-- @treturn table sorted
function complete.words(word, before, quote)
   if quote == "-" then return {} end
   if quote == "." then return unique(in_command(word, before)) end
   if quote == "?" then return unique(in_question(word)) end
   if quote ~= "" then return unique(in_text(word, before)) end
   return unique(in_code(word, before))
end

return complete
