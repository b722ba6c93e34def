-- SPDX-License-Identifier: MIT
-- A lab to begin with. Copy it, change it, and run: lpfm lab --check DIR; lpfm lab ./DIR/mylab.lua
-- README.md, one folder up, says what each field is.

-- A program of the simulated computer: p.n instructions of 10 ns, each of which loads.
local function program(p)
   return { { loop = p.n, { ip = 0x1000, ns = 10, events = { loads = 1 } } } }
end

return {
   number = 1,
   title = "A lab to begin with",
   goals = { "know how a lab is made" },
   read = { "scripts/labs/README.md" },
   teacher = "What students get wrong here, and how to help.",
   params = { model = "itanium2", n = 100 },
   pages = {
      { text = [[
         A text. Names in braces become parameters, or what a run found: the loop has {n} instructions.
      ]] },
      { ask = "How many loads does a counter count?", id = "loads",
        run = function(kit, p)
           local counts = kit.count(kit.machine(p), program(p), { "loads", "cycles" })
           return { loads = counts.loads, cycles = counts.cycles }
        end,
        show = { { "loads", "loads" }, { "cycles", "cycles" } },
        answer = "loads",
        right = "Each of the {n} instructions loads once.",
        wrong = { { is = "cycles", say = "Those are the cycles." }, { more = true,
        say = "So many are not executed." } },
        otherwise = "Each of the {n} instructions loads once: {loads}.",
        hints = { "How often does the loop go round?" } },
      { vary = "At the prompt, `loads(n)` counts the loads of a loop of n.",
        setup = function(kit, p)
           return { loads = function(n)
              return kit.count(kit.machine(p), program { n = n }, { "loads" }).loads
           end }
        end },
      { task = "double", kind = "script",
        todo = "Write a script that returns a program with twice as many loads.",
        check = function(kit, p, steps, f)
           local loads = kit.count(kit.machine(p), steps, { "loads" }).loads
           return loads == 2 * f.loads, nil, { got = loads }
        end,
        right = "It has {got} loads.",
        otherwise = "It has {got} loads; twice {loads} are wanted.",
        solution = "return { { loop = 200, { ip = 0x1000, ns = 10, events = { loads = 1 } } } }",
        mistake = "return { { loop = 100, { ip = 0x1000, ns = 10, events = { loads = 1 } } } }",
        hints = { "Make the loop longer." } },
   },
}
