-- SPDX-License-Identifier: MIT
--- Keeps how contexts are programmed, for the interface can program a context, but not read that back. Once installed,
-- the journal listens to every call and knows each context's flags and format, event sets, PMCs, PMDs, target.
-- The prompt installs it; `watch`, `.save` and `.load` ask it.
-- @module repl.prompt.journal

local lpfm = require "lpfm"

local journal = {}

local MAX = 2 ^ 53

local known = setmetatable({}, { __mode = "k" })
local listeners = {}
local machine      -- the last choice of a machine: { name=, options= }
local event_names = {} -- of PMC values, as dispatch_events made them: "num=value" to the event

-- --- copies of arguments -------------------------------------------------------------------------

local function exact(value)
   if type(value) == "number" or type(value) == "string" or type(value) == "boolean" then return value end
   return value:hex()
end

local function copy(value)
   if type(value) == "table" and not getmetatable(value) then
      local out = {}
      for k, v in pairs(value) do out[k] = copy(v) end
      return out
   end
   if type(value) == "userdata" then return exact(value) end
   if type(value) == "cdata" then return exact(lpfm.u64(value)) end
   return value
end

local fields_of = {
   pmc = { "num", "set", "value", "flags" },
   pmd = { "num", "set", "value", "flags", "long_reset", "short_reset", "switch_cnt", "reset_pmds", "smpl_pmds",
      "eventid", "random_mask", "random_seed" },
}

local function is_default(value)
   return value == 0 or (type(value) == "table" and next(value) == nil)
end

-- A prepared vector as a list of tables.
local function unpack_vector(vector, kind)
   local out = {}
   for i = 1, #vector do
      out[i] = {}
      for _, field in ipairs(fields_of[kind]) do
         local value = vector:get(i, field)
         if field == "num" or field == "value" or not is_default(value) then out[i][field] = copy(value) end
      end
   end
   return out
end

-- A list of registers or sets, as the calls take it, in full.
local function entries(list, kind, first)
   if type(list) == "userdata" then return unpack_vector(list, kind) end
   local out = {}
   for i, entry in ipairs(list) do out[i] = type(entry) == "table" and copy(entry) or { [first] = entry } end
   return out
end

-- Flags as a sorted list of names.
local function flag_names(value, topic)
   local out, seen = {}, {}
   local function add(flag)
      for name, bit in pairs(lpfm.flags[topic]) do
         local constant = type(flag) == "string" and flag:sub(-#name) == name and lpfm.const[flag] == bit
         local among = type(flag) == "number" and flag % (2 * bit) >= bit
         if (flag == name or constant or among) and not seen[bit] then
            seen[bit] = true
            out[#out + 1] = name
         end
      end
   end
   for _, flag in ipairs(type(value) == "table" and value or { value }) do add(flag) end
   table.sort(out)
   return #out > 0 and out or nil
end

-- --- what each call changes ----------------------------------------------------------------------

-- How many elements of a refused call are done: those in front of the one that its message names.
local function done(list, ok, message)
   if ok then return #list end
   local bad = type(message) == "string" and message:match("element (%d+)")
   return bad and tonumber(bad) - 1 or 0
end

local function has(flags, name)
   for _, flag in ipairs(flags or {}) do
      if flag == name then return true end
   end
   return false
end

-- 2.x: VALUES writes the value alone, ATTRS all but the value.
local function merged_pmd(old, new)
   local out = {}
   local keep = has(new.flags, "VALUES") and new or has(new.flags, "ATTRS") and { value = old and old.value } or nil
   if not old or not keep then return new end
   local base = has(new.flags, "VALUES") and old or new
   for k, v in pairs(base) do out[k] = v end
   out.value = keep.value
   out.flags = base == new and flag_names(base.flags, "pmd") or base.flags
   return out
end

local function put(registers, entry, value)
   local set = entry.set or 0
   registers[set] = registers[set] or {}
   registers[set][entry.num] = value
end

local apply = {}

function apply.create_evtsets(self, list)
   for _, set in ipairs(list) do self.sets[set.id] = set end
end

function apply.delete_evtsets(self, list)
   for _, set in ipairs(list) do self.sets[set.id], self.pmcs[set.id], self.pmds[set.id] = nil, nil, nil end
end

function apply.write_pmcs(self, list)
   for _, pmc in ipairs(list) do put(self.pmcs, pmc, pmc) end
end

function apply.write_pmds(self, list)
   for _, pmd in ipairs(list) do
      local old = (self.pmds[pmd.set or 0] or {})[pmd.num]
      put(self.pmds, pmd, merged_pmd(old, pmd))
   end
end

local kinds = {
   create_evtsets = { "set", "id" }, delete_evtsets = { "set", "id" },
   write_pmcs = { "pmc", "num" }, write_pmds = { "pmd", "num" },
}

local commands = {
   load = function(self, tid, set)
      self.target = { tid = tid, set = set }
      self.running = false
   end,
   unload = function(self) self.target, self.running = nil, false end,
   start = function(self) self.running = true end,
   stop = function(self) self.running = false end,
}

-- --- listening -----------------------------------------------------------------------------------

local function tell(ctx, call, ...)
   for listener in pairs(listeners) do listener(ctx, call, ...) end
end

local function note_vector(ctx, call, list, ok, message)
   local self, kind = known[ctx], kinds[call]
   if not self or (type(list) ~= "table" and type(list) ~= "userdata") then return end
   local all = entries(list, kind[1], kind[2])
   local n = done(all, ok, message)
   for i = #all, n + 1, -1 do all[i] = nil end
   for _, entry in ipairs(all) do
      if entry.flags ~= nil then entry.flags = flag_names(entry.flags, kind[1]) end
   end
   apply[call](self, all)
   if n > 0 then tell(ctx, call, all) end
end

local function note_command(ctx, call, ok, ...)
   if not ok or not known[ctx] then return end
   commands[call](known[ctx], ...)
   tell(ctx, call, ...)
end

-- Calls the original method. Its error gets the position of the caller's code, as without the journal.
local function call_through(original, ...)
   local ok, a, b, c, d = pcall(original, ...)
   if ok then return a, b, c, d end
   error(a, type(a) == "string" and not a:find("^[^\n]-:%d+: ") and 3 or 0)
end

local function wrap_vector(methods, call)
   local original = methods[call]
   methods[call] = function(ctx, list, ...)
      local result, message, errno = call_through(original, ctx, list, ...)
      note_vector(ctx, call, list, result ~= nil, message)
      if result == nil then return nil, message, errno end
      return result
   end
end

-- A thread has one context. If it is in use by an unreachable context that is not collected yet, EBUSY would be wrong:
-- garbage is collected, and the call is made again.
local function retry_collected(original)
   return function(...)
      local result, message, errno = original(...)
      if result ~= nil or errno ~= lpfm.errno.EBUSY then return result, message, errno end
      collectgarbage()
      collectgarbage()
      return original(...)
   end
end

local function wrap_command(methods, call)
   local original = call == "load" and retry_collected(methods[call]) or methods[call]
   methods[call] = function(ctx, ...)
      local result, message, errno = call_through(original, ctx, ...)
      note_command(ctx, call, result, ...)
      if result == nil then return nil, message, errno end
      return result
   end
end

local function wrap_create()
   local original = lpfm.create
   lpfm.create = function(options, ...)
      local ctx, message, errno = call_through(original, options, ...)
      if ctx then
         local create = copy(options or {})
         create.flags = flag_names(create.flags, "context")
         known[ctx] = { create = create, sets = {}, pmcs = {}, pmds = {}, running = false, machine = machine }
         tell(ctx, "create")
         return ctx
      end
      return nil, message, errno
   end
end

local function wrap_machine()
   local original = lpfm.machine
   lpfm.machine = function(name, options, ...)
      local info, message, errno = call_through(original, name, options, ...)
      if not info then return nil, message, errno end
      if name ~= nil then machine = { name = name, options = copy(options) } end
      return info
   end
end

-- The PMD that counts event i of what dispatch_events found.
local function counter_of(out, i)
   local terms = type(out.counters) == "table" and out.counters[i] and out.counters[i].terms
   return terms and terms[1] and terms[1].pmd or (out.pmds and out.pmds[i])
end

local function note_events(asked, out)
   for i, event in ipairs(asked) do
      local pmd = counter_of(out, i)
      for _, pmc in ipairs(out.pmcs or {}) do
         local key = ("%d=%s"):format(pmc.num, tostring(pmc.value))
         if pmc.num == pmd then event_names[key] = type(event) == "table" and event.name or event end
      end
   end
end

-- Names of events stay with the values that they became.
local function wrap_dispatch()
   local original = lpfm.dispatch_events
   lpfm.dispatch_events = function(spec, ...)
      local out, message, errno, name = call_through(original, spec, ...)
      if not out then return nil, message, errno, name end
      if type(spec.events) == "table" then note_events(spec.events, out) end
      return out
   end
end

-- What a context is as text says what the journal knows of it.
local function wrap_text()
   local meta = debug.getregistry()["lpfm.context"]
   local original = meta.__tostring
   function meta.__tostring(ctx)
      return require("repl.prompt.counters").text(ctx, original(ctx))
   end
end

local installed = false

--- Begins to listen. Contexts made before are not known. Can be called again.
function journal.install()
   if installed then return end
   installed = true
   local methods = debug.getregistry()["lpfm.context"].__index -- no machine may be there to create one
   for call in pairs(kinds) do wrap_vector(methods, call) end
   for call in pairs(commands) do wrap_command(methods, call) end
   wrap_text()
   wrap_create()
   wrap_machine()
   wrap_dispatch()
end

--- Calls a function at every call that changes a context: `listener(ctx, call, ...)`, with the list as it was
-- understood, or the command's arguments.
-- @tparam function listener
-- @treturn function that ends it
function journal.listen(listener)
   listeners[listener] = true
   return function() listeners[listener] = nil end
end

-- --- what is known -------------------------------------------------------------------------------

--- Is this a context, and one that is open?
-- @param value
-- @treturn boolean
function journal.is_open(value)
   return type(value) == "userdata" and known[value] ~= nil and not value:closed()
end

local function sorted_registers(registers)
   local out = {}
   for _, by_num in pairs(registers) do
      for _, entry in pairs(by_num) do out[#out + 1] = entry end
   end
   table.sort(out, function(a, b)
      local p, q = a.set or 0, b.set or 0
      return p < q or (p == q and a.num < b.num)
   end)
   return out
end

local function sorted_sets(sets)
   local out = {}
   for _, set in pairs(sets) do out[#out + 1] = set end
   table.sort(out, function(a, b) return a.id < b.id end)
   return out
end

--- How a context is programmed.
-- @param ctx
-- @treturn table `create` (the options of lpfm.create), `sets`, `pmcs`, `pmds` (as the calls take them, sorted),
-- `target` (`tid`, `set`; nil: not loaded), `running`, `machine` (`name`, `options`; nil: the default); or nil if the
-- context was made before the journal listened
-- @usage
-- local c = lpfm.create()
-- local programming = require("repl.prompt.journal").programming(c)
-- print(programming and programming.pmcs[1])
-- c:close()
function journal.programming(ctx)
   local self = known[ctx]
   if not self then return nil end
   return {
      create = self.create, sets = sorted_sets(self.sets), pmcs = sorted_registers(self.pmcs),
      pmds = sorted_registers(self.pmds), target = self.target, running = self.running, machine = self.machine,
   }
end

--- The machine that was chosen.
-- @return `{name=, options=}`, or nil: the default
function journal.machine()
   return machine
end

--- The event that a PMC's value counts, if it was given by name.
-- @int num
-- @param value
-- @return string or nil
function journal.event(num, value)
   return event_names[("%d=%s"):format(num, tostring(value))]
end

-- --- differences ---------------------------------------------------------------------------------

local function same(a, b)
   if type(a) == "table" and type(b) == "table" then
      for k, v in pairs(a) do
         if not same(v, b[k]) then return false end
      end
      for k in pairs(b) do
         if a[k] == nil then return false end
      end
      return true
   end
   if type(a) == "number" and type(b) == "number" then return a == b end
   return tostring(a) == tostring(b) or (math.abs(tonumber(a) or MAX) < MAX and tonumber(a) == tonumber(b))
end

local function by_key(list, key)
   local out = {}
   for _, entry in ipairs(list or {}) do out[(entry.set and entry.set .. "." or "") .. entry[key]] = entry end
   return out
end

local function compare_lists(out, what, key, before, now)
   local old, new = by_key(before, key), by_key(now, key)
   for id, entry in pairs(old) do
      if not new[id] then
         out[#out + 1] = ("%s %s is not programmed"):format(what, id)
      elseif not same(entry, new[id]) then
         out[#out + 1] = ("%s %s is programmed otherwise"):format(what, id)
      end
   end
   for id in pairs(new) do
      if not old[id] then out[#out + 1] = ("%s %s is programmed, too"):format(what, id) end
   end
end

--- In what two programmings differ. The thread does not count: it is another one each time.
-- @tparam table before
-- @tparam table now
-- @treturn table of texts, empty if they are the same
function journal.differences(before, now)
   local out = {}
   if not same(before.create, now.create) then out[1] = "it was created with other options" end
   compare_lists(out, "set", "id", before.sets, now.sets)
   compare_lists(out, "PMC", "num", before.pmcs, now.pmcs)
   compare_lists(out, "PMD", "num", before.pmds, now.pmds)
   if (before.target == nil) ~= (now.target == nil) then
      out[#out + 1] = now.target and "it is loaded" or "it is not loaded"
   elseif (before.running or false) ~= (now.running or false) then
      out[#out + 1] = now.running and "it is started" or "it is stopped"
   end
   table.sort(out)
   return out
end

return journal
