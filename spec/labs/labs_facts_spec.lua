-- SPDX-License-Identifier: MIT
-- What labs say of the machine, the specification and other labs is true: where possible, a run
-- shows it; sentences about real processors are searched for the words that they must contain.
-- Second interpreter, all: the simulated computer's work takes most of it, and labs_spec.lua has
-- the same figures.

local lpfm = require "lpfm"
local catalog = require "repl.lab.catalog"
local help = require "repl.prompt.help"
local kit = require "labs.kit"
local session = require "repl.lab.session"
local text = require "repl.lab.text"
local validate = require "repl.lab.validate"

local machine

setup(function() machine = lpfm.machine().name end)
teardown(function() assert(lpfm.machine(machine)) end)

-- Runs all pages of a lab; returns the session, and a table of the pages by the names of their
-- questions and tasks.
local function played(name, params)
   local s = session.new(assert(catalog.find(name)), { params = params })
   s:run_up_to(#s.lab.pages)
   local pages = {}
   for i, page in ipairs(s.lab.pages) do pages[page.id or page.task or i] = page end
   return s, pages
end

-- Returns the text of a template with the session's figures, on one line.
local function said(s, template)
   return (text.fill(template, s.figures):gsub("%s+", " "))
end

local function says(where, what, pattern)
   assert.truthy(what:gsub("%s+", " "):find(pattern), where .. " does not say: " .. pattern)
end

describe("what labs say of perfmon", function()
   it("bias: the random bits shorten a period, from the longest down to what the mask leaves", function()
      local s, pages = played "bias"
      local m, least, most = kit.machine { model = "itanium2" }, math.huge, 0
      local samples = kit.sample(m, { { loop = 4000, { ip = 0x1000, ns = 10, events = { loads = 1 } } } }, {
         event = "loads", pmd = { value = -s.figures.longest, short_reset = -s.figures.longest,
            long_reset = -s.figures.longest, flags = { "RANDOM" }, random_mask = s.figures.mask, random_seed = 7 } })
      for i = 2, #samples do
         local period = tonumber(tostring(samples[i].tstamp - samples[i - 1].tstamp)) / 10
         least, most = math.min(least, period), math.max(most, period)
      end
      assert.same({ 1, s.figures.longest }, { least, most })
      says("bias", said(s, pages.random.text), ("shorter: %%-%d and up to %d make periods from %d to %d%%."):format(
         s.figures.longest, s.figures.mask, least, most))
   end)

   it("formats: a full buffer has still lost samples when PMDs overflow at once (3.6.5)", function()
      local s, pages = played "formats"
      -- Two PMDs overflow with one instruction; there is room for one sample that has all PMDs.
      local m = kit.machine { model = s.params.model }
      local both = { ip = 0x1000, ns = 10, events = { loads = 1, stores = 1 } }
      local tid, ctx = assert(m:spawn { program = { { loop = 100, both } } }),
         kit.context { format = "default", buf_size = s.figures.size }
      local all = {}
      for i, pmd in ipairs(lpfm.pmds()) do all[i] = pmd.num end
      for num, event in pairs { [4] = "loads", [5] = "stores" } do
         ctx:write_pmcs { { num = num, value = assert(m:encode(event, num)) } }
         ctx:write_pmds { { num = num, value = -100, smpl_pmds = all } }
      end
      ctx:load(tid)
      ctx:start()
      assert(m:run { until_exit = tid })
      assert.equal(1, ctx.ctx:buffer():header().count, "samples of two overflows")
      kit.finish()
      says("formats", pages.full.right, "at the same moment, those that do not fit are lost")
      for _, page in ipairs(s.lab.pages) do
         for _, template in ipairs(validate.texts(page)) do assert.is_nil(template:find "never los") end
      end
   end)

   it("skid: no event comes while interrupts are masked, and an exact address is not what interrupts give", function()
      local s, pages = played "skid"
      assert.equal("I3", s.figures.precise[1], "skid 0")
      says("skid", pages.blamed.text, "While interrupts are masked, none comes")
      says("skid", s.lab.teacher, "A skid of 0 is of this simulated computer alone")
      assert.is_nil(s.lab.teacher:find "last load")
      for _, fact in ipairs { "an ordinary interrupt reports the instruction after",
         "nearest relative of .- is PEBS with a threshold of latency",
         "IBS marks an operation by chance, whatever events it causes" } do says("skid", s.lab.teacher, fact) end
   end)
end)

describe("what labs say of caches, translations and branches", function()
   it("caches: strips over the full height miss no more than blocks, which is once for each line", function()
      local s, pages = played "caches"
      local function misses(source)
         local right, _, figures = s:judge_value(pages.transpose, assert(loadstring(source))())
         assert.is_true(right)
         return figures.misses
      end
      local strips = [[local order, last = {}, %d
         for jj = 0, last, 8 do
            for i = 0, last do
               for j = jj, jj + 7 do order[#order + 1] = { i, j } end
            end
         end
         return order]]
      local lines = 2 * s.params.dim ^ 2 / 8
      assert.same({ lines, lines }, { misses(strips:format(s.params.dim - 1)), misses(pages.transpose.solution) })
      says("caches", s.lab.teacher, "Strips of a line's width over the full height reach the same minimum")
      for _, hint in ipairs(pages.transpose.hints) do assert.is_nil(hint:find "as high as", hint) end
   end)

   it("tlb: larger pages reach farther with as many entries here, which is not so on real processors", function()
      local s = played "tlb"
      for _, fact in ipairs { "entries of their own for large pages, and fewer", "4 KiB, 2 MiB and 1 GiB on x86%-64",
         "this lab's pages are made up" } do says("tlb", s.lab.teacher, fact) end
      assert.is_nil(s.lab.teacher:find "transistor")
   end)

   it("tlb and branches: there is one level, and nothing but branches, where costs are as large as can be", function()
      local caches = kit.machine({ model = "k8" }, { dtlb = "65536:16:4096" }):caches(0)
      local levels = {}
      for _, cache in ipairs(caches) do if cache.name:find "TLB" then levels[#levels + 1] = cache.name end end
      table.sort(levels)
      assert.same({ "DTLB", "ITLB" }, levels)
      says("tlb", played("tlb").lab.teacher, "a second level of TLB, or caches for page tables")
      says("branches", played("branches").lab.teacher, "nothing but branch, so the factor .- is the largest")
   end)

   it("branches: what the teacher is told of conditional moves is not promised of the lab", function()
      local s = played "branches"
      says("branches", s.lab.teacher, "this computer has none, so it is a matter for the blackboard")
      assert.is_nil(s.lab.teacher:find "task's discussion")
   end)

   it("threads: false sharing is shown in its worst case, and the machine shows how a laptop differs", function()
      local s = played "threads"
      assert.is_true(s.figures.near > 0.9 * s.figures.both, "stores that miss without buffers")
      assert.is_true(s.figures.combined < s.figures.near / 4, "stores that miss with buffers")
      says("threads", s.lab.teacher, "worst case, a miss at nearly every store, of a computer without store buffers")
      says("threads", s.lab.teacher, "Nor do their PMUs count misses by cause: .-HITM.-machine clears.-perf c2c")
   end)
end)

describe("questions of labs", function()
   it("of stacks: none is an opinion, and none has the top of the flat list as what to mend", function()
      local s = played "stacks"
      assert.is_nil(s.figures.hottest:find "parse")
      for _, page in ipairs(s.lab.pages) do
         if page.ask or page.task and page.kind ~= "script" then
            assert.not_equal(s.figures.hottest, validate.right(page, s.figures), page.id or page.task)
            assert.is_nil((page.ask or page.todo):find "would you")
         end
      end
   end)

   it("of skid: the cycles of the load can be read before they are asked for, whatever they are", function()
      for _, latency in ipairs { 200, 250 } do
         local s, pages = played("skid", { latency = latency })
         local before = {}
         for _, page in ipairs(s.lab.pages) do
            if page == pages.latency then break end
            before[#before + 1] = page.text and said(s, page.text)
         end
         assert.equal(tostring(latency), validate.right(pages.latency, s.figures))
         says("skid", table.concat(before, " "), "after " .. latency .. " cycles")
      end
   end)

   -- Returns the names that the prompt has on the page of a task.
   local function prompt_of(s, pages, task)
      for i, page in ipairs(s.lab.pages) do
         if page == pages[task] then s.index = i end
      end
      return s:globals(function() end)
   end

   it("of skid: one instruction is in the samples, with whatever skid", function()
      local s, pages = played "skid"
      local sampled = prompt_of(s, pages, "around").sampled
      for skid = 0, 2 * s.params.body do assert.truthy(sampled(skid):find("^I%d+$"), skid .. ": " .. sampled(skid)) end
   end)

   it("of bias: twice the period sees as many instructions as the period, and not all", function()
      local s, pages = played "bias"
      local shares = prompt_of(s, pages, "period").shares
      assert.equal(shares(s.params.period), shares(s.figures.double))
      says("bias", said(s, pages.period.wrong[1].say), "some instructions are never seen")
      assert.is_nil(pages.shares.ask:find "you have named", "what was answered does not change what is asked")
   end)

   it("of branches and caches: what is counted at the prompt is one value", function()
      for name, call in pairs { branches = { "worst", "wrong", "TTN" }, caches = { "size", "why", 5, 1024, 10 } } do
         local s, pages = played(name)
         assert.equal(1, select("#", prompt_of(s, pages, call[1])[call[2]](unpack(call, 3))), name)
      end
   end)

   it("of statistics: who answers what an interval and a level promise is right, whatever the seed", function()
      for _, loads in ipairs(assert(catalog.find "statistics").draw.loads) do
         local s, pages = played("statistics", { loads = loads })
         assert.is_true(s:judge(pages.hold, tostring(s.figures.confidence)), "intervals: " .. s.figures.hold)
         assert.is_true(s:judge(pages.alarms, tostring(s.figures.level_percent)), "alarms: " .. s.figures.found)
      end
   end)

   it("say of how near a number has to be what that is a part of", function()
      local s, pages = played "statistics"
      for i, page in ipairs(s.lab.pages) do
         if page == pages.fourfold then s.index = i end
      end
      says("statistics", table.concat(s:enter(), " "), "Within 35 %% of the right number is right%.")
   end)

   it("ask for what the machine shows: the answer of a number, of words or of digits is a figure", function()
      for _, lab in ipairs(catalog.all()) do
         for _, page in ipairs(lab.pages) do
            if page.answer and page.kind ~= "choice" then
               assert.is_true(type(page.answer) ~= "number", lab.name .. ": " .. (page.id or page.task))
            end
         end
      end
   end)
end)

describe("what labs refer to", function()
   -- Returns all texts of a lab, its teacher's page too.
   local function texts_of(lab)
      local out = { lab.teacher, table.concat(lab.goals, " "), table.concat(lab.read, " ") }
      for _, page in ipairs(lab.pages) do
         for _, template in ipairs(validate.texts(page)) do out[#out + 1] = template end
      end
      return (table.concat(out, " "):gsub("%s+", " "))
   end

   it("is there: labs by number and name, and pages of help", function()
      local numbers = {}
      for _, lab in ipairs(catalog.all()) do numbers[tostring(lab.number)] = lab.name end
      for _, lab in ipairs(catalog.all()) do
         local all = texts_of(lab)
         for number in all:gmatch "%f[%a][Ll]ab (%d+)" do
            assert.truthy(numbers[number], lab.name .. ": lab " .. number)
         end
         for one, other in all:gmatch "%f[%a][Ll]abs (%d+) and (%d+)" do
            assert.truthy(numbers[one] and numbers[other], lab.name)
         end
         for name in all:gmatch "lpfm lab ([%w-]+)" do
            assert.truthy(catalog.find(name), lab.name .. ": lab " .. name)
         end
         for name in (all:gsub("lpfm help ", "?")):gmatch "%f[?]%?([%a_][%w_]*)" do
            assert.truthy(help.of_name(name), lab.name .. ": help on " .. name)
         end
      end
   end)
end)
