-- SPDX-License-Identifier: MIT
-- The format stack with regions (6.3.1 for 6.3.2): monitoring goes on while the tool reads, and
-- nothing is lost.
local lpfm = require "lpfm"
local stored = require "lpfm.samples"
local sim = require "support.sim"

local FRAMES = 4
local SAMPLE = 64 + 8                                  -- bytes: of a sample with one frame
local LARGEST = function() return 64 + 8 * (FRAMES + #lpfm.pmds()) end
-- the largest record, with LOST of each reason
local RECORD = 72 + 4096 + 4 * 40

-- Returns the size of a buffer in which n samples of one frame fill a region exactly.
local function size_of(regions, n, free)
   local region = (n - 1) * SAMPLE + LARGEST() + (free or 0)
   return 128 + 16 * regions + regions * (region - region % 8)
end

-- Starts a context of the format stack that samples each of n instructions of 10 ns.
local function sampling(n, options)
   local m = sim.machine("itanium2")
   options.format, options.max_frames = "stack", FRAMES
   local ctx = sim.context(options)
   sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1, long_reset = -1, flags = { "OVFL_NOTIFY" } })
   local tid = m:spawn { program = sim.work(n) }
   sim.start(ctx, tid)
   return m, ctx, tid
end

-- Returns the times of the samples to be read next.
local function times(ctx)
   local out = {}
   for s in ctx:buffer():samples() do out[#out + 1] = s.tstamp end
   return out
end

local function from_to(first, last)
   local out = {}
   for t = first, last, 10 do out[#out + 1] = t end
   return out
end

describe("the format stack with regions", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("tells of each full region, and samples into the next", function()
      local m, ctx = sampling(1000, { regions = 3, buf_size = size_of(3, 5) })
      assert.is_true(m:run { until_message = ctx })
      assert.equal("OVFL", assert(ctx:read(0)).type)
      assert.equal(50, m:time())
      m:run { ns = 20 }
      local h = ctx:buffer():header()
      assert.same({ 5, true, 3, 0 }, { h.count, h.full, h.regions, h.overflows })
      assert.same(from_to(10, 50), times(ctx))
   end)

   it("gives the regions to read in order, one with each restart, and all samples once", function()
      local m, ctx, tid = sampling(43, { regions = 3, buf_size = size_of(3, 5) })
      local all = {}
      while not m:run { until_exit = tid, ns = 70 } do
         while ctx:buffer():header().full do
            for _, t in ipairs(times(ctx)) do all[#all + 1] = t end
            assert(ctx:restart())
         end
      end
      while ctx:buffer():header().full do
         for _, t in ipairs(times(ctx)) do all[#all + 1] = t end
         assert(ctx:restart())
      end
      for _, t in ipairs(times(ctx)) do all[#all + 1] = t end
      assert.same(from_to(10, 430), all)
      assert.equal(0, ctx:buffer():header().overflows)
   end)

   it("masks when all regions are full; each restart gives one back, the oldest", function()
      local m, ctx = sampling(1000, { regions = 2, buf_size = size_of(2, 5) })
      m:run { ns = 300 }
      assert.equal(1, ctx:buffer():header().overflows)
      assert.same(from_to(10, 50), times(ctx))
      assert(ctx:restart())
      assert.same(from_to(60, 100), times(ctx))
      assert.is_true(ctx:buffer():header().full)
      m:run { ns = 30 }
      assert(ctx:restart())
      assert.same(from_to(310, 330), times(ctx))
      assert.is_false(ctx:buffer():header().full)
   end)

   it("does nothing at a restart while no region is full", function()
      local m, ctx = sampling(1000, { regions = 2, buf_size = size_of(2, 5) })
      m:run { ns = 30 }
      assert(ctx:restart())
      m:run { ns = 10 }
      assert.same(from_to(10, 40), times(ctx))
   end)

   it("lets a region in hand be read as it grows, and what is left of it once it is full", function()
      local m, ctx = sampling(1000, { regions = 2, buf_size = size_of(2, 5) })
      local t = stored.stack_table()
      m:run { ns = 30 }
      local _, n, to = t:samples(ctx:buffer())
      assert.equal(3, n)
      m:run { ns = 40 }
      _, n = t:samples(ctx:buffer(), to)
      assert.equal(2, n)
      assert(ctx:restart())
      _, n = t:samples(ctx:buffer())
      assert.equal(2, n)
   end)

   it("keeps records that come while all regions are full for the region given back", function()
      local m = sim.machine("itanium2")
      local options = { format = "stack", max_frames = FRAMES, regions = 2, buf_flags = { "RECORDS" } }
      -- the records that are held until a restart must not fill the next region
      options.buf_size = 128 + 2 * 16 + 2 * 2 * (LARGEST() + RECORD + 8)
      local ctx = sim.context(options)
      sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1, long_reset = -1, flags = { "OVFL_NOTIFY" } })
      local tid = m:spawn { program = { { loop = 500, { ip = 0x1000, ns = 10 } },
         { map = "/bin/late", ip = 0x9000, size = 0x100 }, { loop = 500, { ip = 0x9000, ns = 10 } } } }
      assert(ctx:load(tid) and ctx:start())
      m:run { ns = 6000 }
      assert.equal(1, ctx:buffer():header().overflows)
      local paths = {}
      for _ = 1, 3 do
         for r in ctx:buffer():records() do paths[#paths + 1] = r.path end
         assert(ctx:restart())
      end
      assert.same({ "/bin/late" }, paths)
   end)

   it("shows the regions that are to be read later, when the thread has ended and nothing can be given back", function()
      local m, ctx, tid = sampling(12, { regions = 3, buf_size = size_of(3, 5) })
      m:run { until_exit = tid }
      local t, got, buffer = stored.stack_table(), {}, ctx:buffer()
      for ahead = 0, 2 do
         local h = buffer:header(ahead)
         got[ahead + 1] = { h.count, h.full, (select(2, t:samples(buffer, nil, nil, nil, ahead))) }
      end
      assert.same({ { 5, true, 5 }, { 5, true, 5 }, { 2, false, 2 } }, got)
      assert.is_nil(buffer:header(3))
      assert.has_error(function() t:samples(buffer, nil, nil, nil, 3) end, "there are not so many regions to read")
   end)

   it("takes from 2 to 8 regions, each large enough for a sample", function()
      sim.machine("itanium2")
      local least = size_of(8, 1)
      sim.context { format = "stack", max_frames = FRAMES, regions = 8, buf_size = least }
      sim.refused("EINVAL", "", lpfm.create { format = "stack", max_frames = FRAMES, regions = 8,
         buf_size = least - 64 })
      sim.refused("EINVAL", "", lpfm.create { format = "stack", max_frames = FRAMES, regions = 9, buf_size = 2 ^ 20 })
   end)

   it("is the same under the typed view of LuaJIT", function()
      if not rawget(_G, "jit") then return end
      local m, ctx = sampling(1000, { regions = 3, buf_size = size_of(3, 5) })
      m:run { ns = 70 }
      assert(ctx:restart())
      local n, sum = 0, 0
      for _, s in require("pfm.ffi").context(ctx):buffer():entries() do
         n, sum = n + 1, sum + tonumber(s.entry.tstamp)
      end
      assert.same({ 2, 60 + 70 }, { n, sum })
   end)
end)
