-- SPDX-License-Identifier: MIT
--- Samples of a command, threads or CPUs in a file.
-- @module pfm.record

local file = require "pfm.record.file"
local parts = require "pfm.record.parts"
local profile = require "pfm.profile"
local expect = require "pfm.util.expect"

local record = {}

-- --- recording ---------------------------------------------------------------------------------

local function totals(outcome)
   local rusage, stacks = outcome.rusage or {}, outcome.stacks
   return {
      lost = outcome.lost, late = outcome.late, throttled = outcome.throttled, full = outcome.full,
      missed = outcome.missed, crowded = outcome.crowded, sample_rate = outcome.sample_rate, elapsed = outcome.elapsed,
      user = rusage.utime, system = rusage.stime, status = outcome.status, signal = outcome.signal,
      interrupted = outcome.interrupted, subjects = outcome.subjects, unsampled = outcome.unsampled,
      unmeasured = outcome.unmeasured, untold = outcome.untold, cuts = stacks and stacks.cuts,
      stacks = stacks and stacks.total,
   }
end

--- Begins a recording: finds out what can be sampled, and opens the file.
-- @tparam table spec as for `profile.prepare`
-- @string path
-- @treturn table `profile`, `file`, and `sink`, for `profile.handlers`
-- @usage
-- local record, profile = require "pfm.record", require "pfm.profile"
-- local r = record.begin({ command = { "true" }, events = "page-faults", period = 1 }, "new.data")
-- record.finish(r, profile.run(r.profile, r.sink))
function record.begin(spec, path)
   if expect.kind("path", path, "path") == "-" then
      error("a recording cannot go to a pipe or the screen: it needs a file", 0)
   end
   return file.open(profile.prepare(spec), spec, path)
end

--- Ends a recording.
-- @tparam table r of `record.begin`
-- @tparam table outcome of `profile.run`
-- @treturn table outcome
-- @treturn table the file, closed, with `path` and `bytes`
-- @usage
-- local record, profile = require "pfm.record", require "pfm.profile"
-- local r = record.begin({ command = { "true" }, events = "page-faults", period = 1 }, "new.data")
-- local outcome, file = record.finish(r, profile.run(r.profile, r.sink))
-- print(outcome.samples, file.path, file.bytes)
function record.finish(r, outcome)
   if r.parts then r.parts:finish(outcome, totals(outcome)) else file.close(r, totals(outcome)) end
   return outcome, r.file
end

--- Records into a file.
-- @tparam table spec as for `profile.prepare`
-- @string path
-- @tparam[opt] function on_tick as for `profile.run`
-- @tparam[opt] table limits
-- @number[opt] limits.max_size bytes of samples and what goes with them, at which the recording
-- ends
-- @tparam[opt] table limits.switch when another file begins, as `--switch-output` of lpfm record
-- says: one of `size` (bytes), `seconds`, `signal` (a name); the files are PATH.TIME then, and each
-- can be read alone
-- @int[opt] limits.max_files with `switch`: how many are kept, the latest
-- @func[opt] limits.written with `switch`: is called with each file, closed, with `path`, `bytes`
-- and `samples`
-- @treturn table of `profile.run`; `full_file` if it ended by `max_size`; with `switch` also
-- `files`, those that are kept, and `removed`, how many are not
-- @treturn table the file, closed, with `path` and `bytes`; with `switch` the last
-- @usage
-- local record = require "pfm.record"
-- print(record.run({ command = { "true" }, events = "page-faults", period = 1 }, "new.data").samples)
function record.run(spec, path, on_tick, limits)
   limits = limits or {}
   if limits.switch then parts.check(path) end
   local r, full_file = record.begin(spec, path), nil
   r.parts = limits.switch and parts.new(r, limits)
   local ok, outcome = pcall(profile.run, r.profile, r.sink, function(self, elapsed)
      if on_tick then on_tick(self, elapsed) end
      full_file = full_file or limits.max_size and r.file.bytes + (r.parts and r.parts.bytes or 0) >= limits.max_size
      if full_file then return "enough" end
      if r.parts then r.parts:tick(elapsed) end
   end)
   if not ok then
      r.file:discard()
      error(outcome, 0)
   end
   outcome.full_file = full_file
   return record.finish(r, outcome)
end

expect.signatures("record", record, {
   finish = "r: {collector}; outcome: table",
})

return record
