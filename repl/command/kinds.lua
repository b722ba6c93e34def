-- SPDX-License-Identifier: MIT
--- The kinds of words on command lines and of arguments at the prompt, and the known words of each
-- kind, which completion offers in shells and at the prompt.
-- @module repl.command.kinds

local parts = require "repl.parts"
local tables = require "pfm.util.tables"

local kinds = {}

--- The kinds of options' values, by their names in the help; other values can be anything.
kinds.of_value = {
   FILE = "file", EVENT = "event", EVENTS = "event", ["EVENT:N"] = "event", STAGES = "stages", KEYS = "key",
   KEY = "figure_key", GROUPS = "group", MODEL = "pmu", FORMAT = "format", CPUS = "cpu", WEIGHT = "weight",
   VALUE = "value", ORDER = "order", HOW = "unwinding", FIELDS = "field", ["HOW[:SEED]"] = "random", KIND = "kind",
   EXPR = "expression",
}

local function names_in(list)
   return tables.map(list or {}, "name")
end

-- --- events --------------------------------------------------------------------------------------

-- Returns the unit masks and modifiers of an event, for a word such as "BASE:ma".
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

-- Returns events of another model, as "MODEL::NAME".
local function events_of(model)
   local names = require("lpfm").events(nil, { pmu = model })
   return tables.map(names or {}, function(name) return model .. "::" .. name end)
end

local here = {} -- the names of events, by machine: listing them takes tens of milliseconds

local function events_here()
   local machine = require("lpfm").machine()
   if not machine then return {} end
   local key = machine.name .. " " .. machine.pmu
   if here.key == key then return here.names end
   local out = require("pfm.events").names()
   for _, source in ipairs(require("pfm.events").sources()) do out[#out + 1] = source end
   for _, name in ipairs((require("lpfm").events(nil, { generic = true })) or {}) do out[#out + 1] = name end
   here.key, here.names = key, out
   return out
end

-- --- the kinds -----------------------------------------------------------------------------------

-- Functions by kind: each takes the beginning of a word, and lists the words that may complete it.
local words = {}

-- Returns the names of tracepoints or of a PMU's events in sysfs, for "SYSTEM:tr" or "PMU/ev".
local function names_of_source(word)
   local source, mark = word:match("^([%w_]+)([:/])")
   local found = source and require("pfm.events").matching(source .. (mark == ":" and ":*" or "/*/"))
   return found and #found > 0 and found or nil
end

function words.event(word)
   local named = names_of_source(word)
   if named then return named end
   local model, rest = word:match("^([%w_]+)::(.*)$")
   local before, base = (rest or word):match("^(([^:]+):.-)[^:]*$")
   if base then return masks(base, (model and model .. "::" or "") .. before, model) end
   if model then return events_of(model) end
   return events_here()
end

function words.stages(word)
   local out = { "then", "or", "counting", "sample" }
   return tables.append(out, words.event(word))
end

function words.key() return require("pfm.analyze").keys() end
function words.group() return require("pfm.metrics").names() end
function words.pmu() return names_in(require("lpfm").pmus()) end
function words.format() return require("pfm.export").names end
function words.expression() return require("pfm.program").names() end
function words.figure() return tables.keys(require("pfm.plot").views) end
function words.figure_key() return require("pfm.analyze").keys(true) end
function words.section() return require("repl.command.list").sections() end
function words.field() return require("repl.command.script").fields() end
function words.shell() return { "bash", "fish", "zsh" } end
function words.kind() return kinds.names() end
function words.sampling_format() return names_in((require("lpfm").formats())) end
function words.weight() return { "samples", "events" } end
function words.unwinding() return { "fp", "dwarf" } end
function words.order() return { "caller", "callee" } end
function words.value() return { "interval", "period" } end
function words.random() return { "uniform", "exponential", "prime" } end

function words.lab() return require("repl.lab.catalog").names() end

function words.name()
   local out = { "help" }
   for i, name in ipairs(require("repl.command.rows").names) do out[i + 1] = name end
   return out
end

function words.cpu()
   return tables.map(require("lpfm.proc").cpus(), tostring)
end

function words.machine()
   return require("lpfm").machines()
end

function words.sim_event()
   local machine = require("lpfm").machine()
   return machine and machine.events and machine:events() or {}
end

function words.sample_field()
   return { "ip", "tid", "pid", "cpu", "tstamp", "set", "ovfl_pmd", "last_reset" }
end

for kind, list in pairs(parts.kinds()) do words[kind] = function() return list end end

--- Returns the names of the kinds that have known words. The other kinds are "file", "command" and
-- "function".
-- @treturn {string,...} sorted
function kinds.names()
   return tables.keys(words)
end

--- Returns the words of a kind that can complete a word.
-- @string kind
-- @string word the text so far; for events, unit masks are listed if it names a base event
-- @treturn {string,...} or nil if they are unknown: files, programs
function kinds.words(kind, word)
   return words[kind] and words[kind](word)
end

-- --- the words that fit --------------------------------------------------------------------------

local function starts(text, prefix)
   return text:sub(1, #prefix) == prefix
end

--- Returns the words of a list that begin like a word; if there are none, case is ignored.
-- @tparam {string,...} list
-- @string word
-- @treturn {string,...} without duplicates
function kinds.matching(list, word)
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

--- Completes the last part of a list, as in "page-faults,c".
-- @string kind
-- @string word
-- @treturn {string,...} whole words, sorted
function kinds.complete(kind, word)
   local before, last = word:match("^(.*[, {])([^, {]*)$")
   before, last = before or "", last or word
   local out = kinds.matching(kinds.words(kind, last) or {}, last)
   for i, found in ipairs(out) do out[i] = before .. found end
   table.sort(out)
   return out
end

return kinds
