-- SPDX-License-Identifier: MIT
--- The counters of a context, and the names of the events that they count.
-- @module repl.prompt.counters

local lpfm = require "lpfm"
local events = require "pfm.events"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local counters = {}

local MOST = 20 -- registers of a context that are shown
-- Suffixes by the value of a software event's PMC; the value 9, both levels, has no suffix.
local LEVELS = { [1] = ":k", [8] = ":u" }

local function by_num(list)
   local out = {}
   for _, entry in ipairs(list) do out[entry.num] = entry end
   return out
end

local function software()
   local out = {}
   for _, e in ipairs(events.software()) do out[e.num] = e end
   return out
end

-- Returns the name of the simulated event that is encoded as this value.
local function simulated_event(pmd, value)
   local machine = lpfm.machine()
   if not machine.encode then return nil end
   for _, levels in ipairs { "uk", "u", "k" } do
      for _, name in ipairs(machine:events()) do
         local code = machine:encode(name, pmd, levels)
         if code ~= nil and tostring(code) == tostring(value) then
            return levels == "uk" and name or name .. ":" .. levels
         end
      end
   end
end

local function find_value(programming, num, set)
   for _, pmc in ipairs(programming.pmcs) do
      if pmc.num == num and (pmc.set or 0) == set then return pmc.value or 0 end
   end
end

-- Returns the name of the event that a PMD counts, from the register and the value of the PMC that
-- controls it.
local function name_of(reg, sw, programming, set)
   local ctrl = reg.ctrl or reg.num
   local value = find_value(programming, ctrl, set)
   if sw then return sw.name .. (LEVELS[value] or "") end
   if not value then return reg.name end
   local hex = type(value) == "number" and value >= 0 and ("0x%x"):format(value) or tostring(value)
   return lpfm.event_name(ctrl, value) or simulated_event(reg.num, value)
      or ("%s (PMC%d = %s)"):format(reg.name, ctrl, hex)
end

local function period_of(pmd)
   local reset = tonumber(pmd.long_reset)
   return reset and reset < 0 and -reset or nil
end

-- Returns the PMDs in use, in order, with those that were not written but are controlled by a
-- written PMC of the same set.
local function with_controlled(programming)
   local out, seen = {}, {}
   for i, pmd in ipairs(programming.pmds) do
      out[i], seen[(pmd.set or 0) .. " " .. pmd.num] = pmd, true
   end
   for _, pmc in ipairs(programming.pmcs) do
      for _, reg in ipairs(lpfm.pmds()) do
         local key = (pmc.set or 0) .. " " .. reg.num
         if tables.find(reg.kind, "C64") and (reg.ctrl or reg.num) == pmc.num and not seen[key] then
            out[#out + 1], seen[key] = { num = reg.num, set = pmc.set }, true
         end
      end
   end
   return out
end

--- Returns the counters that a context is programmed with.
-- @param ctx
-- @tparam[opt] table nums PMDs of set 0 to use instead
-- @treturn table of `{num=, set=, name=, unit= ("ns" or nil), period= (of a counter that is
-- reset), kind=}`
function counters.of(ctx, nums)
   local programming = ctx:programming()
   local pmds = not nums and with_controlled(programming) or nil
   if nums then
      pmds = {}
      for i, num in ipairs(nums) do pmds[i] = { num = num } end
   end
   local regs, sw, out = by_num(lpfm.pmds()), software(), {}
   for _, pmd in ipairs(pmds) do
      local reg = regs[pmd.num]
      if not reg then error(("there is no PMD%d on this machine"):format(pmd.num), 0) end
      local set = pmd.set or 0
      out[#out + 1] = { num = pmd.num, set = set, name = name_of(reg, sw[pmd.num], programming, set),
         unit = sw[pmd.num] and sw[pmd.num].unit, period = period_of(pmd) }
   end
   return out
end

--- Says what a context is loaded on, and whether it counts.
-- @param ctx
-- @treturn string
function counters.describe(ctx)
   local p = ctx:programming()
   local target = p.target
   if not target then return "not loaded" end
   local what = "this thread"
   for _, flag in ipairs(p.create.flags or {}) do
      if flag == "SYSTEM_WIDE" then what = "a CPU" end
   end
   if target.tid and what ~= "a CPU" then what = ("thread %d"):format(target.tid) end
   return what .. (p.running and "" or ", stopped")
end

-- Returns PMCs that control none of the counters; they are shown as numbers.
local function other_pmcs(programming, rows)
   local controls, regs, out = {}, by_num(lpfm.pmds()), {}
   for _, row in ipairs(rows) do controls[row.set .. " " .. (regs[row.num].ctrl or row.num)] = true end
   for _, pmc in ipairs(programming.pmcs) do
      local value = pmc.value or 0
      local set = pmc.set or 0
      if not controls[set .. " " .. pmc.num] then
         out[#out + 1] = { "PMC" .. pmc.num, "= " .. (type(value) == "number" and ("%#x"):format(value)
            or tostring(value)), "", set > 0 and "set " .. set or "" }
      end
   end
   return out
end

-- Returns a row for each counter, with its register, event, value and remarks; and a message if the
-- values cannot be read.
local function rows_of(ctx, list)
   local wanted, out = {}, {}
   for i = 1, math.min(#list, MOST) do wanted[i] = { num = list[i].num, set = list[i].set } end
   local values, why = nil, nil
   if #wanted > 0 then values, why = ctx:read_pmds(wanted) end
   for i in ipairs(wanted) do
      local row, more = list[i], {}
      if row.set > 0 then more[1] = "set " .. row.set end
      if row.period then more[#more + 1] = ("every %s"):format(render.number(row.period)) end
      local value = values and values[i].value
      out[i] = { "PMD" .. row.num, row.name, value == nil and "?" or type(value) == "number" and render.number(value)
         or tostring(value), (row.unit or "") .. (row.unit and #more > 0 and ", " or "") .. table.concat(more, ", ") }
   end
   return out, why
end

--- Describes a context in a few lines: what it is loaded on, how it is programmed, and what it has
-- counted.
-- @param ctx
-- @string plain the first words of the text, such as "context 3"
-- @treturn string
function counters.text(ctx, plain)
   if ctx:closed() then return plain end
   local programming = ctx:programming()
   local lines = { ("%s, %s%s%s"):format(plain, programming.target and "loaded on " or "", counters.describe(ctx),
      programming.running and ", running" or "") }
   local ok, list = pcall(counters.of, ctx)
   if not ok then return lines[1] end -- the machine in use is not the context's
   local rows, why = rows_of(ctx, list)
   for _, row in ipairs(other_pmcs(programming, list)) do rows[#rows + 1] = row end
   local left = #list + #rows - math.min(#list, MOST) - MOST
   while #rows > MOST do rows[#rows] = nil end
   for _, line in ipairs(render.align({ {}, {}, { right = true }, {} }, rows, "  ")) do lines[#lines + 1] = line end
   if left > 0 then lines[#lines + 1] = ("  ... %s"):format(render.plural(left, "more register")) end
   if why then lines[#lines + 1] = "  " .. why end
   return table.concat(lines, "\n")
end

local installed = false

--- Makes tostring() of a context return `counters.text`.
function counters.install()
   if installed then return end
   installed = true
   local meta = debug.getregistry()["lpfm.context"]
   local plain = meta.__tostring
   function meta.__tostring(ctx) return counters.text(ctx, plain(ctx)) end
end

return counters
