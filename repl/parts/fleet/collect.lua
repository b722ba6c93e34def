-- SPDX-License-Identifier: MIT
--- Periodic recordings: lpfm record with the option every.
-- @module repl.parts.fleet.collect

local collector = require "pfm.fleet.collector"
local options = require "repl.command.options"
local render = require "pfm.render"
local stored = require "repl.parts.fleet.stored"

local collect = {}

local SPOOL = "lpfm.spool"
local UNITS = { [""] = 1, s = 1, m = 60, h = 3600 }

local function time_of(text, flag)
   local n, unit = text:match("^([%d.]+)([smh]?)$")
   local seconds = n and tonumber(n) and tonumber(n) * UNITS[unit]
   if not seconds or seconds <= 0 then options.fail("%s: '%s' is not a time, as in 5, 60s, 5m, 1h", flag, text) end
   return seconds
end

local function say(text, ...)
   io.stderr:write("lpfm record: ", text:format(...), "\n")
end

local function share_of(text)
   local percent = options.number(text or "1", "--cpu-budget")
   if percent > 100 then options.fail("--cpu-budget: %s%% is more than there is", text) end
   return percent / 100
end

local function print_counts(counts, folder)
   say("%s with %s, %s delivered, %s dropped (%s), %s failed; %.2f s of CPU time; in %s",
      render.plural(counts.recordings, "recording"), render.plural(counts.samples, "sample"),
      render.number(counts.delivered), render.number(counts.dropped), render.plural(counts.dropped_samples, "sample"),
      render.plural(counts.failed, "round"), counts.cpu, folder)
end

--- Records periodically, as the options say.
-- @tparam table args
-- @tparam table spec of `profile.prepare`
-- @treturn number exit status, 1 if all rounds failed
function collect.main(args, spec)
   if spec.command then options.fail("--every goes with -a or -C: a command ends") end
   if spec.tids then options.fail("--every goes with -a or -C: processes end") end
   if args.timeout then options.fail("--every and --timeout exclude each other: --for is how long each takes") end
   if #args.set > 0 and not args.to then options.fail("--set: expected --to URL, the database") end
   spec.seconds = time_of(args.seconds or "5s", "--for")
   local folder = options.file_name(args.output or SPOOL)
   local self = options.checked(collector.new, { spec = spec, folder = folder, every = time_of(args.every, "--every"),
      cpu = share_of(args.cpu_budget), disk = options.size(args.disk_budget, "--disk-budget"), store = args.to,
      given = stored.read_given(args.set), rounds = options.number(args.rounds, "--rounds", true), say = say })
   local counts = self:run()
   if not args.quiet then print_counts(counts, folder) end
   return counts.recordings == 0 and counts.failed > 0 and 1 or 0
end

return collect
