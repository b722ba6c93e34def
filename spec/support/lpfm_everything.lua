-- SPDX-License-Identifier: MIT
-- Returns a function that uses nearly everything in the module once, for spec/c/fuzz/memory.c.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"

return function()
   local ctx = assert(lpfm.create { format = "default", buf_size = 20000, flags = { "OVFL_NO_MSG" } })
   assert(lpfm.machine() and lpfm.config() and lpfm.pmds() and lpfm.formats())
   local v = lpfm.pmds { 64, 65, { num = 66, value = 5, smpl_pmds = { 80, 81 } } }
   assert(ctx:write_pmds(v))
   assert(ctx:write_pmcs { { num = 64, value = 9, flags = {} } })
   assert(ctx:write_pmds { { num = 65, value = "0x7fffffffffffffff", smpl_pmds = { 80 } } })
   assert(ctx:read_pmds(v) and ctx:read_pmds { 64, 65 } and ctx:read_values { 64, 65 })
   assert(ctx:getinfo_evtsets { 0 } and ctx:create_evtsets { 1, 2 } and ctx:delete_evtsets { 1 })
   assert(not ctx:write_pmds { { num = 300 } })
   local buf = assert(ctx:buffer())
   assert(#buf:copy() == 0)
   assert(buf:header() and buf:count_by("ip", "tid") and buf:snapshot())
   for s in buf:samples { tid = 1 } do
      error(s)
   end
   for ip in buf:fields("ip") do
      error(ip)
   end
   ctx:read(0)
   assert(lpfm.register_format { name = "all", base = "default", validate = function(self) return self.arg.x end,
      handler = function() end, calls = { sum = function(_, a, b) return { a + b } end } })
   local other = assert(lpfm.create { format = "all", buf_size = 20000, format_arg = { x = true } })
   assert(other:ask("sum", 1, 2)[1] == 3 and not other:ask("nothing") and not other:format_error())
   other:close()
   assert(lpfm.unregister_format("all"))
   assert(ctx:on_message(function(msg) error(msg) end) and lpfm.poll({ ctx }, 0) == nil and ctx:on_message())
   local single = assert(lpfm.perfmonctl(nil, "PFM_CREATE_CONTEXT", { format = "default-0.6", buf_size = 20000 }))
   assert(lpfm.perfmonctl(single, "PFM_WRITE_PMCS", { { num = 64, value = 9, smpl_pmds = { 80 } } }))
   assert(lpfm.perfmonctl(single, "PFM_READ_PMDS", { 64 })[1].num == 64)
   assert(lpfm.perfmonctl(single, "PFM_GET_CONFIG") and lpfm.pmu() and lpfm.events_of_code(1) and lpfm.event_error(-1))
   single:close()
   lpfm.poll({ ctx }, 0)
   assert(((lpfm.u64("0xffffffffffffffff") + 5) * 3):hex() == "0xc")
   local child = assert(proc.spawn({ "true" }, { env = { A = "b", C = false }, stdout = "/dev/null", cwd = "/" }))
   assert(child:go() and child:wait() and child:close())
   assert(proc.threads(proc.getpid()) and proc.cpus())
   ctx:close()
end
