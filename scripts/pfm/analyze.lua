-- SPDX-License-Identifier: MIT
--- Profiles as tables: where the samples of a session lie, how two runs differ, what phases a run has, how the values
-- in its samples are distributed and go together. Plain tables in and out; the samples themselves are counted in C.
--
--    local s = assert(session.open "lpfm.data")
--    for _, row in ipairs(analyze.by(s, "comm,symbol").rows) do print(row.percent, row.symbol) end
--
-- A session comes from `session.open`, or from `session.of` for samples that were never in a file.
-- @module pfm.analyze

local derive = require "pfm.derive"
local difference = require "pfm.difference"
local phases = require "pfm.phases"
local columns = require "pfm.columns"
local tabulate = require "pfm.tabulate"
local values = require "pfm.values"

return {
   by = tabulate.by,             -- samples by symbol, line, thread, time, ...
   keys = tabulate.keys,         -- the names of what they can be sorted by
   span = columns.span,          -- the first and the last moment
   diff = difference.find,       -- two runs, or several of each
   phases = phases.find,         -- stretches of time in which a run did the same things
   histogram = values.histogram, -- of a register's values, of the time between samples
   correlate = values.correlate, -- of two such values
   derive = derive.metrics,      -- formulas over the counts of each row
}
