-- SPDX-License-Identifier: MIT
--- The format of recordings: its constants, and what the chunks may hold, a description of each
-- record, by which readers check what a file says.
--
-- `layout.checks[TAG](value)` is a check of `pfm.util.shape`: of what a chunk of that tag may hold.
-- @module pfm.recording.layout

local shape = require "pfm.util.shape"

local layout = {}

-- versions of the format: what is written, the oldest that can be read
layout.VERSION, layout.OLDEST = 3, 1
layout.NO_STACKS = 2                   -- the version that is written where samples have no stacks
layout.MERGED = 4                      -- the version of a file of many recordings
layout.PMDS, layout.EVENTS = 320, 64   -- PMD numbers are below PMDS; at most EVENTS events
layout.SETS = 2 ^ 16                   -- numbers of event sets are below SETS
layout.LATEST = 2 ^ 62                 -- times are up to this; beyond 2^53 ns, 104 days, they are rounded
-- no PMD has this number: its value in a sample is the number of the stack
layout.STACK = layout.PMDS - 1

--- Returns the number under which an event is found; in set 0 it is the event's PMD.
-- @int pmd
-- @int[opt=0] set
-- @treturn number
function layout.place(pmd, set)
   return (set or 0) * layout.SETS + pmd
end

local checks = {}
layout.checks = checks

local anything, list, number, record, row, text, whole, word = shape.anything, shape.list, shape.number, shape.record,
   shape.row, shape.text, shape.whole, shape.word

-- --- records -------------------------------------------------------------------------------------

-- Checks a register value, which is a string of digits beyond 2^53.
local function amount(v)
   return number(0, 2 ^ 64)(v) or type(v) == "string" and v:find("^%d+$") ~= nil and #v <= 20
end

local pid, time, count = whole(0, 2 ^ 32 - 1), whole(0, layout.LATEST), whole(0, 2 ^ 53)
local address, size = whole(-2 ^ 63, 2 ^ 64), whole(0, 2 ^ 64)
local seconds, place = number(0, 2 ^ 40), number(-2 ^ 53, 2 ^ 53)
local pmd, set = whole(0, layout.PMDS - 1), whole(0, layout.SETS - 1)
local CLOCK_ERROR = number(0, 2 ^ 63)

local function few(of)
   return function(v)
      local sound, left = list(of)(v)
      return sound and #v <= layout.EVENTS, left
   end
end

local event = record({ pmd = pmd }, { set = set, values = list(pmd) }, { name = text, unit = text, period = amount,
   frequency = number(0, 2 ^ 53) })

local machine = record({}, {}, { name = text, pmu = text, host = text, kernel = text, arch = text, boot = text,
   cpus = count, hw_counters = count })

local job = record({}, {}, { launcher = text, rank = count, ranks = count, local_rank = count, id = word, step = word,
   host = text })

local clock = record({ seconds = place, ns = place, samples = time }, {}, { within = CLOCK_ERROR })

checks.HEAD = record({ events = few(event) }, { with = few(event), stacks = word, byte_order = text },
   { what = text, command = list(text), cpus = list(count), tids = list(pid), time = seconds,
      frequency = number(0, 2 ^ 53), random = record({ text = text }, {}, {}), machine = machine, clock = clock,
      job = job })

--- The head of a file of many recordings.
checks.MERGED = record({}, { byte_order = text }, {})

checks.MAPS = record({ pid = pid, maps = list(row({ address, address, size, text }, text)) },
   { time = time, before = time }, {})

checks.COMM = list(record({ tid = pid, comm = text }, { time = time, pid = pid }, {}))

checks.OBJS = list(record({ path = text }, {}, { build_id = text }))

--- The records of PROG, by the kind that they begin with.
checks.kinds = {
   MAP = row({ text, time, pid, pid, address, address, size, text }, text), EXEC = row { text, time, pid, pid, text },
   RENAME = row { text, time, pid, pid, text }, FORK = row { text, time, pid, pid, pid, pid },
   EXIT = row { text, time, pid, pid }, LOST = row { text, time, pid, pid, count, text },
}

-- Records of unknown kinds are not checked.
checks.PROG = list(function(v)
   return type(v) == "table" and (v[1] ~= nil and checks.kinds[v[1]] or anything)(v)
end)

-- Checks the i-th value of a row that has name, file and line of each frame in turn.
local function in_frame(v, i)
   return (i % 3 == 2 and text or count)(v)
end

local lists = record({ path = text, files = list(text), segments = list(row { address, size, address }),
   functions = list(row({ address, size, text }, time)), lines = list(row({ address, count, count }, time)),
   frames = list(row({ address }, in_frame)) }, { process = pid },
   { build_id = text, inode = text, missing = text, trouble = text, count = count,
      key = text })

-- Functions and lines of generated code must have times.
checks.SYMS = function(v)
   local sound, left = lists(v)
   for _, name in ipairs(sound and v.process and { "functions", "lines" } or {}) do
      for _, made in ipairs(v[name]) do sound = sound and made[4] ~= nil end
   end
   for _, frames in ipairs(sound and v.frames or {}) do sound = sound and #frames % 3 == 1 end
   return sound, left
end

local sums = {}
for _, name in ipairs { "samples", "lost", "crowded", "untold", "throttled", "late", "full", "missed", "subjects",
   "unmeasured" } do sums[name] = count end
for _, name in ipairs { "elapsed", "user", "system" } do sums[name] = seconds end
sums.sample_rate, sums.unsampled, sums.status, sums.signal = count, number(0, 1), count, count

checks.ENDS = record({}, {}, sums)

checks.SRCE = record({ id = text, objects = list(anything) }, {}, {})

return layout
