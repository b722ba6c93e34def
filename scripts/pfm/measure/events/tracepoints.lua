-- SPDX-License-Identifier: MIT
--- The kernel's tracepoints by name, SYSTEM:NAME, as tracefs has them.
-- @module pfm.measure.events.tracepoints

local name_list = require "pfm.util.name_list"
local nearest = require "pfm.util.nearest"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"

local tracepoints = {}

local TYPE = 2 -- PERF_TYPE_TRACEPOINT
local USUAL = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" }

-- --- tracefs -------------------------------------------------------------------------------------

-- Returns the folders where tracefs may be mounted; the usual ones come first.
local function candidates()
   local given = os.getenv("LPFM_TRACEFS")
   if given then return { given } end
   local out = { unpack(USUAL) }
   for line in (text_file.all("/proc/mounts") or ""):gmatch("[^\n]+") do
      local path, kind = line:match("^%S+ (%S+) (%S+)")
      if kind == "tracefs" then out[#out + 1] = path end
   end
   return out
end

local function is_known_to_kernel()
   local text = text_file.all("/proc/filesystems")
   return not text or text:find("\ttracefs\n", 1, true) ~= nil
end

local function remedy(root)
   return ("root may, and a group's members after 'mount -o remount,gid=GROUP,mode=750 %s'"):format(root)
end

-- Returns the folder of events and the systems in it; nil and why if there is none.
local function systems()
   local denied
   for _, root in ipairs(candidates()) do
      local names, why = text_file.names(root .. "/events")
      if names and #names > 0 then return root .. "/events", names end
      if why == "denied" then denied = denied or root end
   end
   if denied then
      return nil, denied .. " may not be read: " .. remedy(denied)
   end
   local given = os.getenv("LPFM_TRACEFS")
   if given then return nil, ("there are no events in '%s' (LPFM_TRACEFS)"):format(given) end
   if not is_known_to_kernel() then return nil, "this kernel has no tracefs" end
   return nil, ("tracefs is not mounted: 'mount -t tracefs tracefs %s'"):format(USUAL[1])
end

local function list(root, system)
   return tables.filter(text_file.names(root .. "/" .. system) or {}, function(name)
      return name ~= "enable" and name ~= "filter"
   end)
end

-- --- names ---------------------------------------------------------------------------------------

--- Splits a word that could be a tracepoint's name.
-- @string word
-- @treturn string system, or nil
-- @treturn string name; either may have wildcards
function tracepoints.parts(word)
   return word:match("^([%w_*?%-]+):([%a_*?][%w_*?%-]*)$")
end

--- Returns true if there is a system of tracepoints of this name.
-- @string system
-- @treturn boolean
function tracepoints.is_system(system)
   local root = systems()
   return root ~= nil and text_file.names(root .. "/" .. system) ~= nil
end

local function attr_of(root, system, name)
   local path = ("%s/%s/%s/id"):format(root, system, name)
   local file, err = io.open(path)
   if not file then return nil, err end
   local id = file:read("*n")
   file:close()
   if not id then return nil, path .. " has no number" end
   return { type = TYPE, config = id }
end

-- Returns the message about an unknown name, with the nearest known one.
local function unknown(root, all, system, name)
   if not text_file.names(root .. "/" .. system) then
      local near = nearest.find(system, all)
      return ("there are no tracepoints '%s:...'%s"):format(system, near and ("; did you mean '%s:...'?"):format(near)
         or "")
   end
   local near = nearest.find(name, list(root, system))
   return ("there is no tracepoint '%s:%s'%s"):format(system, name, near and ("; did you mean '%s:%s'?"):format(system,
      near) or "")
end

--- Returns the attributes by which perf_event counts a tracepoint.
-- @string system
-- @string name
-- @treturn[1] table for `lpfm.perf_event`
-- @return[2] nil
-- @treturn[2] string whether permission, mount or name is at fault
function tracepoints.find(system, name)
   local root, all = systems()
   if not root then return nil, ("tracepoint '%s:%s': %s"):format(system, name, all) end
   local attr, err = attr_of(root, system, name)
   if attr then return attr end
   if err:find("denied", 1, true) then
      return nil, ("tracepoint '%s:%s': %s: %s"):format(system, name, err, remedy(root:gsub("/events$", "")))
   end
   return nil, unknown(root, all, system, name)
end

--- Returns the names that a pattern with wildcards matches.
-- @string pattern of a system, and its names after a colon
-- @treturn[1] {string,...} "sched:sched_switch", ...
-- @return[2] nil
-- @treturn[2] string why none can be listed
function tracepoints.matching(pattern)
   local system, name = tracepoints.parts(pattern)
   local root, all = systems()
   if not root then return nil, all end
   local out = {}
   for _, s in ipairs(all) do
      for _, n in ipairs(s:find(name_list.pattern(system)) and list(root, s) or {}) do
         if n:find(name_list.pattern(name)) then out[#out + 1] = s .. ":" .. n end
      end
   end
   return out
end

--- Returns the systems of tracepoints.
-- @treturn {string,...} or nil and why none can be listed
function tracepoints.systems()
   local root, all = systems()
   if not root then return nil, all end
   return tables.filter(all, function(name) return text_file.names(root .. "/" .. name) end)
end

--- Returns the fields that a filter can use, as the kernel declares them.
-- @string word "sched:sched_switch"
-- @treturn {string,...} "int prev_prio", ...; without those that all tracepoints have
function tracepoints.fields(word)
   local system, name = tracepoints.parts(word)
   local root, out = systems(), {}
   local text = root and system and text_file.all(("%s/%s/%s/format"):format(root, system, name)) or ""
   for field in text:gmatch("field:([^;]+);") do
      if not field:find("%f[%w_]common_") then out[#out + 1] = field end
   end
   return out
end

return tracepoints
