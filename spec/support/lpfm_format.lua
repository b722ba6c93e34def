-- SPDX-License-Identifier: MIT
-- Returns a function that registers, uses and removes a sampling format in Lua, for
-- spec/c/fuzz/memory.c.
local lpfm = require "lpfm"

return function()
   local machine = assert(lpfm.machine("sim:k8"))
   local log = {}
   assert(lpfm.register_format {
      name = "lives",
      getsize = function() return 4096 end,
      init = function(self) self.log = log end,
      handler = function(self, overflow)
         self.log[#self.log + 1] = { overflow.ip, overflow.pmds[1] }
         self.buf:put("u64", 8, #self.log)
         return "RESET"
      end,
      exit = function(self) self.log = nil end,
      calls = { log = function(self) return self.log end },
   })
   local ctx = assert(lpfm.create { format = "lives", format_arg = "x" })
   assert(ctx:write_pmcs { { num = 0, value = assert(machine:encode("instructions", 0)) } })
   assert(ctx:write_pmds { { num = 0, value = -10, short_reset = -10, smpl_pmds = { 1 } } })
   local tid = assert(machine:spawn { program = { { loop = 100, { ip = 0x1000, ns = 10 } } } })
   assert(ctx:load(tid))
   assert(ctx:start())
   assert(machine:run { until_exit = tid })
   assert(not ctx:format_error(), ctx:format_error())
   local all = assert(ctx:ask("log"))
   assert(#all == 10 and all[10][1] == 0x1000 and ctx:buffer():get("u64", 8) == 10)
   ctx:close()
   assert(lpfm.unregister_format("lives"))
end
