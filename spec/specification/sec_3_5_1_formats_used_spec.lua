-- SPDX-License-Identifier: MIT
-- Specification 3.5.1 - 3.5.6: the user's side of sampling formats: identification, arguments, the
-- buffer.
local lpfm = require "lpfm"
local c = require "support.c"
local sim = require "support.sim"

local UUID_06 = "4d72bec0-0664-4143-82b4-d3fd27243c97"

describe("3.5.2 Identification of sampling formats", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'a tool must provide the UUID of the format when the context is created'; by name it is found, too", function()
      local uuids = {}
      for _, f in ipairs(lpfm.formats()) do uuids[f.name] = f.uuid end
      for _, name in ipairs { "default", "default-0.6", "n-way" } do
         local uuid = uuids[name]
         for _, id in ipairs { uuid, name, uuid:upper(), (uuid:gsub("-", "")) } do
            local ctx = sim.context { format = id, regions = name == "n-way" and 3 or nil }
            assert.are.equal(0, #assert(ctx:buffer()))
            ctx:close()
         end
      end
   end)

   it("a UUID or name that no format has is refused", function()
      for _, id in ipairs { "4d72bec0-0664-4143-82b4-d3fd27243c98", "no such format" } do
         sim.refused("EINVAL", "format", lpfm.create { format = id })
      end
   end)

   it("'figure out the list of available formats ... should not require to be root': UUID and name of each", function()
      local m = sim.machine()
      assert(m:act(m:spawn { program = sim.work(1), uid = 1000 }))
      local names = {}
      for _, f in ipairs(lpfm.formats()) do
         names[f.name] = f.uuid
      end
      assert.are.equal(UUID_06, names["default-0.6"])
      assert.are.equal("d139b29e-62e8-40e4-b402-73078792e937", names["default"])
      assert.is_string(names["n-way"])
   end)

   it("'The default format is guaranteed to be present on all implementations'", function()
      for _, model in ipairs(sim.models()) do
         sim.machine(model)
         sim.context { format = UUID_06 }
         sim.context { format = "default" }
      end
   end)
end)

describe("3.5.3 Passing arguments to a sampling format", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'If a format uses parameters then they must be provided during the call'", function()
      sim.refused("EINVAL", "bytes", lpfm.create { format = "default", format_arg = "" })
      sim.refused("EINVAL", "bytes", lpfm.create { format = "default", format_arg = ("\0"):rep(63) })
      sim.refused("EINVAL", "bytes", lpfm.create { format = "default", format_arg = ("\0"):rep(65) })
      local arg = string.char(0, 64) .. ("\0"):rep(62)
      assert.are.equal(16384, sim.context({ format = "default", format_arg = arg }):buffer():header().size)
   end)
end)

local CASES = {
   { "3.5.3 Passing arguments to a sampling format", {
      no_padding = "'the first byte of the format specific structure immediately follows, i.e., no padding'",
   } },
   { "3.5.4 Accessing the sampling buffer", {
      sequence = "'A typical code sequence': perfmonctl(), then mmap() of ctx_smpl_buf_size bytes",
      not_by_read = "'read() ... cannot be used to access the sampling buffer'",
      protections = "'only PROT_READ is valid'; PROT_EXEC, PROT_WRITE, PROT_NONE are not supported",
      map_flags = "MAP_PRIVATE, MAP_EXECUTABLE, MAP_LOCKED, MAP_GROWSDOWN are not supported",
      sizes = "'the size of the mapping is predetermined'; 'there cannot be a non zero offset'",
      once = "'the buffer can only be mapped once inside a process'",
      still_once = "'can only be mapped once': EBUSY while a part of it is mapped, wherever; no longer",
      no_buffer = "'When the allocation and re-mapping services are not used ... there is no access to the buffer'",
      read_only =
         "'Any write access must be flagged by the virtual memory subsystem and may result in the termination'",
      unmapped = "munmap(): 'all or parts of the buffer but the physical buffer remains intact'",
      forks = "fork(): 'The re-mapping is inherited ... fully shared between the two processes'",
      child_unmaps =
         "4.3.3: 'it is always possible to explicitly remove the mapping via a call to munmap()' in a child",
      closed = "close(): 'The physical buffer remains until the last controlling thread closes the file descriptor'",
   } },
}

for _, section in ipairs(CASES) do
   describe(section[1], function()
      local program
      setup(function() program = c.compile("formats_map") end)

      for case, sentence in pairs(section[2]) do
         it(sentence, function()
            local out, status = c.sh(program .. " " .. case)
            assert.are.equal(0, status, out)
         end)
      end
   end)
end

describe("3.5.4 Accessing the sampling buffer, from Lua", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'Without the mmap() call the buffer exists and samples are stored into it'", function()
      local m = sim.machine()
      local ctx = sim.context { format = "default" }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10 })
      sim.start(ctx, m:spawn { program = sim.work(100) })
      assert(m:run { us = 1 })
      assert.are.equal(10, #ctx:buffer()) -- the buffer is mapped only now
   end)

   it("close(): 'the mapping of the buffer is removed': a view of it raises", function()
      local ctx = sim.context { format = "default" }
      local buf = ctx:buffer()
      ctx:close()
      assert.has_error(function() return #buf end, "the buffer is closed")
   end)
end)

describe("3.5.6 Buffer content", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'The first byte of the buffer ... contains format specific information': the header of each layout", function()
      -- nothing has run: the buffer has a header and no sample
      local m = sim.machine()
      for format, header in pairs { default = 128, [UUID_06] = 40 } do
         local ctx = sim.context { format = format }
         local h = ctx:buffer():header()
         assert.are.same({ 0, header, 0, 65536 }, { h.count, h.cur_offs, h.overflows, h.size })
         assert.are.equal(header, #ctx:buffer():snapshot())
      end
      assert.are.equal(0, m:time())
   end)
end)
