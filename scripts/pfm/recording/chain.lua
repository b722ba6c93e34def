-- SPDX-License-Identifier: MIT
--- Resolves the numbers of call stacks in a recording to the places of their functions.
-- @module pfm.recording.chain

local layout = require "pfm.recording.layout"

local chain = {}

--- Adds the number of the stack to keys of `recording:group_by`, if the samples have stacks.
-- @tparam table self of `recording.open`
-- @tparam table keys
-- @treturn table
-- @usage chain.keys(assert(recording.open "lpfm.data"), { "pid", "ip" })
function chain.keys(self, keys)
   local out = { unpack(keys) }
   if self:has_stacks() then out[#out + 1] = layout.STACK end
   return out
end

--- Returns the addresses of a stack: the sample's, then those of the calls, outwards.
-- @tparam table self of `recording.open`
-- @number ip the sample's
-- @number[opt] number of the stack
-- @treturn table
-- @usage #chain.addresses(assert(recording.open "lpfm.data"), 4096) --> 1
function chain.addresses(self, ip, number)
   return number and self.stack_table:calls(number, ip) or { ip }
end

--- Finds where the addresses of a stack lie.
-- @tparam table self of `recording.open`
-- @param resolver of `pfm.symbols`
-- @number pid
-- @number ip
-- @number[opt] number of the stack
-- @treturn table of what `resolver:resolve` gives, the innermost first
-- @usage local s = assert(recording.open "lpfm.data")
-- print(chain.places(s, symbols.resolver(), 1, 4096)[1].func)
function chain.places(self, resolver, pid, ip, number)
   local out = chain.addresses(self, ip, number)
   for i, address in ipairs(out) do out[i] = resolver:resolve(pid, address) end
   return out
end

return chain
