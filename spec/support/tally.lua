-- SPDX-License-Identifier: MIT
-- Output handler for busted: prints a line per spec file, failures in full and reasons for
-- skipping, and writes the counts for spec/run.
local files = require "support.files"

return function()
   local handler = require "busted.outputHandlers.base"()
   local busted = require "busted"
   local lpfm = require "lpfm"
   local handles = require "support.handles"
   require "support.explain"
   local proc = require "lpfm.proc"
   local LONG = 5 -- s; the time of a file is printed if it is longer
   local file_counts, open_before, formats_before, begun

   local function describe(element)
      local trace = element.trace or {}
      local name = handler.getFullName(element)
      io.write("   FAILED ", name, "\n")
      if trace.short_src then
         io.write("      at ", trace.short_src, ":", trace.currentline or 0, "\n")
      end
   end

   -- Sets the machine that each file begins on, whichever the file before has left.
   local function usual_machine()
      return assert(lpfm.machine(os.getenv("LPFM_MACHINE") or "perf"))
   end

   -- Returns the registered formats; "" on perfmon.ko, where the kernel loads and unloads formats.
   local function formats()
      local names = {}
      if usual_machine().name == "linux" then return "" end
      for i, format in ipairs(lpfm.formats()) do names[i] = format.name end
      return table.concat(names, " ")
   end

   -- Counts a failure if a spec file has left something open or registered.
   local function check_leaks(file)
      local open = handles.settled(open_before)
      local left = formats()
      if open <= open_before and left == formats_before then return end
      file_counts.failure = file_counts.failure + 1
      handler.failuresCount = handler.failuresCount + 1
      io.write("   FAILED ", file.name, " leaves ", open - open_before, " descriptors or sampling buffers open; ",
         "formats: ", left, "\n", (handles.list():gsub("[^\n]+", "      %0")), "\n")
   end

   -- The file in which spec/run finds the name of the test that runs. It exists until the end, so
   -- that spec/run can report a run that dies or hangs.
   local now = os.getenv("LPFM_NOW")

   local function note(text)
      if not now then return end
      files.write(now, text .. "\n")
   end

   handler.fileStart = function()
      usual_machine()
      open_before, formats_before = handles.settled(), formats()
      begun = proc.clock()
      note("its beginning")
      file_counts = { success = 0, failure = 0, error = 0, pending = 0 }
      return nil, true
   end

   handler.fileEnd = function(file)
      check_leaks(file)
      local c = file_counts
      local bad, seconds = c.failure + c.error, proc.clock() - begun
      io.write(string.format("%-7s %-46s %4d passed%s%s%s\n", os.getenv("LPFM_LUA") or "", file.name, c.success,
         bad > 0 and (", " .. bad .. " failed") or "", c.pending > 0 and (", " .. c.pending .. " skipped") or "",
         seconds > LONG and (", %.0f s"):format(seconds) or ""))
      io.flush()
      return nil, true
   end

   handler.testStart = function(element)
      note(handler.getFullName(element))
      return nil, true
   end

   handler.testEnd = function(_, _, status)
      if file_counts then
         file_counts[status] = file_counts[status] + 1
      end
      return nil, true
   end

   local function on_problem(element, _, message, trace)
      describe(element)
      local text = type(message) == "string" and message or (message and message.message) or require("inspect")(message)
      io.write("      ", (tostring(text):gsub("\n", "\n      ")), "\n")
      if trace and trace.traceback and os.getenv("LPFM_TRACE") then
         io.write(trace.traceback, "\n")
      end
      return nil, true
   end

   handler.suiteEnd = function()
      for _, t in ipairs(handler.pendings) do
         local reason = type(t.message) == "string" and t.message or "pending"
         io.write("   skipped ", t.name, ": ", reason, "\n")
      end
      local bad = handler.failuresCount + handler.errorsCount
      local tally = os.getenv("LPFM_TALLY")
      if tally then
         local f = assert(io.open(tally, "a"))
         f:write(string.format("%d %d %d\n", handler.successesCount, bad, handler.pendingsCount))
         f:close()
      end
      if now then os.remove(now) end
      return nil, true
   end

   busted.subscribe({ "file", "start" }, handler.fileStart)
   busted.subscribe({ "file", "end" }, handler.fileEnd)
   busted.subscribe({ "test", "start" }, handler.testStart, { predicate = handler.cancelOnPending })
   busted.subscribe({ "test", "end" }, handler.testEnd, { predicate = handler.cancelOnPending })
   busted.subscribe({ "failure" }, on_problem)
   busted.subscribe({ "error" }, on_problem)
   busted.subscribe({ "suite", "end" }, handler.suiteEnd)
   return handler
end
