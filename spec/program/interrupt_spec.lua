-- SPDX-License-Identifier: MIT
-- The prompt cannot be lost: whatever runs, Ctrl-C gives it back, or ends the program with all in
-- order.

local c = require "support.c"
local files = require "support.files"
local proc = require "lpfm.proc"
local terminal = require "support.terminal"

local program = c.program
local state, t

-- A search in C that takes practically for ever.
local STUCK = '("a"):rep(40):find(("a*"):rep(30).."c")'

local function begin(environment)
   state = c.new_folder()
   local run = ("trap '' INT; %s%s; echo status $?; stty -a | tr ';' '\\n'; exec cat"):format(environment or "",
      program)
   t = terminal.start(("exec env TERM=screen XDG_STATE_HOME=%s XDG_CONFIG_HOME=%s sh -c %s"):format(state, state,
      terminal.quote(run)))
end

local function finish()
   t:stop()
   c.sh("rm -rf " .. state)
end

before_each(function() begin() end)
after_each(finish)

describe("a search in C that hears nothing", function()
   local function check_order()
      t:wait_for("the prompt ends")
      t:wait_for("status 130")
      local screen = t:wait_match("(speed.*)")
      t:wait_match("[^%-]icanon")
      t:wait_match("[^%-]echo ")
      assert.falsy(screen:find("-icanon", 1, true), screen)
      local history = files.read(state .. "/lpfm_history")
      assert.truthy(history:find("first = 1", 1, true), history)
      assert.truthy(history:find(STUCK, 1, true), history)
   end

   -- Presses Ctrl-C twice; returns true if the program ends, as it does unless the machine is busy.
   local function ends_at_the_second()
      t:enter("first = 1")
      t:wait_match("first = 1\n+lpfm>")
      t:enter("print 'be' print 'gun'; " .. STUCK)
      t:wait_for("\ngun")
      t:press("C-c")
      t:wait_for("gun\n^C")
      t:press("C-c")
      local late = proc.clock() + 5
      repeat
         if t:screen():find("the prompt ends", 1, true) then return true end
      until proc.clock() > late
   end

   it("ends with the program at the second Ctrl-C within a second", function()
      for _ = 1, 20 do
         if ends_at_the_second() then return check_order() end
         finish()
         begin()
      end
      error("two presses do not end it")
   end)

   it("ends with the program at the third, however late", function()
      t:enter("first = 1")
      t:wait_match("first = 1\n+lpfm>")
      t:enter("print 'be' print 'gun'; " .. STUCK)
      t:wait_for("\ngun")
      t:press("C-c")
      c.sh("sleep 2.1") -- the passing of time is tested
      t:press("C-c")
      c.sh("sleep 2.1")
      t:press("C-c")
      check_order()
   end)
end)

describe("a loop that catches every error", function()
   it("gives the prompt back at the second Ctrl-C", function()
      t:enter("print 'be' print 'gun' while true do pcall(function() while true do end end) print('cau' .. 'ght') end")
      t:wait_for("\ngun")
      t:press("C-c")
      t:wait_for("caught") -- else the two would be one signal
      t:press("C-c")
      t:wait_match("interrupted\n+lpfm>")
      t:enter("6 * 7")
      t:wait_for("\n42\n")
      t:enter("while true do end")
      t:press("C-c")
      t:enter("6 * 8")
      t:wait_for("\n48\n")
   end)
end)

describe("one write of a long text", function()
   it("is ended by one Ctrl-C, though nobody takes the text", function()
      t:enter("full = io.popen([[trap '' INT; exec sleep 1000]], 'w')")
      t:enter("dup = require('posix.unistd').dup2; dup(1, 9)")
      t:enter("function begun(n, write) dup(require('posix.stdio').fileno(full), 1);"
         .. " local ok, err = pcall(function() io.stderr:write('be', 'gun ', n, '\\n') write(('x'):rep(1e6)) end);"
         .. " dup(9, 1); error(err) end")
      for n, write in ipairs { "print", "io.write", "function(s) io.stdout:write(s) end",
         "function(s) full:write(s) end" } do
         t:enter(("begun(%d, %s)"):format(n, write))
         t:wait_for(("begun %d"):format(n))
         t:press("C-c")
         t:enter(("'prompt ' .. %d"):format(n))
         t:wait_match(("interrupted.*\nprompt %d\n"):format(n))
      end
   end)

   -- A library sends the signal where no hook sees it any more: just before the system call.
   it("is ended, though it begins just after Ctrl-C", function()
      local library = os.tmpname()
      files.write(library .. ".c", [[
         #include <signal.h>
         #include <sys/syscall.h>
         #include <unistd.h>
         ssize_t write(int fd, const void *buf, size_t count)
         {
            if (count == 1000000)
               raise(SIGINT);
            return syscall(SYS_write, fd, buf, count);
         }]])
      assert.equal(0, select(2, c.sh(("gcc -D_GNU_SOURCE -shared -fPIC -o %s %s.c"):format(library, library))))
      finish()
      begin(("LD_PRELOAD=%s "):format(library))
      t:enter("full = io.popen([[trap '' INT; exec sleep 1000]], 'w')")
      t:enter("require('posix.unistd').write(require('posix.stdio').fileno(full), ('x'):rep(1e6))")
      t:enter("'prompt ' .. 1")
      t:wait_match("interrupted.*\nprompt 1\n")
      os.remove(library)
      os.remove(library .. ".c")
   end)
end)

describe("a statement that takes away what the prompt needs", function()
   it("does not end the prompt", function()
      for i, text in ipairs { "package.loaded = nil", "package = nil", "string = nil", "table = nil", "pairs = nil",
         "io = nil", "debug = nil", "debug.setmetatable('', nil)", "require('repl.line').read = nil",
         "require('repl.host').try = nil require('pfm.render').clean = nil",
         "for k in pairs(_G) do _G[k] = nil end" } do
         t:enter(text)
         t:enter("") -- some of these statements break the prompt only when it reads the next line
         t:enter(("%d + 1000"):format(i))
         t:wait_match(("\n%d\n"):format(1000 + i))
      end
   end)
end)
