-- SPDX-License-Identifier: MIT
-- context:programming() returns the arguments with which another context counts and samples like
-- this one, whatever calls have programmed this one.

local lpfm = require "lpfm"

local machine

local function busy()
   return machine:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10, events = { instructions = 1 } } } } }
end

-- Returns a new context, programmed by ctx:programming().
local function copy_of(ctx, tid)
   local p = ctx:programming()
   local copy = assert(lpfm.create(p.create))
   if #p.sets > 0 then assert(copy:create_evtsets(p.sets)) end
   if #p.pmcs > 0 then assert(copy:write_pmcs(p.pmcs)) end
   if #p.pmds > 0 then assert(copy:write_pmds(p.pmds)) end
   if p.target then assert(copy:load(tid, p.target.set)) end
   if p.running then assert(copy:start()) end
   return copy
end

describe("a context's programming", function()
   local ctx

   before_each(function()
      machine = assert(lpfm.machine("sim:k8", { cpus = 2 }))
      ctx = assert(lpfm.create { format = "default", buf_size = 16384, flags = lpfm.const.PFM_FL_OVFL_NO_MSG })
   end)
   after_each(function() ctx:close() end)

   it("is what the calls were given, by set and number", function()
      assert(ctx:create_evtsets { { id = 2 }, { id = 1, flags = { "TIME_SWITCH" }, timeout = 1e7 } })
      assert(ctx:write_pmcs(lpfm.pmcs { { num = 1, value = 9 }, { num = 0, value = "0x8" } }))
      assert(ctx:write_pmds { { num = 0, set = 2 }, 3, { num = 0, value = -7, long_reset = -5, smpl_pmds = { 1, 2 },
         reset_pmds = { 1 }, flags = "OVFL_NOTIFY", random_mask = 15, random_seed = 3 } })
      assert.same({
         create = { format = "default", buf_size = 16384, flags = { "OVFL_NO_MSG" } },
         sets = { { id = 1, flags = { "TIME_SWITCH" }, timeout = 10000000 }, { id = 2 } },
         pmcs = { { num = 0, value = 8 }, { num = 1, value = 9 } },
         pmds = { { num = 0, value = -7, long_reset = -5, smpl_pmds = { 1, 2 }, reset_pmds = { 1 },
            flags = { "OVFL_NOTIFY" }, random_mask = 15, random_seed = 3 }, { num = 3 }, { num = 0, set = 2 } },
         running = false,
      }, ctx:programming())
   end)

   it("has of a refused call the elements before the bad one", function()
      assert.is_nil(ctx:write_pmcs { { num = 0, value = 8 }, { num = 99 }, { num = 1 } })
      assert.is_nil(ctx:write_pmds { 0, { num = 1, set = 7 }, 2 })
      assert.is_nil(ctx:create_evtsets { { id = 3 }, { id = 4, flags = { "TIME_SWITCH" } }, { id = 5 } })
      local p = ctx:programming()
      assert.same({ { { num = 0, value = 8 } }, { { num = 0 } }, { { id = 3 } } }, { p.pmcs, p.pmds, p.sets })
   end)

   it("follows writes of values or of attributes alone", function()
      assert(ctx:write_pmds { { num = 0, value = -5, long_reset = -5, smpl_pmds = { 1 }, eventid = 4 } })
      assert(ctx:write_pmds { { num = 0, value = -7, smpl_pmds = { 2 }, flags = { "VALUES" } } })
      assert.same({ { num = 0, value = -7, smpl_pmds = { 1 }, eventid = 4 } }, ctx:programming().pmds)
      assert(ctx:write_pmds { { num = 0, value = -9, smpl_pmds = { 2 }, flags = { "ATTRS", "OVFL_NOTIFY" } } })
      assert(ctx:write_pmds { { num = 0, value = -1, flags = { "CHECK" } } })
      assert.same({ { num = 0, value = -7, smpl_pmds = { 2 }, flags = { "OVFL_NOTIFY" } } }, ctx:programming().pmds)
   end)

   it("forgets what a deleted set had", function()
      assert(ctx:create_evtsets { { id = 1 }, { id = 2 } })
      assert(ctx:write_pmcs { { num = 0, set = 1 }, { num = 0, set = 2 } })
      assert(ctx:write_pmds { { num = 0, set = 1 }, { num = 0, set = 2 } })
      assert(ctx:delete_evtsets { 1 })
      local p = ctx:programming()
      assert.same({ { { id = 2 } }, { { num = 0, set = 2 } }, { { num = 0, set = 2 } } }, { p.sets, p.pmcs, p.pmds })
   end)

   it("says what it is loaded on and whether it was started", function()
      local tid = busy()
      assert.is_nil(ctx:load(12345))
      assert.is_nil(ctx:programming().target)
      assert(ctx:create_evtsets { { id = 1 } })
      assert(ctx:load(tid, 1))
      assert.same({ tid = tid, set = 1 }, ctx:programming().target)
      assert(ctx:start())
      assert.is_true(ctx:programming().running)
      assert(ctx:stop())
      assert.is_false(ctx:programming().running)
      assert(ctx:start() and ctx:unload())
      assert.is_nil(ctx:programming().target)
      assert.is_false(ctx:programming().running)
   end)

   it("makes another context that samples alike", function()
      local tid, other = busy(), busy()
      assert(ctx:write_pmcs { { num = 0, value = machine:encode("instructions", 0) } })
      assert(ctx:write_pmds { { num = 0, value = -100, long_reset = -100, short_reset = -90, smpl_pmds = { 1 },
         flags = { "RANDOM" }, random_mask = 7, random_seed = 5 }, 1 })
      assert(ctx:load(tid) and ctx:start())
      local copy = copy_of(ctx, other)
      assert(machine:run { ms = 1 })
      local function periods(of)
         local out = {}
         for s in of:buffer():samples() do out[#out + 1] = ("%d, %d"):format(s.last_reset, s.ovfl_pmd) end
         assert.is_true(#out > 20, #out .. " samples")
         return table.concat(out, "; ", 1, 20)
      end
      assert.equal(periods(ctx), periods(copy))
      copy:close()
   end)

   it("is known of the commands of 0.6, too", function()
      local old = assert(lpfm.perfmonctl(nil, "CREATE_CONTEXT"))
      local tid = busy()
      local function command(name, argument) assert(lpfm.perfmonctl(old, name, argument)) end
      command("CREATE_EVTSETS", { { id = 3, timeout = 5000000, flags = { "TIME_SWITCH" } } })
      command("WRITE_PMCS", { { num = 0, value = 3, set = 3, flags = { "OVFL_NOTIFY" }, smpl_pmds = { 1 } } })
      command("WRITE_PMDS", { { num = 0, set = 3, value = -3, long_reset = -9 } })
      command("LOAD_CONTEXT", { pid = tid })
      command("START")
      assert.is_nil(lpfm.perfmonctl(old, "LOAD_CONTEXT", { pid = 12345 }))
      assert.same({
         create = {}, sets = { { id = 3, timeout = 5000000, flags = { "TIME_SWITCH" } } },
         pmcs = { { num = 0, set = 3, value = 3 } },
         pmds = { { num = 0, set = 3, value = -3, long_reset = -9, flags = { "OVFL_NOTIFY" }, smpl_pmds = { 1 } } },
         target = { tid = tid }, running = true,
      }, old:programming())
      command("STOP")
      assert.is_false(old:programming().running)
      command("UNLOAD_CONTEXT")
      assert.is_nil(old:programming().target)
      command("DELETE_EVTSETS", { 3 })
      assert.same({ create = {}, sets = {}, pmcs = {}, pmds = {}, running = false }, old:programming())
      old:close()
   end)

   it("is the caller's to change", function()
      local options = { format = "default", buf_flags = { "NO_HDR" } }
      local own = assert(lpfm.create(options))
      options.buf_flags[1] = "IIP_HDR"
      own:programming().create.buf_flags[1] = "nothing"
      assert.same({ "NO_HDR" }, own:programming().create.buf_flags)
      own:close()
      assert.has_error(function() own:programming() end)
   end)
end)

describe("a load on a thread", function()
   it("is not refused because of a context that nothing refers to any more", function()
      machine = assert(lpfm.machine "sim:k8")
      local tid = busy()
      do
         local lost = assert(lpfm.create {})
         assert(lost:load(tid))
      end
      local ctx = assert(lpfm.create {})
      assert(ctx:load(tid))
      ctx:close()
   end)
end)

describe("the machine", function()
   it("has the options that it was chosen with", function()
      local options = { cpus = 2 }
      lpfm.machine("sim:k8", options)
      options.cpus = 4
      assert.same({ cpus = 2 }, lpfm.machine().options)
      lpfm.machine "sim:k8"
      assert.same({}, lpfm.machine().options)
   end)
end)

describe("the name of an event", function()
   it("is the one that the value was made from", function()
      lpfm.machine "sim:k8"
      local out = assert(lpfm.dispatch_events { events = { "RETIRED_INSTRUCTIONS:u" } })
      assert.equal("RETIRED_INSTRUCTIONS:u", lpfm.event_name(out.pmcs[1].num, out.pmcs[1].value))
      assert.is_nil(lpfm.event_name(out.pmcs[1].num, 77))
   end)
end)
