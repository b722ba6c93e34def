-- SPDX-License-Identifier: MIT
--- Histograms that are counted at the overflow: `bucket("log2(pmd.l2_misses)")`. No sample is made.
-- @module pfm.bucket

local program = require "pfm.program"

local bucket = {}

--- A histogram: of each overflow, the bucket with the number that the expression has is counted.
-- `bucket(expression, options)` is the same.
-- @string expression as `pfm.program` has them
-- @tparam[opt] table options
-- @string[opt] options.where a condition: what does not meet it is not counted
-- @int[opt] options.buckets what is not below is counted as outside
-- @treturn table of `program.new`; `context:verdicts` has the counts
-- @usage
-- local bucket = require "pfm.bucket"
-- local ctx = assert(lpfm.create(bucket("log2(period)", { where = "cpu == 0" }):create()))
-- assert(next(ctx:verdicts().buckets) == nil)
-- ctx:close()
function bucket.new(expression, options)
   options = options or {}
   return program.new { bucket = expression, where = options.where, buckets = options.buckets }
end

return setmetatable(bucket, { __call = function(_, ...) return bucket.new(...) end })
