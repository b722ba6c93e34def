-- SPDX-License-Identifier: MIT
--- Filters of samples, which run at the overflow: `where("ip in 'libc' and pmd.l2_misses > 100")`.
-- @module pfm.where

local program = require "pfm.program"

local where = {}

--- A filter: samples that do not meet the condition are dropped where they would be made. `where(expression)` is the
-- same.
-- @string expression as `pfm.program` has them
-- @treturn table of `program.new`
-- @usage
-- local where = require "pfm.where"
-- local ctx = assert(lpfm.create(where("cpu in {0, 2..5}"):create { buf_size = 16384 }))
-- ctx:close()
function where.new(expression)
   return program.new { where = expression }
end

return setmetatable(where, { __call = function(_, ...) return where.new(...) end })
