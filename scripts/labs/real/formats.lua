-- SPDX-License-Identifier: MIT
-- A sampling format in C, in the kernel: spec/vm/format/tally.c as it is, and what a student makes
-- of it.

local lpfm = require "lpfm"

local VALUE = 8 -- bytes of a count

local MISSING = [[
   No format {format} is registered here, and no module brings it. Is that the name in PFM_FMT_ALIAS and in fmt_name,
   has it a UUID that no other format has, and was the machine started with FORMAT?]]
local SHIPPED = [[
   That is {name}, which comes with lpfm: it is registered with the UUID {uuid}. A format of your own has a name and a
   UUID of its own, and counts otherwise.]]

-- Returns what a format has counted for the PMD of page faults, which overflows each p.period
-- faults; how many overflows there must have been; and the number of faults.
local function counted(kit, p, format)
   kit.here.machine(p)
   local ctx = kit.context { format = format }
   local num = kit.here.pmds["page-faults"]
   kit.here.counter(ctx, "page-faults", { period = p.period })
   kit.here.counter(ctx, "minor-faults")
   kit.here.run(ctx, { { name = "main", { loop = p.touches, { touch = true }, { spin = p.spin } } } })
   local count = ctx.ctx:buffer():get("u64", num * VALUE)
   local faults = kit.value(ctx, kit.here.pmds["minor-faults"])
   ctx:close()
   return count, math.floor(faults / p.period), faults
end

-- Returns the formats that come with lpfm, by UUID: those of the simulated computer, and tally.
local function shipped(kit, tally)
   kit.machine { model = "itanium2" }
   local out = { [tally.uuid] = true }
   for _, entry in ipairs(assert(lpfm.formats())) do out[entry.uuid] = true end
   return out
end

-- Returns the registered format with a name or UUID; nil if there is none.
local function registered(kit, p, format)
   kit.here.machine(p)
   local ctx = lpfm.create { format = format } -- this loads its module
   if ctx then ctx:close() end
   for _, entry in ipairs(assert(lpfm.formats())) do
      if format == entry.name or format == entry.uuid then return entry end
   end
end

local function tally(kit, p)
   local count, overflows, faults = counted(kit, p, "tally")
   return { count = count, overflows = overflows, faults = faults, shipped = shipped(kit, registered(kit, p, "tally")) }
end

local function check(kit, p, t, figures)
   if type(t) ~= "table" or type(t.format) ~= "string" then
      return false, "The script returns no table with a format."
   end
   local entry = registered(kit, p, t.format)
   if not entry then return false, MISSING, { format = t.format } end
   if figures.shipped[entry.uuid] then return false, SHIPPED, entry end
   local ok, count, overflows = pcall(counted, kit, p, t.format)
   if not ok then return false, "{format} does not work: {err}", { format = t.format, err = count } end
   local half = math.floor(overflows / 2)
   return count == half, nil, { format = t.format, got = count, there = overflows, half = half }
end

return {
   machines = { linux = true },
   goals = { "read a sampling format in C", "write one, load it into a kernel, and check what it counts" },
   read = { "spec/vm/format/tally.c", "kernel/README.md: Add a sampling format" },
   teacher = [[
      The first page runs what is there; the task is the work. A format that does not build stops `make vm` with the
      compiler's message, and one that is wrong at most crashes an emulated machine: encourage them. What a handler may
      not do (take locks, sleep, loop over much) is worth a discussion, for it runs in the interrupt.

      The check looks up what was registered: tally does not count, under whatever name a script asks for it, nor does
      a copy that counts as tally does. `spec/vm/halves` solves the task, and `make vm LAB=formats
      FORMAT=spec/vm/halves` shows it at work.
   ]],
   params = { period = 10, touches = 400, spin = 5000 },
   pages = {
      { text = [[
         The machine is `{machine}`: a kernel, in which `tally` is a module of its own, in C. It is some dozen lines
         long, in `spec/vm/format/tally.c`. Its handler runs in the interrupt at each overflow:

            ((u64 *)buf)[arg->ovfl_pmd]++;
            arg->ovfl_ctrl.reset_ovfl_pmds = 1;

         A program touches {touches} pages, and some more at its start; each {period} page faults are an overflow.
      ]],
        ask = "What does tally count?", id = "tally", within = 0.05,
        run = tally, show = { { "page faults", "faults" }, { "tally's count for their PMD", "count" } },
        answer = "count",
        right = "Each overflow once. Nobody was told, and nothing was copied.",
        wrong = { { is = "touches", say = "The handler runs at overflows: {count}." } },
        otherwise = "One in {period} faults is an overflow: {count}.",
        hints = { "How many overflows are there?" } },
      { task = "own", kind = "script",
        todo = [[
           Write a format in C that counts only every second overflow of each PMD. Where tally has its counts it has
           its own, and it is no copy of tally by another name:

              cp -r spec/vm/format mine
              (change names in mine/Kbuild and mine/tally.c, the UUID, and what it does)
              make vm LAB=formats FORMAT=mine

           `uuidgen` makes a UUID. The kernel loads the module when a context asks for its name. Here, write a script
           that returns that name, in the place of `tally`:

              return { format = "tally" }
        ]],
        check = check,
        right = "{format} counted {got} of {there} overflows.",
        otherwise = "{format} counted {got} of {there} overflows. Every second one, that is {half}.",
        solution = [[return { format = "halves" }]],
        mistake = [[return { format = "tally" }]],
        hints = { "A second array behind the first can keep what has not been counted yet; getsize makes room.",
           "An element of it is 0 or 1: at each overflow it is added to the count, and then it changes." } },
   },
}
