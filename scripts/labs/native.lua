-- SPDX-License-Identifier: MIT
--- Programs for this computer, made without a compiler: known numbers of instructions at known
-- addresses, first touches of pages, sleeps, calls with frame pointers. An ELF file for x86-64 or
-- arm64.
-- @module labs.native

local stat = require "posix.sys.stat"
local utsname = require "posix.sys.utsname"

local native = {}

local TEXT, DATA = 0x400000, 0x10000000 -- where code and pages are
local HEADERS = 64 + 2 * 56             -- bytes in front of the code
local NO_HUGE_PAGES = 15                -- an argument of madvise(2): each page is to fault

--- Returns a whole number in bytes, the lowest first.
-- @int value
-- @int size bytes
-- @treturn string
function native.little(value, size)
   local out = {}
   value = value % 256 ^ size
   for i = 1, size do
      out[i] = string.char(value % 256)
      value = math.floor(value / 256)
   end
   return table.concat(out)
end
local little = native.little

local function hex(text)
   return (text:gsub("%s", ""):gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))
end

-- --- instruction sets ----------------------------------------------------------------------------

-- The instruction sets. Their functions return the bytes of instructions; a `distance` is counted
-- from the first of these bytes.
local x86 = { elf = 62, syscalls = { sleep = 35, advise = 28, exit = 231 } }

function x86.start(bytes)
   return hex "31 ed 49 bc" .. little(DATA, 8) .. x86.syscall("advise", DATA, bytes, NO_HUGE_PAGES)
end

function x86.syscall(name, a, b, c)
   return hex "48 bf" .. little(a, 8) .. hex "48 be" .. little(b, 8) .. hex "48 ba" .. little(c, 8) .. "\184"
      .. little(x86.syscalls[name], 4) .. hex "0f 05"
end

function x86.sleep(ns)
   return hex "48 b8" .. little(ns % 1e9, 8) .. hex "50 48 b8" .. little(math.floor(ns / 1e9), 8)
      .. hex "50 48 89 e7 31 f6 b8" .. little(x86.syscalls.sleep, 4) .. hex "0f 05 48 83 c4 10"
end

function x86.spin(n) return hex "48 b9" .. little(n, 8) .. hex "48 ff c9 75 fb" end
function x86.touch(page) return hex "41 c6 04 24 01", hex "49 81 c4" .. little(page, 4) end
function x86.loop(n) return hex "48 b8" .. little(n, 8) .. "\80" end
function x86.again(distance) return hex "48 ff 0c 24 0f 85" .. little(-distance - 10, 4) .. "\88" end
function x86.call(distance) return "\232" .. little(distance - 5, 4) end
function x86.enter() return hex "55 48 89 e5" end
function x86.leave() return hex "5d c3" end

local arm = { elf = 183, syscalls = { sleep = 101, advise = 233, exit = 94 } }

local function words(...)
   local out = {}
   for i, word in ipairs { ... } do out[i] = little(word, 4) end
   return table.concat(out)
end

-- Loads a 64-bit number into a register.
local function move(register, value)
   local out = {}
   for i = 0, 3 do
      local part = math.floor(value / 65536 ^ i) % 65536
      out[i + 1] = (i == 0 and 0xd2800000 or 0xf2800000 + i * 0x200000) + part * 32 + register
   end
   return words(unpack(out))
end

function arm.start(bytes)
   return words(0xd280001d) .. move(19, DATA) .. arm.syscall("advise", DATA, bytes, NO_HUGE_PAGES)
end

function arm.syscall(name, a, b, c)
   return move(0, a) .. move(1, b) .. move(2, c) .. move(8, arm.syscalls[name]) .. words(0xd4000001)
end

function arm.sleep(ns)
   return move(10, ns % 1e9) .. move(9, math.floor(ns / 1e9)) .. words(0xa9bf2be9, 0x910003e0, 0xd2800001)
      .. move(8, arm.syscalls.sleep) .. words(0xd4000001, 0x910043ff)
end

function arm.spin(n) return move(9, n) .. words(0xf1000529, 0x54ffffe1) end
function arm.touch(page) return words(0x39000273), words(0x91400273 + page / 4096 * 1024) end
function arm.loop(n) return move(10, n) .. words(0xf81f0fea) end
function arm.again(distance)
   return words(0xf94003ea, 0xf100054a, 0xf90003ea, 0x54000001 + (-distance - 12) / 4 % 2 ^ 19 * 32, 0x910043ff)
end
function arm.call(distance) return words(0x94000000 + distance / 4 % 2 ^ 26) end
function arm.enter() return words(0xa9bf7bfd, 0x910003fd) end
function arm.leave() return words(0xa8c17bfd, 0xd65f03c0) end

local sets = { x86_64 = x86, aarch64 = arm }

-- --- assembling ----------------------------------------------------------------------------------

local function add(self, bytes)
   self.parts[#self.parts + 1] = bytes
   self.at = self.at + #bytes
end

local emit

local function emit_all(self, items)
   for _, item in ipairs(items) do emit(self, item) end
end

-- Emits a touch; `mark` names the address of its first instruction, the store.
local function emit_touch(self, item)
   local first, rest = self.set.touch(self.page)
   if item.mark then self.marks[item.mark] = self.at end
   add(self, first)
   add(self, rest)
   self.touches = self.touches + self.times
end

local function emit_loop(self, item)
   add(self, self.set.loop(item.loop))
   local top = self.at
   self.times = self.times * item.loop
   emit_all(self, item)
   self.times = self.times / item.loop
   add(self, self.set.again(self.at - top))
end

-- Emits a call; call stacks have the address of the instruction after it.
local function emit_call(self, item)
   add(self, self.set.call((self.starts[item.call] or self.at) - self.at))
end

function emit(self, item)
   if item.spin then add(self, self.set.spin(item.spin)) end
   if item.touch then emit_touch(self, item) end
   if item.sleep then add(self, self.set.sleep(item.sleep)) end
   if item.call then emit_call(self, item) end
   if item.loop then emit_loop(self, item) end
end

-- Assembles once. Addresses of later functions are known in the second pass; sizes are the same.
local function assemble(set, functions, page, starts, bytes)
   local self = { set = set, page = page, parts = {}, at = TEXT + HEADERS, starts = starts, marks = {}, functions = {},
      touches = 0, times = 1 }
   add(self, set.start(bytes))
   emit_call(self, { call = functions[1].name })
   add(self, set.syscall("exit", 0, 0, 0))
   for _, fn in ipairs(functions) do
      local from = self.at
      add(self, set.enter())
      emit_all(self, fn)
      add(self, set.leave())
      self.functions[#self.functions + 1] = { name = fn.name, from = from, to = self.at }
   end
   return self
end

local function segment(flags, offset, address, in_file, in_memory)
   return little(1, 4) .. little(flags, 4) .. little(offset, 8) .. little(address, 8) .. little(address, 8)
      .. little(in_file, 8) .. little(in_memory, 8) .. little(65536, 8)
end

local function elf(set, code, bytes)
   local size = HEADERS + #code
   return hex "7f 45 4c 46 02 01 01" .. ("\0"):rep(9) .. little(2, 2) .. little(set.elf, 2) .. little(1, 4)
      .. little(TEXT + HEADERS, 8) .. little(64, 8) .. little(0, 8) .. little(0, 4) .. little(64, 2) .. little(56, 2)
      .. little(2, 2) .. little(0, 6) .. segment(5, 0, TEXT, size, size) .. segment(6, 0, DATA, 0, bytes) .. code
end

-- Returns the size of a page in bytes.
local function page_size()
   for line in io.lines "/proc/self/smaps" do
      local kib = line:match("^KernelPageSize:%s*(%d+) kB")
      if kib then return kib * 1024 end
   end
   error("there is no page size in /proc/self/smaps", 0)
end

--- Makes a program.
-- @string path of the file
-- @tparam {table,...} functions the first is where it begins; each has a `name` and, in order, what
-- it does: `{ spin = n }` n rounds of two instructions; `{ touch = true, mark = name }` writes to a
-- page that was not touched before, with one instruction; `{ sleep = ns }`; `{ call = name }`;
-- `{ loop = n, ... }`, n times the items in it. Functions that call others several times are
-- counted once when pages are counted: touch in the first alone.
-- @treturn table `functions`, a list of `{ name=, from=, to= }`; `marks`, addresses by name;
-- `touches`, how often pages are touched
-- @raise where the processor is neither x86-64 nor arm64, or the file cannot be written
function native.build(path, functions)
   local machine = utsname.uname().machine
   local set = sets[machine] or error(([[programs of labs are for x86_64 and aarch64, and not for
      %s]]):format(machine), 0)
   local page = page_size()
   local first = assemble(set, functions, page, {}, 0)
   local starts = {}
   for _, fn in ipairs(first.functions) do starts[fn.name] = fn.from end
   local bytes = (first.touches + 1) * page
   local self = assemble(set, functions, page, starts, bytes)
   local file = assert(io.open(path, "w"))
   file:write(elf(set, table.concat(self.parts), bytes))
   file:close()
   assert(stat.chmod(path, 448)) -- rwx------
   return { functions = self.functions, marks = self.marks, touches = self.touches }
end

return native
