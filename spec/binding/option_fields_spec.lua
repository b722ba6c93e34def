-- SPDX-License-Identifier: MIT
-- Tables of options: an unknown field is an error that names the nearest known one.

local fields = require "pfm.util.fields"

local command = { "true" }

-- Asserts that fn raises this message.
local function refused(message, fn, ...)
   local ok, err = pcall(fn, ...)
   assert.is_false(ok, message)
   assert.equal(message, type(err) == "table" and err.message or err)
end

describe("a table of choices with a name that is not known is refused by", function()
   it("count.run, count.prepare and count.times", function()
      local count = require "pfm.count"
      for _, call in ipairs { count.run, count.prepare, function(spec) return count.times(2, spec) end } do
         refused("count.run: unknown field 'commnd'; did you mean 'command'?", call,
            { commnd = command, events = "cs" })
         refused("count.run: unknown field 'event'; did you mean 'events'?", call, { command = command, event = "cs" })
         refused("count.run: unknown field 'zebra'", call, { command = command, events = "cs", zebra = 1 })
      end
      refused("count.run: unknown field '1'", count.run, { "true", events = "cs" })
   end)

   it("system.count", function()
      refused("count.run: unknown field 'secnds'; did you mean 'seconds'?", require("pfm.system").count,
         { events = "cs", secnds = 1 })
   end)

   it("profile.prepare, profile.collect and record.run, and of their random", function()
      local profile, record = require "pfm.profile", require "pfm.record"
      local function run(spec) return record.run(spec, os.tmpname()) end
      for _, call in ipairs { profile.prepare, profile.collect, run } do
         refused("profile.run: unknown field 'peroid'; did you mean 'period'?", call, { command = command, peroid = 1 })
         refused("profile.run: random: unknown field 'sed'; did you mean 'seed'?", call,
            { command = command, period = 1000, random = { mask = 15, sed = 3 } })
      end
   end)

   it("cascade.run, bias.test and perfex.run", function()
      refused("cascade.run: unknown field 'stags'; did you mean 'stages'?", require("pfm.cascade").run,
         { command = command, stags = "cs:1 then cs" })
      refused("bias.test: unknown field 'evnt'; did you mean 'event'?", require("pfm.bias").test,
         { target = { command = command }, evnt = "cs" })
      refused("perfex.run: unknown field 'event'; did you mean 'events'?", require("repl.command.perfex").run,
         { command = command, event = "cs" })
   end)

   it("the prompt's stat, job, record, report and export, by their own names", function()
      local stat, record = require "repl.command.stat", require "repl.command.record"
      refused("stat: unknown field 'thread'; did you mean 'threads'?", stat.call, { command = command, thread = true })
      refused("stat: unknown field 'evnts'; did you mean 'events'?", stat.call, "true", { evnts = "cs" })
      refused("job: unknown field 'recrod'; did you mean 'record'?", stat.job, { command = command, recrod = "x.data" })
      refused("record: unknown field 'comand'; did you mean 'command'?", record.call, { comand = command })
      refused("record: unknown field 'preiod'; did you mean 'period'?", record.call, "true", { preiod = 1 })
      refused("report: unknown option 'srt'; did you mean 'sort'?", require("repl.command.report").call,
         { srt = "pid" })
   end)
end)

describe("fields.check", function()
   it("takes what is known, and nothing", function()
      fields.check("f", { a = 1 }, { "a", "b" })
      fields.check("f", nil, { "a" })
      refused("f: unknown option 'c'", fields.check, "f", { c = 1 }, { "alpha" }, "option")
   end)
end)
