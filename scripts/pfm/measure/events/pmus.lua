-- SPDX-License-Identifier: MIT
--- The PMUs that the kernel describes in sysfs, and their events: PMU/EVENT/, PMU/term=value,.../.
-- A PMU's folder has `type`; `format/TERM`, the bits of the event's configuration that a term
-- stands for ("config:0-7,32-35"); `events/NAME`, terms ("event=0x3c,umask=0"), with NAME.unit and
-- NAME.scale; and `cpumask`, if the PMU counts whole CPUs, or `cpus`, if it counts threads on these
-- CPUs.
-- @module pfm.measure.events.pmus

local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"

local pmus = {}

-- PMUs without events of the form PMU/EVENT/.
local OWN = { software = true, tracepoint = true, breakpoint = true }
local RAW = 4 -- the type of the PMU of x86's cores
local WORDS = { config = 0, config1 = 1, config2 = 2 }

local function root()
   return os.getenv("LPFM_EVENT_SOURCES") or "/sys/bus/event_source/devices"
end

local function line_of(pmu, path)
   return text_file.line(("%s/%s/%s"):format(root(), pmu, path))
end

-- --- PMUs ----------------------------------------------------------------------------------------

--- Returns the PMUs with events of the form PMU/EVENT/.
-- @treturn {string,...} sorted
function pmus.names()
   return tables.filter(text_file.names(root()) or {}, function(name)
      return not OWN[name] and tonumber(line_of(name, "type") or "")
   end)
end

-- Finds a PMU, or several of a kind: "uncore_imc", or "imc", is uncore_imc_0, uncore_imc_1, ...
local function named(name)
   local out = {}
   for _, pmu in ipairs(pmus.names()) do
      local kind = pmu:gsub("_%d+$", "")
      if pmu == name or pmu == "uncore_" .. name then return { pmu } end
      if kind == name or kind == "uncore_" .. name then out[#out + 1] = pmu end
   end
   return out
end

-- Sorts names by their numbers: uncore_imc_2 comes before uncore_imc_10.
local function by_number(a, b)
   local m, n = tonumber(a:match("%d+$")), tonumber(b:match("%d+$"))
   if m and n and m ~= n then return m < n end
   return a < b
end

--- Returns the PMUs of a processor's kinds of cores, if it has several. Each counts on its CPUs.
-- @treturn {string,...} "cpu_atom", "cpu_core"; empty where all cores are alike
function pmus.core_kinds()
   local out = tables.filter(pmus.names(), function(name) return line_of(name, "cpus") end)
   return #out > 1 and out or {}
end

--- Returns the named events of a PMU.
-- @string pmu
-- @treturn {string,...} sorted
function pmus.events(pmu)
   return tables.filter(text_file.names(("%s/%s/events"):format(root(), pmu)) or {}, function(name)
      return not name:find("%.")
   end)
end

--- Returns the terms of a PMU.
-- @string pmu
-- @treturn {string,...} sorted
function pmus.terms(pmu)
   return text_file.names(("%s/%s/format"):format(root(), pmu)) or {}
end

--- Returns the terms that a named event stands for.
-- @string pmu
-- @string event
-- @treturn string "event=0x3c,umask=0", or nil
function pmus.definition(pmu, event)
   return line_of(pmu, "events/" .. event)
end

-- --- terms ---------------------------------------------------------------------------------------

-- Returns the bits of a number in a text, from bit 0; nil if it is not a number.
local function bits_of(text)
   local out, hex = {}, text:match("^0[xX](%x+)$")
   local n = not hex and text:match("^%d+$") and tonumber(text)
   if n and n > 2 ^ 53 or not n and not hex then return nil end
   hex = (hex or ("%x"):format(n)):reverse()
   for i = 1, #hex do
      local digit = tonumber(hex:sub(i, i), 16)
      for k = 0, 3 do
         if math.floor(digit / 2 ^ k) % 2 == 1 then out[4 * (i - 1) + k] = true end
      end
   end
   return out
end

-- Returns, for a text like "config1:0-7,32-35", the configuration word, and where in it each bit of
-- the term is, from the term's lowest bit on; nil if the text has another form.
local function places_of(format)
   local word, ranges = format:match("^%s*(config%d*):([%d,%-]+)%s*$")
   if not word or not WORDS[word] then return nil end
   local out = {}
   for range in ranges:gmatch("[^,]+") do
      local from, to = range:match("^(%d+)%-?(%d*)$")
      from, to = tonumber(from), tonumber(to) or tonumber(from)
      if not from or to > 63 then return nil end
      for bit = from, to do out[#out + 1] = bit end
   end
   return word, out
end

local function all_places(word)
   local out = {}
   for bit = 0, 63 do out[bit + 1] = bit end
   return word, out
end

local function set_term(words, name, text, word, places)
   local bits = bits_of(text)
   if not bits then return nil, ("term '%s': '%s' is not a number"):format(name, text) end
   for bit in pairs(bits) do
      if bit >= #places then
         return nil, ("term '%s': %s does not fit into its %d bits"):format(name, text, #places)
      end
   end
   for i, place in ipairs(places) do words[word][place] = bits[i - 1] end
   return true
end

local apply

-- Adds a term, a named event of the PMU, or a raw event to the configuration words.
local function apply_one(pmu, part, words)
   local name, value = part:match("^([^=]+)=(.*)$")
   name = name or part
   local format = line_of(pmu, "format/" .. name)
   if format then
      local word, places = places_of(format)
      if not word then
         return nil, ("term '%s' of PMU '%s' lies in '%s', which is not known here"):format(name, pmu, format)
      end
      return set_term(words, name, value or "1", word, places)
   end
   local raw = not value and name:match("^r(%x+)$")
   if raw then return set_term(words, name, "0x" .. raw, all_places("config")) end
   if WORDS[name] and value then return set_term(words, name, value, all_places(name)) end
   local event = not value and not name:find("[./]") and pmus.definition(pmu, name)
   if event then return apply(pmu, event, words) end
   local known = pmus.terms(pmu)
   if not value then
      for _, e in ipairs(pmus.events(pmu)) do known[#known + 1] = e end
   end
   local hint = nearest.hint(name, known)
   if hint == "" and #known > 0 then hint = "; it has " .. table.concat(known, ", ") end
   return nil, ("PMU '%s' has no %s '%s'%s"):format(pmu, value and "term" or "event or term", name, hint)
end

function apply(pmu, text, words)
   for part in text:gmatch("[^,%s]+") do
      local ok, err = apply_one(pmu, part, words)
      if not ok then return nil, err end
   end
   return true
end

local function number_of(bits)
   local high, low = 0, 0
   for bit in pairs(bits) do
      if bit < 32 then low = low + 2 ^ bit else high = high + 2 ^ (bit - 32) end
   end
   return ("0x%08x%08x"):format(high, low)
end

-- --- events --------------------------------------------------------------------------------------

-- Returns the scale and unit of an event that is among the terms, if it has them.
local function scale_of(pmu, text)
   for part in text:gmatch("[^,%s]+") do
      local scale = not part:find("[=./]") and line_of(pmu, ("events/%s.scale"):format(part))
      if scale then return tonumber(scale), line_of(pmu, ("events/%s.unit"):format(part)) end
   end
end

-- Returns true if this is the PMU of the cores, and all cores are of one kind: its events can be
-- grouped and sampled.
local function is_core(number, cpus)
   return (number == RAW or cpus ~= nil) and #pmus.core_kinds() == 0
end

local function one(pmu, text)
   local words = { config = {}, config1 = {}, config2 = {} }
   local ok, err = apply(pmu, text, words)
   if not ok then return nil, err end
   local mask, cpus, number = line_of(pmu, "cpumask"), line_of(pmu, "cpus"), tonumber(line_of(pmu, "type"))
   local scale, unit = scale_of(pmu, text)
   if mask == "" then mask = nil end
   return { pmu = pmu, scale = scale, unit = unit, attr = { type = number,
      config = number_of(words.config), config1 = number_of(words.config1), config2 = number_of(words.config2),
      cpus = mask or cpus, alone = not is_core(number, cpus), whole_cpus = mask ~= nil } }
end

local function unknown(name)
   local all = pmus.names()
   local hint = nearest.hint(name, all)
   if hint == "" and #all > 0 then hint = "; there are " .. table.concat(all, ", ") end
   return ("there is no PMU '%s'%s"):format(name, hint)
end

--- Finds an event of a PMU, or of all PMUs of a kind.
-- @string name the PMU's, as in "power", or that of several without their numbers, "uncore_imc"
-- @string text events and terms: "energy-pkg", "event=0x3c,umask=0"
-- @treturn[1] {table,...} for each PMU `pmu`, `attr` for `lpfm.perf_event`, and what the event has
-- of `scale`, `unit`
-- @return[2] nil
-- @treturn[2] string message that names the unknown PMU or term
function pmus.find(name, text)
   local found, out = named(name), {}
   if #found == 0 then return nil, unknown(name) end
   if text:find("^[%s,]*$") then return nil, ("PMU '%s': expected an event, as in %s/EVENT/"):format(name, name) end
   table.sort(found, by_number)
   for i, pmu in ipairs(found) do
      local event, err = one(pmu, text)
      if not event then return nil, err end
      out[i] = event
   end
   return out
end

--- Returns the names that a pattern with wildcards matches.
-- @string pattern of a PMU
-- @string event pattern of its events
-- @treturn {string,...} "power/energy-pkg/", ...
function pmus.matching(pattern, event)
   local out = {}
   for _, pmu in ipairs(pmus.names()) do
      for _, name in ipairs(pmu:find(name_list.pattern(pattern)) and pmus.events(pmu) or {}) do
         if name:find(name_list.pattern(event)) then out[#out + 1] = ("%s/%s/"):format(pmu, name) end
      end
   end
   return out
end

return pmus
