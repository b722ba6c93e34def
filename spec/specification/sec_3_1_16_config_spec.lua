-- SPDX-License-Identifier: MIT
-- Sections 3.1.16, PFM_SET_CONFIG, and 3.1.17, PFM_GET_CONFIG.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

describe("3.1.16 PFM_SET_CONFIG", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("cf_flags: 'At this point, no common flags are defined': any is EINVAL", function()
      sim.refused("EINVAL", "unknown cf_flags", lpfm.config { flags = 1 })
   end)

   it("cf_sys_gid, cf_thread_gid: 'the group of users allowed to create' contexts, by the caller's group", function()
      local m = sim.machine()
      assert(lpfm.config { sys_gid = 10, thread_gid = 20 })
      local tids = {}
      for _, gid in ipairs { 10, 20, 30 } do
         tids[gid] = m:spawn { program = sim.work(10), gid = gid }
      end
      local function try(gid, flags)
         assert(m:act(tids[gid]))
         local ctx, _, errno = lpfm.create { flags = flags }
         if ctx then
            ctx:close()
         end
         assert(m:act())
         return ctx and "created" or sim.errno_name(errno)
      end
      local wide, thread = { "SYSTEM_WIDE" }, {}
      assert.are.same({ "created", "EPERM", "EPERM" }, { try(10, wide), try(20, wide), try(30, wide) })
      assert.are.same({ "EPERM", "created", "EPERM" }, { try(10, thread), try(20, thread), try(30, thread) })
      -- 'To restore the default value, the special value PFM_GROUP_ANY must be passed'
      assert(lpfm.config { sys_gid = -1, thread_gid = -1 })
      assert.are.same({ "created", "created" }, { try(30, wide), try(30, thread) })
   end)

   it("'By default, there is no group restrictions'", function()
      sim.machine()
      assert.are.same({ -1, -1 }, { lpfm.config().sys_gid, lpfm.config().thread_gid })
   end)

   it("'The group checking are performed when the PFM_CREATE_CONTEXT command is issued', not later", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(10), gid = 30 }
      assert(m:act(tid))
      local ctx = sim.context()
      assert(m:act())
      assert(lpfm.config { thread_gid = 20 })
      assert(m:act(tid))
      sim.start(ctx, tid)
      sim.refused("EPERM", "reserved to group 20", lpfm.create())
   end)

   it("'This command does not check the validity of the group identifications'", function()
      sim.machine()
      assert(lpfm.config { sys_gid = 4000000000, thread_gid = 123456789 })
      assert.are.same({ 4000000000, 123456789 }, { lpfm.config().sys_gid, lpfm.config().thread_gid })
   end)

   it("cf_arg_size_max: 'By default, the limit is set to the default page size', it limits every vector", function()
      for _, page in ipairs { 4096, 16384 } do
         sim.machine("itanium2", { page_size = page })
         assert.are.equal(page, lpfm.config().arg_size_max)
      end
      sim.machine()
      local ctx = sim.context()
      local v = {}
      for i = 1, 200 do
         v[i] = { num = 4, value = i }
      end
      sim.refused("E2BIG", "exceed the limit of 4096", ctx:write_pmds(v))
      assert(lpfm.config { arg_size_max = 200 * 176 })
      assert(ctx:write_pmds(v))
      assert.are.equal(200, sim.value(ctx, 4))
   end)

   it("... 'The limit cannot be smaller than the smallest page size'", function()
      sim.machine()
      sim.refused("EINVAL", "cf_arg_size_max must be at least a page", lpfm.config { arg_size_max = 4095 })
      assert.are.equal(4096, lpfm.config().arg_size_max)
      assert(lpfm.config { arg_size_max = 4096 })
   end)

   it("cf_smpl_buf_size_max: 'for all the sampling buffers existing in the system at any one time'", function()
      local m = sim.machine()
      assert(lpfm.config { smpl_buf_size_max = 3 * 4096 })
      local a = sim.context { format = "default", buf_size = 4096 }
      sim.context { format = "default", buf_size = 4097 }
      sim.refused("ENOMEM", "cf_smpl_buf_size_max", lpfm.create { format = "default", buf_size = 1000 })
      a:close()
      assert(m:run { ns = 0 })
      sim.context { format = "default", buf_size = 1000 }
   end)

   it("... 'cannot be smaller than the smallest page size'; by default there is no limit", function()
      sim.machine()
      assert.is_true(lpfm.config().smpl_buf_size_max == lpfm.u64("0xffffffffffffffff"))
      sim.refused("EINVAL", "cf_smpl_buf_size_max must be at least a page", lpfm.config { smpl_buf_size_max = 4095 })
      assert(lpfm.config { smpl_buf_size_max = 4096 })
      sim.refused("ENOMEM", "exceeds", lpfm.create { format = "default", buf_size = 4097 })
   end)

   it("'only the most privileged user is allowed to make the call': EPERM, and nothing is changed", function()
      local m = sim.machine()
      assert(m:act(m:spawn { program = sim.work(10), uid = 1000 }))
      sim.refused("EPERM", "only the administrator", lpfm.config { thread_gid = 5 })
      sim.refused("EPERM", "only the administrator", lpfm.config {})
      assert.are.equal(-1, lpfm.config().thread_gid)
      assert(m:act(m:spawn { program = sim.work(10), uid = 0 }))
      assert(lpfm.config { thread_gid = 5 })
   end)

   it("'The effects of the command are not retroactive'", function()
      sim.machine()
      local ctx = sim.context { format = "default", buf_size = 65536 }
      assert(lpfm.config { smpl_buf_size_max = 4096 })
      assert.are.equal(65536, lpfm.config().smpl_buf_size_cur)
      assert.are.equal(0, #ctx:buffer())
      sim.refused("ENOMEM", "cf_smpl_buf_size_max", lpfm.create { format = "default", buf_size = 1000 })
   end)

   it("'can be issued at any time', also while contexts are loaded", function()
      local m = sim.machine()
      local ctx = sim.context()
      assert(ctx:load(m:spawn { program = sim.work(10) }))
      assert(lpfm.config { arg_size_max = 8192 })
      assert.are.equal(8192, lpfm.config().arg_size_max)
   end)

   it("a refused configuration changes nothing of what it asked for", function()
      sim.machine()
      sim.refused("EINVAL", "at least a page", lpfm.config { thread_gid = 5, arg_size_max = 1 })
      assert.are.equal(-1, lpfm.config().thread_gid)
   end)

   it("through perfmonctl(): ignored fields, narg, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.16")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.17 PFM_GET_CONFIG", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("cf_version: major and minor, 'Each number occupies one half of the 32-bit field'", function()
      local v = lpfm.config().version
      assert.are.equal(lpfm.const.PFM_VERSION, v)
      assert.are.equal(lpfm.const.PFM_VERSION_MAJ, math.floor(v / 65536))
      assert.are.equal(lpfm.const.PFM_VERSION_MIN, v % 65536)
   end)

   it("cf_impl_pmcs, cf_impl_pmds: 'each bit set indicates an implemented' register, with holes", function()
      sim.machine("p6")
      local cfg = lpfm.config()
      assert.are.same({ 0, 1 }, { cfg.impl_pmcs[1], cfg.impl_pmcs[2] })
      assert.are.equal(64, cfg.impl_pmcs[3])
      sim.machine("armv8")
      assert.are.same({ 0, 1, 2, 3, 4, 5, 31 }, { unpack(lpfm.config().impl_pmds, 1, 7) })
   end)

   it("cf_counter_width: 'the bit width of the actual hardware counters'", function()
      for model, width in pairs { itanium2 = 47, k8 = 48, p6 = 40, armv8 = 32 } do
         sim.machine(model)
         assert.are.equal(width, lpfm.config().counter_width)
      end
   end)

   it("'any user can invoke the command'", function()
      local m = sim.machine()
      assert(lpfm.config { sys_gid = 7 })
      assert(m:act(m:spawn { program = sim.work(10), uid = 1000 }))
      assert.are.equal(7, lpfm.config().sys_gid)
   end)

   it("'at any time'; it counts the sessions and the buffer memory (ours)", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local ctx = sim.context { format = "default", buf_size = 4096 }
      assert(ctx:load(m:spawn { program = sim.work(10) }))
      local cfg = lpfm.config()
      assert.are.same({ 1, 0, 4096 }, { cfg.thread_sessions, cfg.sys_sessions, cfg.smpl_buf_size_cur })
      assert(ctx:unload())
      assert.are.equal(0, lpfm.config().thread_sessions)
   end)

   it("PFM_MAX_PMC_BITVECTOR 'is defined like its equivalent for the PMD registers'", function()
      assert.are.equal(math.floor((lpfm.const.PFM_MAX_PMCS + 63) / 64), lpfm.const.PFM_MAX_PMC_BITVECTOR)
   end)

   it("through perfmonctl(): fields, narg, errors", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.17")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.16 and other processes, on real threads:", function()
   for part, sentence in pairs {
      config = "'global properties of the perfmon interface': of all processes and users; any user may ask",
   } do
      it(sentence, function() require "support.shared"(part) end)
   end
end)
