-- SPDX-License-Identifier: MIT
-- Figures 3.28, 3.29, 3.30: samples in the buffer; and sampling formats written by students.

local lpfm = require "lpfm"

local UUID = "4d72bec0-0664-4143-82b4-d3fd27243c97" -- the default format of section 3.6
local SAMPLE, VALUE = 40, 8 -- bytes of a sample's header and of a PMD
local LOOP = { { ip = 0x1000, ns = 10, events = { loads = 1, stores = 1, fp_ops = 2 } } }

local function word(bytes, offset, size)
   local value = 0
   for i = size, 1, -1 do value = value * 256 + bytes:byte(offset + i) end
   return value
end

-- Runs the program; returns the bytes of the buffer, its header, and the place of the first sample.
local function record(kit, p, buf_size, pmds)
   local m = kit.machine(p)
   local tid = assert(m:spawn { program = { { loop = p.rounds, LOOP[1] } } })
   local ctx = kit.context { format = UUID, buf_size = buf_size }
   for num, event in pairs { [4] = "loads", [5] = "stores", [7] = "fp_ops" } do
      ctx:write_pmcs { { num = num, value = assert(m:encode(event, num)) } }
   end
   ctx:write_pmds(pmds)
   local first = ctx.ctx:buffer():header().cur_offs
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   local buffer = ctx.ctx:buffer()
   local bytes, header = buffer:snapshot(), buffer:header()
   ctx:close()
   return bytes, header, first
end

local function period(num, n, smpl_pmds)
   return { num = num, value = -n, short_reset = -n, long_reset = -n, smpl_pmds = smpl_pmds }
end

-- Finds the values of PMDs in a sample: figure 3.28.
local function sample_body(kit, p)
   local bytes, header, first = record(kit, p, 4096, { period(4, p.period, { 5, 7 }), { num = 5 }, { num = 7 } })
   local at = first + SAMPLE
   return { first = first, ovfl_pmd = word(bytes, first + 8, 2), body = at, pmd5 = word(bytes, at, 8),
      pmd7 = word(bytes, at + VALUE, 8), next_sample = header.cur_offs, sample = SAMPLE, value = VALUE,
      sample_total = header.cur_offs - first, header_only = first + SAMPLE, one_value = first + SAMPLE + VALUE }
end

-- Lets counters overflow at once: figure 3.29.
local function at_once(kit, p)
   local bytes, header, first = record(kit, p, 4096, { period(4, p.period), period(5, p.period), { num = 7 } })
   local second = first + SAMPLE
   return { simultaneous = header.count, first_pmd = word(bytes, first + 8, 2), second_pmd = word(bytes, second + 8, 2),
      first_time = word(bytes, first + 24, 8), second_time = word(bytes, second + 24, 8), counters = 2 }
end

-- Fills the buffer: it is full when the largest sample would not fit any more (figure 3.30).
local function full(kit, p, f)
   kit.machine(p)
   local largest = SAMPLE + VALUE * #lpfm.pmds()
   local size = f.first + p.fits * SAMPLE + largest - VALUE
   local _, header = record(kit, p, size, { period(4, p.period / 6), { num = 5 }, { num = 7 } })
   return { largest = largest, size = size, left_before = size - f.first - (p.fits - 1) * SAMPLE,
      left_after = size - f.first - p.fits * SAMPLE, count = header.count, full = header.overflows,
      wasted = size - header.cur_offs, headers_that_fit = math.floor((size - f.first) / SAMPLE) }
end

-- Makes a loop of instructions at three addresses, each of which loads.
local function places(n)
   local body = { loop = n }
   for i = 1, 3 do body[i] = { ip = i * 0x1000, ns = 10, events = { loads = 1 } } end
   return { body }
end

-- Makes loops at random addresses, which no script can know beforehand.
local function unseen(kit)
   local out = {}
   for i = 1, 3 do
      local load = { ip = 0x1000 * i + 16 * kit.draw(0, 200), ns = 10, events = { loads = 1 } }
      out[i] = { loop = kit.draw(100, 400), load }
   end
   return out
end

local function counting()
   return { name = "count", init = function(self) self.n = 0 end,
      handler = function(self)
         self.n = self.n + 1
         return "RESET"
      end,
      calls = { result = function(self) return self.n end } }
end

local function stopping()
   return { name = "stop", init = function(self) self.n = 0 end,
      handler = function(self)
         self.n = self.n + 1
         return "MASK"
      end,
      calls = { result = function(self) return self.n end } }
end

local function own(kit, p)
   return { overflows = assert(kit.try_format(p, counting(), places(p.places), p.every)), loads = 3 * p.places,
      rounds_over = p.places / p.every, masked = assert(kit.try_format(p, stopping(), places(p.places), p.every)) }
end

return {
   number = 14,
   title = "Sampling formats: bytes of a buffer, and one of your own",
   goals = { "read a sample by its bytes", "know when a buffer is full", "write a sampling format in Lua",
      "say what a format's answer makes the kernel do" },
   read = { "sections 3.5 and 3.6 of the specification, figures 3.28 to 3.30", "at the prompt: ?register_format",
      "spec/vm/format: a format in C for the kernel" },
   figures = { "3.28", "3.29", "3.30" },
   teacher = [[
      A sample's body is ordered by the numbers of PMDs, and not by the order in which one asked for them. Let students
      ask for them in another order: they find it themselves.

      The handler runs at the overflow, in the place of the program: what it does costs the program's time. Ask for each
      handler what the tool would have had to do instead.

      A format in C is the lab's second part: `make vm LAB=formats FORMAT=DIR` builds it, and boots a machine that can
      load it.
   ]],
   params = { model = "itanium2", rounds = 1000, period = 600, fits = 3, every = 10, places = 300 },
   draw = { places = { 240, 270, 300, 330 }, every = { 5, 10, 15 } },
   pages = {
      { text = [[
         A sampling format decides what happens at an overflow. The default one writes a sample into a buffer: a header
         of {sample} bytes, then the PMDs that were asked for, {value} bytes each. The buffer itself has a header of
         {first} bytes, as section 3.6 lays it out; the layout of perfmon2 2.x, which `format = "default"` names and the
         other labs use, has a longer one. Samples follow each other without gaps.
      ]],
        ask = "PMD4 overflows, and records PMD5 and PMD7. At which offset of the buffer is the first sample's PMD5?",
        id = "body", unit = "bytes",
        run = sample_body,
        show = { { "sample starts at", "first" }, { "ovfl_pmd of the sample", "ovfl_pmd" }, { "body starts at",
        "body" },
           { "first value of the body, PMD5", "pmd5" }, { "second value of the body, PMD7", "pmd7" } },
        answer = "body",
        right = "Behind the header of the buffer and that of the sample; the lower PMD comes first.",
        wrong = { { is = "first", say = "There the sample begins, with its header of {sample} bytes: {body}." },
           { is = "one_value", say = "That is PMD7: the values are ordered by number. {body}." } },
        otherwise = "{first} bytes of the buffer's header, {sample} of the sample's: {body}.",
        hints = { "Two headers come before it." } },
      { ask = "Where does the next sample begin?", id = "next", unit = "bytes",
        run = function() return {} end, show = { { "next sample starts at", "next_sample" } },
        answer = "next_sample",
        right = "{sample_total} bytes for a sample with two PMDs.",
        wrong = { { is = "header_only", say = [[That is the body of the first one; its two values come before the
           next.]] },
           { is = "one_value", say = "There is another value: {next_sample}." } },
        otherwise = "The body has two values of {value} bytes: {next_sample}.",
        hints = { "How many bytes has the body?" } },
      { text = "PMD4 and PMD5 overflow at the same moment.",
        ask = "How many samples does the format write?", id = "at-once",
        run = at_once,
        show = { { "simultaneous overflows, samples", "simultaneous" }, { "first sample, ovfl_pmd", "first_pmd" },
           { "second sample, ovfl_pmd", "second_pmd" }, { "first sample, time stamp", "first_time" },
           { "second sample, time stamp", "second_time" } },
        answer = "simultaneous",
        right = "One for each PMD, the lower first. Equal time stamps tell that they belong together.",
        wrong = { { is = function() return 1 end, say = [[A sample has one ovfl_pmd, so each overflow has its own:
           {simultaneous}.]] } },
        otherwise = "One for each PMD that overflowed: {simultaneous}.",
        hints = { "The header of a sample has a field for one PMD." } },
      { text = [[
         After each sample the format checks whether the largest one there can be would still fit: its header and all
         PMDs, {largest} bytes. If not, the buffer is full. This buffer has {size} bytes, and a sample is a header
         alone.
      ]],
        ask = "How many samples has it when it is full?", id = "full",
        run = full,
        show = { { "largest sample", "largest" }, { "buffer size", "size" }, { "left one sample earlier",
        "left_before" },
           { "left when full", "left_after" }, { "samples when full", "count" }, { "times full", "full" },
           { "wasted", "wasted" } },
        answer = "count",
        right = [[{left_before} bytes were enough, {left_after} are not. They are wasted: that is the price of a check
           which does not know the next sample. It is made after the samples of an overflow are written; when several
           PMDs overflow at the same moment, those that do not fit are lost all the same (section 3.6.5).]],
        wrong = { { is = "headers_that_fit", say = [[So many would fit. But the format cannot know that the next one is
           small: {count}.]] } },
        otherwise = "After {count} samples {left_after} bytes are left, less than {largest}.",
        hints = { "When is less left than the largest sample?", [[Subtract the buffer's header, then one sample after
           the other.]] } },
      { text = [[
         A format of your own has a handler, called at each overflow. What it returns is what the kernel does: RESET
         loads the short period, MASK stops monitoring until a restart, NOTIFY tells the tool. Here is one that counts:

            { name = "count",
              init = function(self) self.n = 0 end,
              handler = function(self, overflow) self.n = self.n + 1  return "RESET" end,
              calls = { result = function(self) return self.n end } }

         The program loads {loads} times, and the counter of loads has a period of {every}.
      ]],
        ask = "What is the result?", id = "count",
        run = own, show = { { "overflows counted", "overflows" } },
        answer = "overflows",
        right = "An overflow for each period. Nothing was written anywhere, and no tool was woken.",
        wrong = { { is = "loads", say = "The handler runs at overflows, not at events: {overflows}." },
           { is = "rounds_over", say = "Each round loads three times: {overflows}." } },
        otherwise = "{loads} loads, one overflow in {every}: {overflows}.",
        hints = { "How often does the counter overflow?" } },
      { ask = "And if the handler returns MASK instead of RESET?", id = "mask",
        run = function() return {} end, show = { { "with MASK instead of RESET", "masked" } },
        answer = "masked",
        right = "Monitoring stops at the first overflow, and nobody restarts it.",
        wrong = { { is = "overflows", say = "Masked, the counter stands still: {masked}." },
           { is = function() return 0 end, say = "The handler runs once, before monitoring stops." } },
        otherwise = "After the first overflow nothing is counted any more: {masked}.",
        hints = { "Who restarts monitoring here?" } },
      { vary = [[`try(format)` runs a format on that program and returns what its query function `result` says;
           `count()` is the format of the page before. Let the handler keep `overflow.ip`, or `overflow.tstamp`, or
           return MASK after the tenth overflow.]],
        setup = function(kit, p)
           return { count = counting,
              try = function(format) return kit.try_format(p, format, places(p.places), p.every) end }
        end },
      { task = "histogram", kind = "script",
        todo = [[
           Write a script that returns a format with a query function `result` that returns, as a table, how many
           overflows there were at each address. It may begin so:

              return {
                 name = "histogram",
                 init = function(self) self.hits = {} end,
                 handler = function(self, overflow) return "RESET" end,
                 calls = { result = function(self) return self.hits end },
              }
        ]],
        check = function(kit, p, format)
           if type(format) ~= "table" then return false, "The script returns no table." end
           local program = unseen(kit)
           local hits, err = kit.try_format(p, format, program, p.every)
           if hits == nil and err then return false, "It does not work: {err}", { err = err } end
           if type(hits) ~= "table" then return false, "Its query function `result` returns no table." end
           local samples = kit.sample(kit.machine(p), program, { event = "loads", period = p.every })
           local want, same, n = kit.by_address(samples), true, 0
           for ip, count in pairs(want) do same, n = same and hits[ip] == count, n + count end
           for ip in pairs(hits) do same = same and want[ip] ~= nil end
           return same, nil, { n = n }
        end,
        right = "All {n} overflows are where the samples of the default format are.",
        otherwise = "There were {n} overflows; the table does not say where.",
        solution = [[return {
   name = "histogram",
   init = function(self) self.hits = {} end,
   handler = function(self, overflow)
      self.hits[overflow.ip] = (self.hits[overflow.ip] or 0) + 1
      return "RESET"
   end,
   calls = { result = function(self) return self.hits end },
}]],
        mistake = [[return {
   name = "histogram",
   init = function(self) self.hits = {} end,
   handler = function(self, overflow) return "RESET" end,
   calls = { result = function(self) return self.hits end },
}]],
        hints = { "`overflow.ip` is the address.", "self.hits[overflow.ip] is nil at first: `or 0` helps." } },
   },
}
