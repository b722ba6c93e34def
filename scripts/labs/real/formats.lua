-- SPDX-License-Identifier: MIT
-- A sampling format in C, in the kernel: spec/vm/format/tally.c as it is, and what a student makes of it.

local VALUE = 8 -- bytes of a count

-- What a format counts for PMD66, when `period` faults make an overflow; and the overflows.
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

local function tally(kit, p)
   local count, overflows, faults = counted(kit, p, "tally")
   return { count = count, overflows = overflows, faults = faults }
end

return {
   minutes = 60,
   machines = { linux = true },
   goals = { "read a sampling format in C", "write one, load it into a kernel, and check what it counts" },
   read = { "spec/vm/format/tally.c", "kernel/README.md: Add a sampling format" },
   teacher = [[
      The first page runs what is there; the task is the work. A format that does not build stops `make vm` with the
      compiler's message, and one that is wrong at most crashes an emulated machine: encourage them. What a handler may
      not do (take locks, sleep, loop over much) is worth a discussion, for it runs in the interrupt.

      The check takes any format whose counts are what the script claims, tally too: look at the name in the answer.
   ]],
   params = { period = 10, touches = 400, spin = 5000 },
   pages = {
      { text = [[
         The machine is `{machine}`: a kernel, in which `tally` is a module of its own, in C. It is some dozen lines
         long,
         in `spec/vm/format/tally.c`. Its handler runs in the interrupt at each overflow:

            ((u64 *)buf)[arg->ovfl_pmd]++;
            arg->ovfl_ctrl.reset_ovfl_pmds = 1;

         A program touches {touches} pages, and some more at its start; each {period} page faults are an overflow.
      ]],
        ask = "What does tally count? (Within a twentieth is right.)", id = "tally", within = 0.05,
        run = tally, show = { { "page faults", "faults" }, { "tally's count for their PMD", "count" } },
        answer = "count",
        right = "Each overflow once. Nobody was told, and nothing was copied.",
        wrong = { { is = "touches", say = "The handler runs at overflows: {count}." } },
        otherwise = "One in {period} faults is an overflow: {count}.",
        hints = { "How many overflows are there?" } },
      { task = "own", kind = "script",
        todo = [[
           Write a format in C that counts only every second overflow of each PMD:

              cp -r spec/vm/format mine         (then change the names and the UUID in mine/tally.c)
              make vm LAB=formats FORMAT=mine

           The kernel loads the module when a context asks for its name. Here, write a script that returns the name of
           your format, and how many overflows it counts as one:

              return { format = "tally", every = 1 }
        ]],
        check = function(kit, p, t)
           if type(t) ~= "table" or type(t.format) ~= "string" or type(t.every) ~= "number" then
              return false, "The script returns no table with format and every."
           end
           local ok, count, overflows = pcall(counted, kit, p, t.format)
           if not ok then return false, "There is no such format here: did it build, and has it that name?" end
           return count == math.floor(overflows / t.every), nil, { got = count, there = overflows }
        end,
        right = "It counted {got} of {there} overflows, as you say.",
        otherwise = "It counted {got}, and there were {there} overflows.",
        solution = [[return { format = "tally", every = 1 }]],
        mistake = [[return { format = "tally", every = 2 }]],
        hints = { "A second array behind the first can keep what has not been counted yet; getsize makes room.",
           "Or keep twice as many in the same array, and let the tool halve them: that is cheating, is it not?" } },
   },
}
