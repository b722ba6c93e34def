-- SPDX-License-Identifier: MIT
-- Raw events: rHEX is a code of the processor's manual; lpfm adds the bits of the privilege levels
-- if the register has any.
local lpfm = require "lpfm"
local events = require "pfm.events"

local program = { { loop = 1000, { ip = 0x1000, ns = 10 }, { ip = 0x1004, ns = 5, level = "kernel" } } }

-- Returns the counts of the events, and the truth: cycles at user level and in all.
local function count(model, list)
   local m = lpfm.machine("sim:" .. model)
   local parsed = assert(events.parse(list))
   local ctx = assert(lpfm.create())
   assert(ctx:write_pmcs(events.pmcs(parsed)))
   local tid = assert(m:spawn { program = program })
   assert(ctx:load(tid))
   assert(ctx:start())
   assert(m:run { until_exit = tid })
   local values = {}
   for i, event in ipairs(parsed) do
      values[i] = ctx:read_pmds({ event.pmd })[1].value
   end
   ctx:close()
   return values, parsed
end

describe("raw events", function()
   local machine = lpfm.machine().name

   teardown(function() lpfm.machine(machine) end)

   for model, code in pairs { k8 = "r76", armv8 = "r11", itanium2 = "r1200" } do
      it("count cycles by their code on " .. model, function()
         assert.are.same({ 15000, 10000, 5000 }, (count(model, ("%s,%s:u,%s:k"):format(code, code, code))))
      end)
   end

   it("take the counters that named events leave", function()
      local values, parsed = count("armv8", "r11,cycles:u,r11:k")
      assert.are.same({ 15000, 10000, 5000 }, values)
      assert.are_not.equal(parsed[1].pmd, parsed[2].pmd)
   end)

   it("say when there are more of them than counters", function()
      lpfm.machine("sim:p6")
      local parsed = assert(events.parse("r79,r79:u,r79:k"))
      assert.is_nil(parsed[2].reason)
      assert.are.equal("no counter is left for it: this machine has 2", parsed[3].reason)
   end)
end)

describe("a plan", function()
   local machine = lpfm.machine().name
   local plan = require "pfm.measure.plan"

   teardown(function() lpfm.machine(machine) end)

   it("puts raw events beside named ones, and into further sets when the counters are out", function()
      lpfm.machine("sim:p6")
      local list = assert(events.read("cycles:u,r79,r79:k,page-faults"))
      local p = assert(plan.make(list))
      assert.are.equal(2, #p.sets)
      assert.are.same({ 1 }, p.terms[list[2]][1].sets)
      assert.are.same({ 2 }, p.terms[list[3]][1].sets)
      assert.are.same({ 1, 2 }, p.terms[list[4]][1].sets)
      assert.are.equal("no counter is left for 'r79:k' beside the others", p.why)
   end)
end)
