-- SPDX-License-Identifier: MIT
-- Figure 3.27: skid, and what the event address registers record.

local DATA = 0x100000

-- Makes a program of p.body instructions; that at p.miss misses the cache, for p.latency cycles.
local function program(p, rounds)
   local body = { loop = rounds or p.rounds }
   for i = 1, p.body do body[i] = { ip = 0x1000 + 0x10 * i, ns = p.ns } end
   body[p.miss].events = { l2_misses = 1, dear_events = 1 }
   body[p.miss].data, body[p.miss].latency = DATA, p.latency
   return { body }
end

local function name_of(address)
   return "I" .. math.floor((address - 0x1000) / 0x10)
end

-- Returns how many samples of L2 misses each instruction has, by name, the most sampled first.
local function sampled(kit, p, skid)
   local m = kit.machine(p, { skid = skid })
   local samples = kit.sample(m, program(p), { event = "l2_misses", period = p.period })
   local by, out = kit.by_address(samples), {}
   for ip, n in pairs(by) do out[#out + 1] = { name = name_of(ip), n = n } end
   table.sort(out, function(a, b) return a.n > b.n end)
   return out
end

local function names(list)
   local out = {}
   for i, entry in ipairs(list) do out[i] = entry.name end
   return out
end

local function figure(kit, p)
   local none, some = sampled(kit, p, 0), sampled(kit, p, p.skid)
   return { culprit = "I" .. p.miss, precise = names(none), skewed = names(some), blamed = some[1].name,
      before = "I" .. (p.miss - p.skid), neighbour = "I" .. (p.miss + 1), samples_of = some[1].n }
end

-- Returns what the D-EAR of the Itanium 2, its register of data addresses, records.
local function ear(kit, p)
   local m = kit.machine(p, { skid = p.skid })
   local tid = assert(m:spawn { program = program(p, 1) })
   local ctx = kit.context()
   ctx:write_pmcs { { num = 4, value = assert(m:encode("dear_events", 4)) },
      { num = 11, value = p.dear } }
   ctx:write_pmds { { num = 4, value = 0 } }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   local regs = ctx:read_pmds { 2, 3, 17 }
   return { ear_address = kit.hex(regs[1].value), ear_latency = tonumber(tostring(regs[2].value % 0x2000)),
      ear_instruction = name_of(regs[3].value - regs[3].value % 16) }
end

local function setup(kit, p)
   return { sampled = function(skid)
      return table.concat(names(sampled(kit, p, skid == "model" and skid or kit.whole(skid, "skid", 0))), " ")
   end }
end

return {
   number = 5,
   title = "Skid and precise sampling",
   goals = { "explain why a sample's address is not that of the event", "predict which instruction is blamed",
      "read the address, the latency and the instruction of a miss from the event address registers" },
   read = { "section 3.6.4 of the specification, figure 3.27",
      "section 5 of the specification, on the registers of Itanium" },
   figures = { "3.27" },
   teacher = [[
      Students trust addresses. Have them look for the load at the place that the profile shows, and find none.

      Skid is not constant on real processors; here it is, so that it can be predicted. On a real one ask for its
      distribution instead. A skid of 0 is of this simulated computer alone: an ordinary interrupt reports the
      instruction after the one that overflowed at best, and early PEBS does the same. The option `skid = "model"` of
      `lpfm.machine` has as many instructions as the processor of the model keeps in flight.

      The nearest relative of Itanium's data EAR is PEBS with a threshold of latency on Intel's processors: the hardware
      chooses some loads and follows them, not all. Plain PEBS writes a record when a counter overflows; AMD's IBS marks
      an operation by chance, whatever events it causes. All of them have in common that hardware writes down what it
      did, instead of an interrupt which comes later and looks around.
   ]],
   params = { model = "itanium2", body = 8, miss = 3, ns = 10, rounds = 1005, period = 10, skid = 2, latency = 200,
      dear = 5 * 2 ^ 16 + 8 },
   draw = { skid = { 1, 2 }, latency = { 150, 200, 250, 300 }, body = { 8, 9, 10 } },
   pages = {
      { text = [[
         A counter overflows, and asks for an interrupt. Until the processor takes it, it has executed a few
         instructions more. The address in the sample is that where the interrupt came; the distance is called skid.
         (While interrupts are masked, none comes at all: what happens then is sampled where they are let in again.)

         The loop of this lab has {body} instructions, I1 to I{body}; {culprit} is a load that misses the cache each
         time, and nothing else does. This processor's skid is {skid} instructions, by the option `skid` of
         `lpfm.machine`; a laptop's changes from sample to sample.
      ]],
        ask = "We sample cache misses. Which instruction is in the samples?", id = "blamed", kind = "words",
        run = figure, show = { { "in the samples, without skid", "precise" }, { "in the samples, with skid",
        "skewed" } },
        answer = "blamed",
        right = "The counter overflows at {culprit}, and the interrupt comes {skid} instructions later.",
        wrong = { { is = "culprit", say = "That is who did it. But the interrupt comes later, at {blamed}." },
           { is = "before", say = "Later, not earlier: {blamed}." } },
        otherwise = "It is {blamed}: {skid} instructions behind {culprit}.",
        hints = { "Where is the processor when the interrupt comes?" } },
      { vary = [[`sampled(skid)` prints which instructions are in the samples with another skid. With which skid is the
           load blamed again? What would a profile by line of source show?]], setup = setup },
      { task = "around", todo = "What is the smallest skid above 0 with which {culprit} itself is in the samples?",
        setup = setup,
        run = function(kit, p)
           for skid = 1, 2 * p.body do
              if sampled(kit, p, skid)[1].name == "I" .. p.miss then return { around = skid,
                 loop_once = p.body + 1 } end
           end
        end,
        answer = "around",
        right = "Once round the loop: the right address for the wrong reason.",
        wrong = { { is = "loop_once", say = "One too far." }, { is = "skid", say = "With that, {blamed} is blamed." } },
        otherwise = "Try `sampled(skid)` at the prompt.",
        hints = { "The loop goes round." } },
      { text = [[
         Itanium has registers which write down a load that missed: its data address (PMD2), how many cycles it took
         (PMD3), and its instruction (PMD17). They do not depend on where the interrupt comes. The hardware follows one
         load at a time; here there is only one that misses, and the memory answers it after {latency} cycles.
      ]],
        ask = "Which instruction does PMD17 name?", id = "ear", kind = "words",
        run = ear,
        show = { { "data address", "ear_address" }, { "instruction", "ear_instruction" } },
        answer = "ear_instruction",
        right = "The load itself, though the skid is {skid} still: the hardware wrote it down when it happened.",
        wrong = { { is = "blamed", say = [[That is where an interrupt would come. The register was written when the load
           missed.]] } },
        otherwise = "The load itself, {ear_instruction}.",
        hints = { "When is the register written: at the miss, or at the interrupt?" } },
      { ask = "How many cycles did the load take, as PMD3 says?", id = "latency",
        run = function() return {} end, show = { { "latency, cycles", "ear_latency" } },
        answer = "ear_latency",
        right = "With a threshold on the latency one samples the slow loads alone: PMC11 has it.",
        wrong = { { is = "ns", say = "That is the instruction without its miss; the load took {ear_latency}." } },
        otherwise = "It took {ear_latency} cycles, as long as the memory takes to answer.",
        hints = { "After how many cycles does the memory answer?" } },
      { task = "repair", kind = "script",
        todo = [[
           One can correct addresses by hand where the skid is known. Write a script that returns a function: it gets
           the number of the instruction in a sample, the skid and the number of instructions of the loop, and returns
           the number of the instruction that overflowed:

              return function(sampled, skid, body)
                 return sampled
              end
        ]],
        check = function(kit, p, fn)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           for _, body in ipairs { p.body, p.body + 3 } do
              for miss = 1, body do
                 local q = { model = p.model, ns = p.ns, rounds = 3 * p.period + 5, period = p.period,
                    latency = p.latency, body = body, miss = miss }
                 local skid = (miss * 5 + 1) % (body + 4)
                 local seen = tonumber(sampled(kit, q, skid)[1].name:sub(2))
                 local got = fn(seen, skid, body)
                 if got ~= miss then
                    return false, nil, { at = skid, seen = seen, got = tostring(got), long = body, load = "I" .. miss }
                 end
              end
           end
           return true
        end,
        right = "The load is found with every skid, wherever in the loop it is.",
        otherwise = [[In a loop of {long} instructions, with a skid of {at} and I{seen} in the sample, it says {got};
           the load is {load}.]],
        solution = "return function(sampled, skid, body) return (sampled - skid - 1) % body + 1 end",
        mistake = "return function(sampled, skid) return sampled - skid end",
        hints = { "Go back as many instructions as the skid.", [[Behind the first one comes the last: a remainder
           helps.]] } },
   },
}
