-- SPDX-License-Identifier: MIT
-- Tracepoints in files of perf: what the kernel's printf() makes of their fields, and the lines of
-- perf script. One interpreter: the subject is the program as a process.
local c = require "support.c"
local print_format = require "pfm.recording.perfdata.print_format"
local samples = require "support.samples"
local tracepoints = require "pfm.recording.perfdata.tracepoints"

local int, long = samples.int, function(n) return samples.int(n, 8) end
local program = c.program

-- --- descriptions made by hand -------------------------------------------------------------------

local FIELDS = [[
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:char comm[8];	offset:8;	size:8;	signed:0;
	field:int prio;	offset:16;	size:4;	signed:1;
	field:unsigned char kind;	offset:20;	size:1;	signed:0;
	field:u64 place;	offset:24;	size:8;	signed:0;
	field:unsigned long args[2];	offset:32;	size:16;	signed:0;
	field:__data_loc char[] name;	offset:48;	size:4;	signed:0;
	field:__rel_loc u8[] bytes;	offset:52;	size:4;	signed:0;
	field:const char * text;	offset:56;	size:8;	signed:0;
]]

local function raw(of)
   return (int(7, 2) .. ("\0"):rep(6) .. (of.comm or "prog\0\0\0\0") .. int(of.prio or -5, 4)
      .. string.char(of.kind or 3) .. "\0\0\0" .. (of.place or ("\255"):rep(8)) .. long(16) .. long(255)
      .. int(64 + 6 * 65536, 4) .. int(70 - 56 + 3 * 65536, 4) .. (of.text or long(0)) .. "a b c\0" .. "\1\2\255")
end

local function sized(text, bytes) return int(#text, bytes or 8) .. text end

-- Returns what perf copies out of tracefs for an event of this format.
local function described(format, constants)
   local text = "name: made\nID: 7\nformat:\n" .. FIELDS .. "\nprint fmt: " .. format
   return "\23\8\68tracing0.6\0\0\8" .. int(4096, 4) .. "header_page\0" .. sized "x" .. "header_event\0" .. sized ""
      .. int(1, 4) .. sized "y" .. int(1, 4) .. "made\0" .. int(1, 4) .. sized(text) .. int(0, 4)
      .. sized(constants or "", 4) .. int(0, 8)
end

local function printed(format, of, constants)
   local self = assert(tracepoints.read(described(format, constants)))
   return self:text(self:add(7, raw(of or {})))
end

describe("the fields of a tracepoint", function()
   it("are printed as the kernel's printf() does", function()
      for format, want in pairs {
         ['"%s:%d", REC->comm, REC->prio'] = "prog:-5",
         ['"%u %x %#x %o %c|%5d|%-5d|%05d|%+d", 10, 255, 255, 8, 65, -3, -3, -3, 3'] =
            "10 ff 0xff 10 A|   -3|-3   |-0003|+3",
         ['"%lx %llu %ld", REC->place, REC->place, (unsigned long)REC->place'] =
            "ffffffffffffffff 18446744073709551615 -1",
         ['"%08lx %.3d %6.2s| %*d %%", REC->args[1], 7, REC->comm, 4, 2'] = "000000ff 007     pr|    2 %",
         ['"%s", __get_str(name)'] = "a b c",
         ['"%s %s", __print_hex(__get_dynamic_array(bytes), 3), __print_hex_str(__get_dynamic_array(bytes), 9)'] =
            "01 02 ff 0102ff",
         ['"%d", __get_dynamic_array_len(name)'] = "6",
         ['"%s", __print_array(__get_dynamic_array(bytes), 3, 1)'] = "{0x1,0x2,0xff}",
         ['"%s", __print_flags(REC->kind, "|", { 1, "A" }, { (1UL << 1), "B" }, { 4, "C" })'] = "A|B",
         ['"%s", __print_flags(9, "+", { 1, "A" })'] = "A+0x8",
         ['"%s", __print_flags(0, "|", { 1, "A" })'] = "",
         ['"%s %s", __print_symbolic(REC->kind, { 3, "three" }), __print_symbolic(4, { 3, "three" })'] = "three 0x4",
         ['"%s", REC->kind & 1 ? "odd" : "even"'] = "odd",
         ['"%d %d %d", 1 + 2 * 3, (1 + 2) * 3, 10 - 3 - 2'] = "7 9 5",
         ['"%d %d %d", 1 << 2 | 1, 7 & 3 == 3, !0 && (2 || 0)'] = "5 1 1",
         ['"%d %d", REC->prio < 0, REC->place > 1'] = "1 1",
         ['"%d %d", (unsigned char)-1, (s8)255'] = "255 -1",
         ['"%d,%d", ((unsigned int) ((REC->args[1]) >> 4)), ((unsigned int) ((REC->args[1]) & ((1U << 4) - 1)))'] =
            "15,15",
         ['"%p %p", 0, REC->place'] = "(nil) 0xffffffffffffffff",
         ['"one " "two\\n\\"%s\\"", "x"'] = "one two\n\"x\"",
         ['""'] = "",
      } do
         assert.equal(want, printed(format), format)
      end
   end)

   it("have no value where only the kernel knows one", function()
      assert.equal("? -5 0x3",
         printed '"%p %d %s", vmemmap + REC->kind, REC->prio, __print_symbolic(REC->kind, {A, "a"})')
      assert.equal("said", printed('"%s", REC->text', { text = long(4096) }, '0x1000 : "said"\n'))
      assert.equal("0x1000", printed('"%s", REC->text', { text = long(4096) }))
   end)

   it("are shown one by one where that is not understood", function()
      local all = "comm=prog prio=-5 kind=3 place=18446744073709551615 args=ARRAY[0x10, 0xff] name=a b c "
         .. "bytes=ARRAY[0x1, 0x2, 0xff] text=0x0"
      for _, format in ipairs { "", "what", '"%d", made_up(REC->prio)', '"%d", REC->nothing', '"%d", 1 +', '"%d" 1',
         '"%d"', '"%pI4", REC->place', '"%q", 1', '"%99999d", 1', '"%', '"%s", REC->args[2]', '"%d", REC->comm' } do
         assert.equal(all, printed(format), format)
      end
   end)

   it("are left out where the data or the description is cut, and never raise", function()
      local whole = described '"%s:%d", REC->comm, REC->prio'
      for length = 0, #whole - 1 do
         local self = tracepoints.read(whole:sub(1, length))
         local text = self and self:text(self:add(7, raw {}))
         assert.is_true(text == nil or text == "" or text == "prog:-5", length .. ": " .. tostring(text))
      end
      local self = tracepoints.read(whole)
      for length = 0, #raw {} do assert.is_string(self:text(self:add(7, raw {}:sub(1, length)))) end
      assert.equal("", self:text(self:add(8, raw {})))
      assert.is_nil(self:text(99))
      local deep = ("("):rep(5000) .. "1" .. (")"):rep(5000)
      assert.is_string(printed('"%d", ' .. deep))
      assert.is_string(printed('"%d", ' .. ("(a)"):rep(200)))
      assert.is_nil(print_format.compile('"%d", REC->x', { fields = {} }))
   end)
end)

-- --- the same output as perf script's ------------------------------------------------------------

local EVENTS = "sched:sched_switch,sched:sched_process_exec,sched:sched_process_fork,raw_syscalls:sys_exit,"
   .. "syscalls:sys_enter_openat,task:task_newtask,signal:signal_generate,irq:softirq_entry"

describe("script --format perf", function()
   local dir

   setup(function() dir = c.sh("mktemp -d"):gsub("\n", "") end)
   teardown(function() c.sh("rm -rf " .. dir) end)

   -- Records in a mount namespace with tracefs; again where perf itself is ended by a signal.
   local function record(options)
      local out, status
      for _ = 1, 5 do
         out, status = c.sh(("unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing && perf record -q %s "
            .. "-- sh -c \"ls / >/dev/null; kill -0 1\"' 2>&1"):format(options))
         if status < 128 then break end
      end
      if status ~= 0 then pending("tracepoints cannot be recorded here: " .. out:sub(1, 100)) end
   end

   local function compare(file, options)
      for _ = 1, 5 do
         record(options)
         local want, status = c.sh(("perf script -i %s 2>/dev/null"):format(file))
         if status < 128 then
            assert.is_true(#want > 0)
            return assert.equal(want, (c.sh(("%s script --format perf -i %s 2>/dev/null"):format(program, file))))
         end
      end
      pending("perf script cannot read what perf record writes here")
   end

   it("prints the fields of tracepoints as perf script does", function()
      local file = dir .. "/tp.data"
      compare(file, ("-e %s -o %s"):format(EVENTS, file))
      local out = c.sh(("%s script -i %s"):format(program, file))
      assert.truthy(out:find("filename=/usr/bin/ls pid=", 1, true) or out:find("filename=/bin/ls pid=", 1, true), out)
      assert.is_nil(out:find("not shown", 1, true), out)
      out = c.sh(("%s script -i %s -F event,trace"):format(program, file))
      assert.truthy(out:find("\nsched:sched_process_exec: filename=", 1, true), out)
      out = c.sh(("%s report --samples -i %s"):format(program, file))
      assert.truthy(out:find(",filename=/%S*ls pid="), out)
   end)

   it("prints the fields of tracepoints that came through a pipe", function()
      local file = dir .. "/pipe.data"
      compare(file, ("-e %s -o - >%s"):format(EVENTS, file))
      assert.equal(c.sh(("%s script -F event,trace -i %s"):format(program, file)),
         c.sh(("cat %s | %s script -F event,trace -i -"):format(file, program)))
   end)
end)
