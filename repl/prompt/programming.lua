-- SPDX-License-Identifier: MIT
--- How contexts are programmed, as Lua calls and in words: for `.save` and for saved scripts.
-- @module repl.prompt.programming

local literal = require "repl.prompt.literal"
local namespace = require "repl.prompt.namespace"

local programming = {}

--- Returns true if a value is an open context.
-- @param value
-- @treturn boolean
function programming.is_open(value)
   return getmetatable(value) == "lpfm.context" and not value:closed()
end

local function same(a, b)
   if type(a) ~= "table" or type(b) ~= "table" then return a == b end
   for k, v in pairs(a) do
      if not same(v, b[k]) then return false end
   end
   for k in pairs(b) do
      if a[k] == nil then return false end
   end
   return true
end

local function by_key(list, key)
   local out = {}
   for _, entry in ipairs(list) do out[(entry.set and entry.set .. "." or "") .. entry[key]] = entry end
   return out
end

-- --- as calls ------------------------------------------------------------------------------------

local function vector_text(name, call, list)
   return ("assert(%s:%s %s)"):format(name, call, literal.lines(list))
end

local function load_text(name, target, tid_text)
   local tid = target.tid and (tid_text or literal.text(target.tid)) or (target.set and "nil" or "")
   return ("assert(%s:load(%s))"):format(name, target.set and ("%s, %d"):format(tid, target.set) or tid)
end

-- Returns the entries that are new or have changed.
local function changed(before, now, key)
   local old, out = by_key(before, key), {}
   for id, entry in pairs(by_key(now, key)) do
      if not same(old[id], entry) then out[#out + 1] = entry end
   end
   table.sort(out, function(a, b)
      local p, q = a.set or 0, b.set or 0
      return p < q or (p == q and a[key] < b[key])
   end)
   return out
end

local function deleted(before, now)
   local kept, out = by_key(now, "id"), {}
   for _, set in ipairs(before) do
      if not kept[tostring(set.id)] then out[#out + 1] = set.id end
   end
   return out
end

local nothing = { sets = {}, pmcs = {}, pmds = {} }

--- Returns the calls that program a context.
-- @string name of its variable in the script
-- @tparam ?table before its `context:programming` before these calls; nil if they create it
-- @tparam table now its `context:programming` after these calls
-- @tparam[opt] string tid_text the thread to load it on, as an expression of the script
-- @treturn {string,...} lines
-- @usage require("repl.prompt.programming").calls("c", nil, { create = {}, sets = {}, pmcs = {}, pmds = {} })
function programming.calls(name, before, now, tid_text)
   local lines = { not before and ("%s = assert(lpfm.create %s)"):format(name, literal.text(now.create)) or nil }
   local function call(text) lines[#lines + 1] = ("assert(%s:%s)"):format(name, text) end
   before = before or nothing
   local moved = not same(before.target, now.target)
   if moved and before.target then call "unload()" end
   local gone = deleted(before.sets, now.sets)
   if #gone > 0 then lines[#lines + 1] = vector_text(name, "delete_evtsets", gone) end
   for _, part in ipairs { { "create_evtsets", "sets", "id" }, { "write_pmcs", "pmcs", "num" },
      { "write_pmds", "pmds", "num" } } do
      local list = changed(before[part[2]], now[part[2]], part[3])
      if #list > 0 then lines[#lines + 1] = vector_text(name, part[1], list) end
   end
   if moved and now.target then lines[#lines + 1] = load_text(name, now.target, tid_text) end
   if now.running and (moved or not before.running) then call "start()" end
   if before.running and not now.running and not moved then call "stop()" end
   return lines
end

-- --- in words ------------------------------------------------------------------------------------

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

--- Lists the differences between two programmings, except for the thread, which differs in each
-- run.
-- @tparam table before
-- @tparam table now
-- @treturn table of texts, empty if they are the same
function programming.differences(before, now)
   local out = {}
   if not same(before.create, now.create) then out[1] = "it was created with other options" end
   compare_lists(out, "set", "id", before.sets, now.sets)
   compare_lists(out, "PMC", "num", before.pmcs, now.pmcs)
   compare_lists(out, "PMD", "num", before.pmds, now.pmds)
   if (before.target == nil) ~= (now.target == nil) then
      out[#out + 1] = now.target and "it is loaded" or "it is not loaded"
   elseif before.running ~= now.running then
      out[#out + 1] = now.running and "it is started" or "it is stopped"
   end
   table.sort(out)
   return out
end

-- --- all contexts that have a name ---------------------------------------------------------------

--- Returns how the contexts in global variables are programmed.
-- @treturn table by context, with weak keys
function programming.snapshot()
   local out = setmetatable({}, { __mode = "k" })
   for _, c in ipairs(namespace.globals(programming.is_open)) do out[c.value] = c.value:programming() end
   return out
end

--- Compares how contexts are programmed with a snapshot.
-- @tparam table before of `programming.snapshot`
-- @treturn table by context, with weak keys: `before` (nil if it is new) and `now`
function programming.changes(before)
   local out = programming.snapshot()
   for ctx, now in pairs(out) do
      out[ctx] = not same(before[ctx], now) and { before = before[ctx], now = now } or nil
   end
   return out
end

return programming
