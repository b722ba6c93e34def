-- SPDX-License-Identifier: MIT
-- Compares headers and binding: each call, structure field, constant and error of perfmon.h,
-- perfmonctl.h and pfmlib.h is reachable from Lua and documented, or is listed here with the reason
-- why not. Names that are listed here but not in the headers are failures, too.

local lpfm = require "lpfm"
local sim = require "support.sim"
local headers = require "support.headers"
local ldoc = require "support.ldoc"

local HEADERS = { "perfmon.h", "perfmonctl.h", "pfmlib.h" }

-- Macros without arguments that are no integer constants.
local NO_CONSTANT = { mmap = true, munmap = true }

-- By C call: the module's function "name" or the method "context:name" that makes the call; a text
-- with a blank is the reason why Lua does not have the call.
local CALLS = {
   perfmonctl = "perfmonctl",
   pfm_create_context = "create", pfm_create_context_uuid = "create",
   pfm_create_context_n = "create", pfm_create_context_name = "create",
   pfm_write_pmcs = "context:write_pmcs", pfm_write_pmds = "context:write_pmds", pfm_read_pmds = "context:read_pmds",
   pfm_load_context = "context:load", pfm_start = "context:start", pfm_stop = "context:stop",
   pfm_restart = "context:restart", pfm_unload_context = "context:unload",
   pfm_create_evtsets = "context:create_evtsets", pfm_getinfo_evtsets = "context:getinfo_evtsets",
   pfm_delete_evtsets = "context:delete_evtsets",
   pfm_getinfo_pmcs = "pmcs", pfm_getinfo_pmds = "pmds", pfm_get_config = "config", pfm_set_config = "config",
   pfm_map_set = "context:view", pfm_unmap_set = "context:close", pfm_read_mapped = "view:read() of pfm.ffi calls it",
   pfm_read_view = "part of pfm_read_fast in C",
   pfm_getinfo_fmts = "formats", pfm_map_buffer = "context:buffer", pfm_unmap_buffer = "context:close",
   pfm_set_machine = "machine", pfm_get_machine = "machine", pfm_machine_name = "machines",
   pfm_perf_event = "perf_event", pfm_set_cgroup = "context:set_cgroup",
   pfm_explain = "its text is in the message of each failed call",
   pfm_mmap = "mmap(2) for old C source; ctx:buffer() maps",
   pfm_munmap = "munmap(2) for old C source; ctx:close() unmaps",

   pfm_dispatch_events = "dispatch_events", pfm_split_events = "split_events", pfm_find_conflict = "event_conflict",
   pfm_can_add_event = "addable_events", pfm_suggest_event = "suggest_event",
   pfm_expand_event = "event", pfm_find_full_event = "event", pfm_find_event_mask = "event",
   pfm_get_event_description = "event", pfm_get_event_counters = "event", pfm_get_full_event_name = "event",
   pfm_get_num_event_masks = "event", pfm_get_num_event_modifiers = "event", pfm_get_event_mask_name = "event",
   pfm_get_event_mask_code = "event", pfm_get_event_mask_description = "event", pfm_get_event_mask_flags = "event",
   pfm_get_event_name = "events", pfm_get_num_events = "events", pfm_generic_name = "events",
   pfm_get_event_code = "event_code", pfm_get_event_code_counter = "event_code",
   pfm_find_event = "event_code", pfm_find_event_byname = "event_code",
   pfm_find_event_bycode = "events_of_code", pfm_find_event_bycode_next = "events_of_code",
   pfm_get_pmu_name = "pmu", pfm_get_pmu_type = "pmu", pfm_get_max_event_name_len = "pmu",
   pfm_get_num_pmcs = "pmu", pfm_get_num_pmds = "pmu", pfm_get_num_counters = "pmu", pfm_get_hw_counter_width = "pmu",
   pfm_get_impl_pmcs = "pmu", pfm_get_impl_pmds = "pmu", pfm_get_impl_counters = "pmu",
   pfm_get_cycle_event = "pmu", pfm_get_inst_retired_event = "pmu",
   pfm_force_pmu = "force_pmu", pfm_force_pmu_byname = "force_pmu",
   pfm_get_pmu_info_at = "pmus", pfm_get_pmu_info_byname = "pmus", pfm_list_supported_pmus = "pmus",
   pfm_is_pmu_supported = "pmus", pfm_pmu_is_supported = "pmus", pfm_get_pmu_name_bytype = "pmus",
   pfm_set_options = "event_options", pfm_get_version = "event_version", pfm_strerror = "event_error",
   pfm_initialize = "every function on events calls it",
   pfm_dispatch_explain = "its text is in the message of each failed call",
}
for _, name in ipairs { "isset", "set", "clr", "weight", "eq", "and", "andnot", "or", "copy", "not" } do
   CALLS["pfm_regmask_" .. name] = "sets of registers are lists of numbers in Lua"
end

-- How Lua replaces each macro with arguments, or why it need not.
local MACROS = {
   PFM_PERF_PRECISE = "precise = 1 to 3 of lpfm.perf_event",
   PFM_PERF_PRECISE_OF = "for who reads the flags",
   pfm_create_context = "create", pfm_self_start = "context:start", pfm_self_stop = "context:stop",
   PFM_VERSION_MAJOR = "lpfm.const has PFM_VERSION_MAJ", PFM_VERSION_MINOR = "lpfm.const has PFM_VERSION_MIN",
   PFM_REG_HAS_ERROR = "the message names the bad element", PFM_SET_HAS_ERROR = "the message names the bad element",
   pfm_set_mmap_offset = "context:view", pfm_ctx_buf_parts = "context:buf_parts",
   PFM_BVSIZE = "sets of registers are lists of numbers in Lua",
   PFM_PICK_CREATE_ = "part of pfm_create_context in C", mmap = "for old C source", munmap = "for old C source",
   PFMLIB_MAJ_VERSION = "event_version", PFMLIB_MIN_VERSION = "event_version",
   PFMLIB_BVSIZE = "sets of registers are lists of numbers in Lua", PFMLIB_LINK_NAME = "how C programs are linked",
   PFMLIB_MASK = "modifiers are written in the event's name", PFMLIB_MASK_INDEX = "as PFMLIB_MASK",
   PFMLIB_MASK_VALUE = "as PFMLIB_MASK", PFMLIB_LIBPFM4_PMU = "lpfm.pmus has the numbers of all models",
}

-- Constants that lpfm.const does not have.
local NO_CONST = {
   PFM_SETVFL_ACTIVE = "view.active", PFM_SETVFL_DIRECT = "view.direct",
   PFM_VIEW_CALL = "view.direct tells", PFM_VIEW_ELSEWHERE = "as PFM_VIEW_CALL", PFM_VIEW_STILL = "as PFM_VIEW_CALL",
   PFM_VIEW_COUNTERS = "as PFM_VIEW_CALL",
   PFMLIB_REG_BV = "sets of registers are lists of numbers in Lua",
   PFMLIB_REG_BV_BITS = "sets of registers are lists of numbers in Lua",
}

-- Prefixes of flags and types: calls take and return their names without the prefix. The longest
-- prefix counts.
local FLAG_TOPICS = {
   PFM_FL_ = "context", PFM_ITA_FL_ = "context", PFM_SETFL_ = "set", PFM_ITA_SETFL_ = "set", PFM_FMTFL_ = "format",
   PFM_MSG_ = "message", PFM_REG_TYPE_ = "register_type",
}

-- --- structures ----------------------------------------------------------------------------------

-- Each structure's entry has the prefix of its fields, which Lua omits; the functions that document
-- them; get(field), which is nil if Lua lacks the field. Fields are in it if they have another name
-- in Lua, or, with the reason, none.
local STRUCTURES, here

local RESERVED = "reserved"

local function element(vector)
   return function(field) return vector:get(1, field) end
end

local function of(table_maker)
   return function(field) return table_maker()[field] end
end

-- Returns a function that is true for fields that the call knows, even if it refuses the value.
local function taken_by(call)
   return function(field)
      local ok, message = pcall(call, { [field] = {} })
      message = tostring(message)
      return ok or not (message:find("unknown field", 1, true) or message:find("cannot be set", 1, true)) or nil
   end
end

local function perfmonctl_takes(command)
   return taken_by(function(t) return lpfm.perfmonctl(here.ctx, command, { t }) end)
end

STRUCTURES = {
   pfarg_ctx_t = { prefix = "ctx_", doc = { "lpfm.create", "context:fd", "context:buf_size" },
      names = { smpl_buf_id = "format", smpl_buf_size = "buf_size" },
      get = function(field)
         return taken_by(lpfm.create)(field) or (here.ctx[field] and here.ctx[field](here.ctx)) or nil
      end },
   pfarg_pmc_t = { prefix = "reg_", doc = { "context:write_pmcs" },
      get = function(field) return element(lpfm.pmcs { { num = 4 } })(field) end },
   pfarg_pmd_t = { prefix = "reg_", doc = { "context:write_pmds", "context:read_pmds" },
      names = { last_reset_val = "last_reset", ovfl_switch_cnt = "switch_cnt", smpl_eventid = "eventid" },
      get = function(field) return element(lpfm.pmds { 4 })(field) end },
   pfarg_start_t = { prefix = "start_", doc = { "context:start" }, arguments = true },
   pfarg_load_t = { prefix = "load_", doc = { "context:load" }, names = { pid = "tid" }, arguments = true },
   pfarg_setdesc_t = { prefix = "set_", doc = { "context:create_evtsets", "context:getinfo_evtsets" },
      get = taken_by(function(t) return here.ctx:create_evtsets { t } end),
      set_mmap_offset = "context:view() maps, getinfo_evtsets tells it" },
   pfarg_setinfo_t = { prefix = "set_", doc = { "context:getinfo_evtsets" },
      get = of(function() return sim.info(here.ctx) end) },
   pfm_set_view_t = { prefix = "set_", doc = { "context:view" },
      get = function(field) return here.view[field] end,
      set_status = "view.active, view.direct", set_pmds = "view:read() reads", set_base = "view:read() reads",
      set_index = "view:read() reads", set_shift = "view:read() reads", set_owner = "view.direct tells",
      set_seq = "view:read() heeds it" },
   pfm_view_t = { prefix = "", doc = { "context:view" },
      get = function(field) return here.view[field] end,
      page = "view:read() reads it", fd = "context:fd() is it" },
   pfarg_ovfl_msg_t = { prefix = "msg_", doc = { "context:read" },
      names = { active_set = "set", ovfl_pid = "pid", ovfl_tid = "tid", ovfl_cpu = "cpu", ovfl_ip = "ip",
         ovfl_pmds = "pmds" },
      get = of(function() return here.overflow end) },
   pfarg_end_msg_t = { prefix = "msg_", doc = { "context:read" }, get = of(function() return here.overflow end) },
   pfarg_preempted_msg_t = { prefix = "msg_", doc = { "context:read" },
      names = { active_set = "set", preempt_tid = "tid", preempt_cpu = "cpu" },
      get = of(function()
         local m = sim.machine()
         local wide, thread = sim.context { flags = { "SYSTEM_WIDE", "PREEMPTIBLE" } }, sim.context()
         assert(wide:load(0))
         assert(thread:load(m:spawn { program = sim.work(10) }))
         m:run { until_idle = true }
         return assert(wide:read(0))
      end) },
   pfarg_msg_t = { prefix = "msg_", doc = { "context:read" }, get = of(function() return here.overflow end),
      pfm_ovfl_msg = "its fields are the message's", pfm_end_msg = "its fields are the message's",
      pfm_preempted_msg = "its fields are the message's" },
   pfarg_reginfo_t = { prefix = "reg_", doc = { "lpfm.pmcs", "lpfm.pmds" },
      get = function(field)
         for _, reg in ipairs(lpfm.pmds()) do
            if reg[field] ~= nil then
               return reg[field]
            end
         end
      end,
      reg_flags = "errors come as messages" },
   pfarg_config_t = { prefix = "cf_", doc = { "lpfm.config" }, get = of(lpfm.config) },
   pfarg_fmtinfo_t = { prefix = "fmt_", doc = { "lpfm.formats" }, get = of(function() return lpfm.formats()[1] end) },
   pfm_machine_info_t = { prefix = "", doc = { "lpfm.machine" }, get = of(lpfm.machine) },

   pfm_perf_event_t = { prefix = "", doc = { "lpfm.perf_event" },
      get = taken_by(function(t)
         t.type = t.type or 1
         return lpfm.perf_event(t)
      end),
      flags = "alone and whole_cpus" },

   pfm06_ctx = { prefix = "ctx_", doc = { "lpfm.create", "context:fd", "context:buf_size" },
      names = { smpl_buf_id = "format", smpl_buf_size = "buf_size" },
      get = function(field)
         return taken_by(function(t) return lpfm.perfmonctl(nil, "PFM_CREATE_CONTEXT", t) end)(field)
            or (here.ctx[field] and here.ctx[field](here.ctx)) or nil
      end },
   pfm06_pmc = { prefix = "reg_", doc = { "lpfm.perfmonctl" }, get = perfmonctl_takes("PFM_WRITE_PMCS") },
   pfm06_pmd = { prefix = "reg_", doc = { "lpfm.perfmonctl" },
      get = function(field)
         return perfmonctl_takes("PFM_WRITE_PMDS")(field) or lpfm.perfmonctl(here.ctx, "PFM_READ_PMDS", { 4 })[1][field]
      end },
   pfm06_start = { prefix = "start_", doc = { "lpfm.perfmonctl" },
      get = taken_by(function(t) return lpfm.perfmonctl(here.ctx, "PFM_START", t) end) },
   pfm06_load = { prefix = "load_", doc = { "lpfm.perfmonctl" },
      get = taken_by(function(t) return lpfm.perfmonctl(here.ctx, "PFM_LOAD_CONTEXT", t) end) },
   pfm06_setdesc = { prefix = "set_", doc = { "lpfm.perfmonctl" }, get = perfmonctl_takes("PFM_CREATE_EVTSETS") },
   pfm06_setinfo = { prefix = "set_", doc = { "lpfm.perfmonctl" },
      get = of(function() return lpfm.perfmonctl(here.ctx, "PFM_GETINFO_EVTSETS", { 0 })[1] end) },
   pfm06_reginfo = { prefix = "reg_", doc = { "lpfm.perfmonctl" },
      get = of(function() return lpfm.perfmonctl(nil, "PFM_GETINFO_PMDS", { 4 })[1] end) },
   pfm06_config = { prefix = "cf_", doc = { "lpfm.perfmonctl" },
      get = of(function() return lpfm.perfmonctl(nil, "PFM_GET_CONFIG") end) },
   pfm06_ovfl_msg = { prefix = "msg_", doc = { "context:read" }, names = { active_set = "set", ovfl_pmds = "pmds" },
      get = of(function() return here.overflow end),
      msg_pad1 = "unused", msg_pad2 = "unused", msg_pad3 = "unused", msg_pad4 = "unused" },
   pfm_msg_t = { prefix = "msg_", doc = { "context:read" }, get = of(function() return here.overflow end),
      pfm_ovfl_msg = "its fields are the message's" },

   pfmlib_regmask_t = { bits = "sets of registers are lists of numbers in Lua" },
   pfmlib_event_t = { prefix = "", doc = { "event" }, names = { unit_masks = "masks" },
      get = of(function() return lpfm.event("cycles:u") end),
      flags = "libpfm 3 has none", num_masks = "#masks" },
   pfmlib_reg_t = { prefix = "reg_", doc = { "dispatch_events" },
      get = function(field)
         local out = assert(lpfm.dispatch_events { events = { "cycles" } })
         return out.pmcs[1][field] or out.pmc_addrs[1][field]
      end },
   pfmlib_input_param_t = { prefix = "pfp_", doc = { "dispatch_events" },
      names = { dfl_plm = "plm", unavail_pmcs = "unavail", flags = "system_wide" },
      get = taken_by(function(t)
         t.events = t.events or {}
         return lpfm.dispatch_events(t)
      end),
      pfp_event_count = "#events" },
   pfmlib_output_param_t = { prefix = "pfp_", doc = { "dispatch_events" },
      get = of(function() return assert(lpfm.dispatch_events { events = { "cycles" } }) end),
      pfp_pmc_count = "#pmcs", pfp_pmd_count = "#pmds" },
   pfmlib_options_t = { prefix = "pfm_", doc = { "lpfm.event_options" },
      get = function(field) return lpfm.event_options { [field] = false } end },
   pfmlib_pmu_info_t = { prefix = "", doc = { "pmus" }, names = { num_hw_events = "events", num_counters = "counters" },
      get = of(function() return lpfm.pmus()[1] end),
      first_event = "events go by name in Lua", num_events = "lpfm.pmu() has it" },
   pfmlib_expansion_t = { prefix = "", doc = { "event" }, names = { events = "terms" },
      -- see pfmlib_spec.lua
      get = function(field) return field == "terms" or field == "formula" or nil end,
      count = "#terms" },
}

-- Returns the field's name in Lua, or nil and the reason why it has none.
local function lua_name(structure, field)
   local entry = STRUCTURES[structure]
   if entry[field] then
      return nil, entry[field]
   elseif field:find("reserved", 1, true) then
      return nil, RESERVED
   end
   assert(entry.prefix, structure .. "." .. field .. " is not listed")
   local name = field:sub(1, #entry.prefix) == entry.prefix and field:sub(#entry.prefix + 1) or field
   return entry.names and entry.names[name] or name
end

-- --- the comparison ------------------------------------------------------------------------------

local function sorted(set)
   local list = {}
   for name in pairs(set) do
      list[#list + 1] = name
   end
   table.sort(list)
   return list
end

-- Returns the function that an entry of CALLS or MACROS names; nil if the entry is a reason.
local function bound(entry)
   local method = entry:match("^context:([%w_]+)$")
   if method then
      return here.ctx[method]
   end
   return not entry:find(" ", 1, true) and lpfm[entry] or nil
end

local function is_reason(entry)
   return entry:find(" ", 1, true) ~= nil
end

-- Asserts that a list of names is empty.
local function none(list, what)
   table.sort(list)
   assert(#list == 0, what .. ": " .. table.concat(list, ", "))
end

local function flag_of(constant)
   local longest, topic = "", nil
   for prefix, name in pairs(FLAG_TOPICS) do
      if #prefix > #longest and constant:sub(1, #prefix) == prefix then
         longest, topic = prefix, name
      end
   end
   return topic, constant:sub(#longest + 1)
end

describe("the interface", function()
   local declared, all = {}, { functions = {}, macros = {}, constants = {}, structures = {} }
   local documented = ldoc.read("lpfm")

   for _, name in ipairs(HEADERS) do
      declared[name] = headers.read(name, NO_CONSTANT)
      for kind, things in pairs(declared[name]) do
         for thing, value in pairs(things) do
            all[kind][thing] = value
         end
      end
   end

   -- Makes a context that has overflowed.
   local function scene()
      local machine = sim.machine()
      local ctx = sim.count(sim.context { format = "default", buf_size = 8192 }, 4, "instructions")
      local other = sim.count(sim.context(), 4, "instructions", { value = -10, flags = { "OVFL_NOTIFY" } })
      sim.start(other, machine:spawn { program = sim.work(100) })
      assert(machine:run { until_message = other })
      local view = assert(sim.context { flags = { "MAP_SETS" } }:view())
      return { ctx = ctx, view = view, overflow = assert(other:read(0)) }
   end

   before_each(function()
      sim.begin()
      here = scene()
   end)
   after_each(sim.finish)
   teardown(function()
      assert(lpfm.machine("perf")) -- for the specs after this one
   end)

   it("is read from the headers", function()
      assert.is_true(#sorted(all.functions) > 80 and #sorted(all.constants) > 150 and #sorted(all.structures) > 30)
      assert.is_true(all.functions.pfm_read_pmds and all.structures.pfarg_pmd_t.reg_smpl_pmds)
      assert.equal(-5, all.constants.PFMLIB_ERR_NOASSIGN)
   end)

   for kind, entries in pairs { functions = CALLS, macros = MACROS } do
      it("has all " .. kind .. " in Lua, or a reason", function()
         local missing, stale, empty = {}, {}, {}
         for name in pairs(all[kind]) do
            if not entries[name] then
               missing[#missing + 1] = name
            elseif not is_reason(entries[name]) and type(bound(entries[name])) ~= "function" then
               empty[#empty + 1] = name .. " = " .. entries[name]
            end
         end
         for name in pairs(entries) do
            if not all[kind][name] then
               stale[#stale + 1] = name
            end
         end
         none(missing, "declared, but neither bound nor listed with a reason")
         none(empty, "not a function in Lua")
         none(stale, "listed, but not declared")
      end)
   end

   it("has all constants in Lua, with their values", function()
      local missing, different = {}, {}
      for name, value in pairs(all.constants) do
         local const = lpfm.const[name]
         if const == nil and not NO_CONST[name] then
            missing[#missing + 1] = name
         elseif const and const ~= value then
            different[#different + 1] = name .. " is " .. value .. ", not " .. const
         end
      end
      none(missing, "not in lpfm.const")
      none(different, "other values in lpfm.const")
   end)

   it("has all flags and types by name in Lua", function()
      local missing = {}
      for name, value in pairs(all.constants) do
         local topic, flag = flag_of(name)
         if topic and lpfm.flags[topic][flag] ~= value then
            missing[#missing + 1] = name
         end
      end
      for name, value in pairs(all.constants) do
         local flag = name:match("^PFM_REGFL_(.*)")
         if flag and lpfm.flags.pmc[flag] ~= value and lpfm.flags.pmd[flag] ~= value then
            missing[#missing + 1] = name
         end
      end
      none(missing, "not in lpfm.flags")
   end)

   it("has all structures' fields in Lua, or a reason", function()
      local missing, unlisted, stale = {}, {}, {}
      for structure, fields in pairs(all.structures) do
         local entry = STRUCTURES[structure]
         if not entry then
            unlisted[#unlisted + 1] = structure
         end
         for field in pairs(entry and fields or {}) do
            local name = lua_name(structure, field)
            if name and not entry.arguments and entry.get(name) == nil then
               missing[#missing + 1] = structure .. "." .. field .. " as " .. name
            end
         end
      end
      for structure, entry in pairs(STRUCTURES) do
         for field, reason in pairs(entry) do
            if type(reason) == "string" and field ~= "prefix" and not (all.structures[structure] or {})[field] then
               stale[#stale + 1] = structure .. "." .. field
            end
         end
      end
      none(unlisted, "structures not listed")
      none(missing, "fields that are not in Lua")
      none(stale, "listed, but not declared")
   end)

   it("has all errors in Lua", function()
      local missing = {}
      for name, value in pairs(all.constants) do
         local error_name = name:match("^PFMLIB_ERR_(.*)")
         if error_name and lpfm.event_error(error_name) ~= lpfm.event_error(value) then
            missing[#missing + 1] = name
         end
      end
      none(missing, "not an error of lpfm.event_error")
      for _, name in ipairs { "EINVAL", "EBADF", "EBUSY", "EPERM", "ESRCH", "ENOMEM", "E2BIG", "EFAULT", "EMFILE" } do
         assert.is_number(lpfm.errno[name], name)
      end
   end)

   it("is documented: every call", function()
      local missing = {}
      for _, entries in ipairs { CALLS, MACROS } do
         for name, entry in pairs(entries) do
            if not is_reason(entry) and not documented:block(entry) then
               missing[#missing + 1] = name .. " as " .. entry
            end
         end
      end
      none(missing, "no LDoc comment")
   end)

   it("is documented: every field", function()
      local missing = {}
      for structure, fields in pairs(all.structures) do
         for field in pairs(fields) do
            local name = lua_name(structure, field)
            if name and not documented:mentions(STRUCTURES[structure].doc, name) then
               missing[#missing + 1] = structure .. "." .. field .. " as " .. name
            end
         end
      end
      none(missing, "not in the LDoc comment of its call")
   end)

   it("is documented: every flag and error", function()
      local missing = {}
      for name in pairs(all.constants) do
         local topic, flag = flag_of(name)
         flag = flag ~= "" and topic and flag or name:match("^PFM_REGFL_(.*)")
         local error_name = name:match("^PFMLIB_ERR_(.*)")
         if flag and not documented:mentions({ "lpfm.flags" }, flag) or error_name
            and not documented:mentions({ "lpfm.event_error" }, error_name) then
            missing[#missing + 1] = name
         end
      end
      for name in pairs { EINVAL = 1, EBADF = 1, EBUSY = 1, EPERM = 1, ESRCH = 1, ENOMEM = 1, E2BIG = 1, EFAULT = 1 } do
         if not documented:mentions({ "lpfm.errno" }, name) then
            missing[#missing + 1] = name
         end
      end
      none(missing, "not in the LDoc comment of lpfm.flags, lpfm.errno or lpfm.event_error")
   end)

   it("is documented: every function of the module and method of its objects", function()
      local proc = require "lpfm.proc"
      local machine = lpfm.machine()
      local owners = {
         lpfm = lpfm, context = getmetatable(here.ctx) and here.ctx, buffer = assert(here.ctx:buffer()),
         vector = lpfm.pmds { 4 }, view = here.view, u64 = lpfm.u64(1), proc = proc, machine = machine,
      }
      local missing = {}
      for owner, object in pairs(owners) do
         for _, name in ipairs(ldoc.functions_of(object)) do
            if not (documented:block(owner .. ":" .. name) or documented:block(owner .. "." .. name)
               or owner == "lpfm" and documented:block(name)) then
               missing[#missing + 1] = owner .. "." .. name
            end
         end
      end
      none(missing, "no LDoc comment")
   end)

   it("is documented: every public function of the script library", function()
      none(ldoc.undocumented("scripts/pfm"), "no LDoc comment")
   end)
end)
