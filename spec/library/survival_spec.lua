-- SPDX-License-Identifier: MIT
-- A recording survives the death of its recorder; the command does not, unless told otherwise.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local recording = require "pfm.recording"
local terminal = require "support.terminal"
local PATIENCE = require "support.patience"

local program = c.program
local scratch = c.folder()
local shares

setup(function() shares = c.target("shares") end)

local function await(is, what)
   local deadline = proc.clock() + PATIENCE
   while true do
      local found = is()
      if found then return found end
      assert.is_true(proc.clock() < deadline, what .. " did not come")
      lpfm.poll({}, 0.02)
   end
end

local function is_alive(pid)
   local file = io.open("/proc/" .. pid .. "/stat")
   local text = file and file:read("*a") or "(gone) X"
   if file then file:close() end
   return not text:find("%) [ZX]")
end

-- Starts a recorder of a command that writes its own ID into a file; returns recorder, ID and path.
local function start(options)
   local path, note = scratch .. "/killed.data", scratch .. "/pid"
   os.remove(path)
   os.remove(note)
   local recorder = assert(proc.spawn({ "env", "--default-signal=HUP", program, "record", "-q", "-c", "1000000", "-o",
      path, unpack(options) }, { stdout = false, stderr = false }))
   assert(recorder:go())
   local pid = await(function()
      local file = io.open(note)
      local text = file and file:read("*l")
      if file then file:close() end
      return tonumber(text or "")
   end, "the command's process id")
   return recorder, pid, path
end

local function command()
   return "--", "sh", "-c", ("echo $$ >%s/pid; exec %s 20 1"):format(scratch, shares)
end

describe("a recorder that is killed", function()
   it("leaves what was sampled, and takes the command with it", function()
      local recorder, pid, path = start { command() }
      await(function()
         local self = recording.open(path)
         return self and #self.blocks >= 2
      end, "samples in the file")
      recorder:kill("KILL")
      recorder:wait()
      local self = assert(recording.open(path))
      local n = 0
      for _ in require("pfm.recording.samples").each(self) do n = n + 1 end
      assert.is_true(n > 0)
      assert.truthy(self:warnings()[1]:find("did not end properly", 1, true))
      await(function() return not is_alive(pid) end, "the command's end")
   end)

   it("leaves the command alone with --outlive", function()
      for _, signal in ipairs { "KILL", "HUP" } do
         local recorder, pid = start { "--outlive", command() }
         recorder:kill(signal)
         recorder:wait()
         assert.is_true(is_alive(pid), signal)
         c.sh("kill " .. pid)
      end
   end)

   it("does so, too, if the signal makes a call fail that begins the measurement", function()
      local file = os.tmpname()
      finally(function() os.remove(file) end)
      files.write(file, [[
         local measure, proc = require "pfm.measure", require "lpfm.proc"
         -- without the pipe of this output, which would not end before the command
         local target = { command = { "sleep", "60" }, spawn = { stdout = false, stderr = false } }
         target.itself, target.outlive = true, true
         print(pcall(measure.run, target, {
            begin = function(child)
               print(child.pid)
               proc.kill(proc.getpid(), "HUP")
               error("it was interrupted", 0)
            end }))
      ]])
      local out = c.must("LPFM_MACHINE=perf env --default-signal=HUP " .. program .. " " .. file)
      local pid = out:match "^(%d+)\nfalse\tinterrupted\n"
      assert.is_true(is_alive(tonumber(pid)), out)
      c.sh("kill " .. pid)
   end)
end)

describe("the progress of record", function()
   it("shows samples as they come", function()
      local t = terminal.start(("sh -c '%s record -o %s/p.data -- %s 20 1 >/dev/null; exec cat'"):format(
         program, scratch, shares), { first = "lpfm record:" })
      assert.is_true(tonumber((t:wait_match("lpfm record: %d+ s, ([%d,]+) samples"):gsub(",", ""))) > 0)
      t:stop()
   end)

   it("keeps out of the command's output", function()
      local t = terminal.start(("sh -c '%s record -o %s/p.data -- %s 1.5 1; exec cat'"):format(program, scratch,
         shares), { first = "samples in" })
      assert.falsy(t:screen():find("lpfm record: %d+ s, "), t:screen())
      t:stop()
   end)
end)

describe("top", function()
   it("leaves its last picture on the screen", function()
      local t = terminal.start(("env TERM=screen sh -c '%s top -- %s 1 1; echo done; exec cat'"):format(program,
         shares), { first = "done" })
      assert.truthy(t:screen():find("heavy", 1, true), t:screen())
      t:stop()
   end)
end)
