-- SPDX-License-Identifier: MIT
-- Five samples, chosen fairly from all by a sampling format in Lua: lpfm reservoir.lua
-- It prints how many there were, and five lines such as "0x7fd44c8eb0b3 after 1,044 page faults".
local lpfm, number = require "lpfm", require("pfm.render").number

assert(lpfm.register_format { name = "reservoir", init = function(self) self.seen, self.kept = 0, {} end,
   handler = function(self, overflow) -- the n-th sample replaces one with probability 5 / n
      self.seen = self.seen + 1
      local place = self.seen <= 5 and self.seen or math.random(self.seen)
      if place <= 5 then self.kept[place] = { ip = overflow.ip, faults = overflow.pmds[66] } end
      return "RESET"
   end, calls = { result = function(self) return { seen = self.seen, kept = self.kept } end } })
local ctx, period = assert(lpfm.create { format = "reservoir" }), -1e5 -- ns of PMD65, cpu-clock
assert(ctx:write_pmcs { { num = 65, value = 9 }, { num = 66, value = 9 } } and ctx:write_pmds { { num = 66, value = 0 },
   { num = 65, value = period, short_reset = period, long_reset = period, smpl_pmds = { 66 }, flags = "OVFL_NOTIFY" } })
assert(ctx:load() and ctx:start())
local text = "" for i = 1, 2e4 do text = text .. i end -- the work that is sampled
local result = ctx:stop() and ctx:ask("result")
print(number(result.seen) .. " samples, of which these were kept:")
for _, s in ipairs(result.kept) do print(("%#x after %s page faults"):format(tonumber(s.ip), number(s.faults))) end
