-- SPDX-License-Identifier: MIT
--- Makes files as perf writes them, byte by byte, for tests of their readers.
local samples = require "support.samples"

local perf_files = {}

local int = samples.int

--- The bits of PERF_SAMPLE_*, by the names of the fields.
perf_files.bits = { IP = 0, TID = 1, TIME = 2, ADDR = 3, READ = 4, CALLCHAIN = 5, ID = 6, CPU = 7, PERIOD = 8,
   STREAM_ID = 9, RAW = 10, BRANCH_STACK = 11, REGS_USER = 12, STACK_USER = 13, WEIGHT = 14, DATA_SRC = 15,
   IDENTIFIER = 16, TRANSACTION = 17, REGS_INTR = 18, PHYS_ADDR = 19, AUX = 20, CGROUP = 21, DATA_PAGE_SIZE = 22,
   CODE_PAGE_SIZE = 23, WEIGHT_STRUCT = 24 }

local function mask(names)
   local n = 0
   for name in pairs(names) do n = n + 2 ^ perf_files.bits[name] end
   return n
end

local function padded(text)
   return text .. ("\0"):rep(8 - #text % 8)
end

local function words(list)
   local out = {}
   for i, n in ipairs(list or {}) do out[i] = int(n, 8) end
   return table.concat(out)
end

-- --- events --------------------------------------------------------------------------------------

local SAMPLE_ID_ALL, FREQ, COMM_EXEC = 2 ^ 18, 2 ^ 10, 2 ^ 24

--- Returns the attributes of an event with `fields` (names of bits), `type`, `config`, `period`,
-- `freq`, `read_format`, `branch_type`, and the masks `regs_user` and `regs_intr`.
function perf_files.attr(e)
   local flags = SAMPLE_ID_ALL + COMM_EXEC + (e.freq and FREQ or 0)
   return int(e.type or 1, 4) .. int(128, 4) .. int(e.config or 0, 8) .. int(e.period or 1, 8)
      .. int(mask(e.fields), 8) .. int(e.read_format or 0, 8) .. int(flags, 8) .. int(0, 4) .. int(0, 4)
      .. int(0, 8) .. int(0, 8) .. int(e.branch_type or 0, 8) .. int(e.regs_user or 0, 8) .. int(64, 4) .. int(0, 4)
      .. int(e.regs_intr or 0, 8) .. ("\0"):rep(24)
end

-- --- records -------------------------------------------------------------------------------------

--- Returns a record with this body.
function perf_files.record(kind, misc, body)
   return int(kind, 4) .. int(misc, 2) .. int(8 + #body, 2) .. body
end

-- Returns the end of a record that is not a sample (sample_id).
local function id_of(e, s)
   local has = e.fields
   return (has.TID and int(s.pid, 4) .. int(s.tid, 4) or "") .. (has.TIME and int(s.time, 8) or "")
      .. (has.ID and int(e.id, 8) or "") .. (has.STREAM_ID and int(0, 8) or "")
      .. (has.CPU and int(s.cpu or 0, 4) .. int(0, 4) or "") .. (has.IDENTIFIER and int(e.id, 8) or "")
end

local EXEC = 2 ^ 13

--- Returns event e's record of what a program did. r has `kind`, `pid`, `tid`, `time`; for
-- COMM `comm`, `exec`; for MMAP and MMAP2 `addr`, `len`, `offset`, `path`, `build_id` (20 bytes),
-- `inode`, `device` (as stat(2) gives it); for FORK and EXIT `ppid`, `ptid`; for LOST `count`.
function perf_files.program(e, r)
   local id, who = id_of(e, r), int(r.pid, 4) .. int(r.tid, 4)
   if r.kind == "COMM" then return perf_files.record(3, r.exec and EXEC or 0, who .. padded(r.comm) .. id) end
   if r.kind == "FORK" or r.kind == "EXIT" then
      return perf_files.record(r.kind == "FORK" and 7 or 4, 0, int(r.pid, 4) .. int(r.ppid, 4) .. int(r.tid, 4)
         .. int(r.ptid, 4) .. int(r.time, 8) .. id)
   end
   if r.kind == "LOST" then return perf_files.record(2, 0, int(e.id, 8) .. int(r.count, 8) .. id) end
   if r.kind == "LOST_SAMPLES" then return perf_files.record(13, 0, int(r.count, 8) .. id) end
   if r.kind == "THROTTLE" then return perf_files.record(5, 0, int(r.time, 8) .. int(0, 16) .. id) end
   local range = int(r.addr, 8) .. int(r.len, 8) .. int(r.offset, 8)
   if r.kind == "MMAP" then return perf_files.record(1, 2, who .. range .. padded(r.path) .. id) end
   local device = r.device or 0
   local major, minor = math.floor(device / 256) % 4096, device % 256 + math.floor(device / 2 ^ 20) * 256
   local file = r.build_id and int(20, 4) .. r.build_id
      or int(major, 4) .. int(minor, 4) .. int(r.inode or 0, 8) .. int(0, 8)
   return perf_files.record(10, r.build_id and 2 ^ 14 + 2 or 2, who .. range .. file .. int(5, 4) .. int(2, 4)
      .. padded(r.path) .. id)
end

local function read_of(e, s)
   if not s.group then return int(s.count, 8) end
   local out = { int(#s.group, 8) }
   for i, one in ipairs(s.group) do out[i + 1] = int(one.count, 8) .. int(one.id, 8) end
   return table.concat(out), e
end

local function branches_of(s)
   local out = { int(#s.branches, 8) }
   for i, b in ipairs(s.branches) do out[i + 1] = words(b) end
   return table.concat(out)
end

local function stack_of(s)
   return #s.stack == 0 and int(0, 8) or int(#s.stack, 8) .. s.stack .. int(#s.stack, 8)
end

--- Returns a sample of event e. s has the event's fields by their names in lower case: `regs` and
-- `intr_regs` are lists; `branches` has lists of from, to and flags; `group` has `count` and `id`.
function perf_files.sample(e, s)
   local out = {}
   local function add(field, text)
      if e.fields[field] then out[#out + 1] = type(text) == "number" and int(text, 8) or text() end
   end
   add("IDENTIFIER", e.id)
   add("IP", s.ip)
   add("TID", function() return int(s.pid, 4) .. int(s.tid, 4) end)
   add("TIME", s.time)
   add("ADDR", s.addr)
   add("ID", e.id)
   add("STREAM_ID", 77)
   add("CPU", function() return int(s.cpu, 4) .. int(0, 4) end)
   add("PERIOD", s.period)
   add("READ", function() return (read_of(e, s)) end)
   add("CALLCHAIN", function() return int(#s.chain, 8) .. words(s.chain) end)
   add("RAW", function() return int(#s.raw, 4) .. s.raw end)
   add("BRANCH_STACK", function() return branches_of(s) end)
   add("REGS_USER", function() return int(#s.regs > 0 and 2 or 0, 8) .. words(s.regs) end)
   add("STACK_USER", function() return stack_of(s) end)
   add("WEIGHT", s.latency)
   add("WEIGHT_STRUCT", function() return int(s.latency, 4) .. int(s.ins_latency, 2) .. int(s.stage_cycles, 2) end)
   add("DATA_SRC", s.data_source)
   add("TRANSACTION", s.transaction)
   add("REGS_INTR", function() return int(#s.intr_regs > 0 and 2 or 0, 8) .. words(s.intr_regs) end)
   add("PHYS_ADDR", s.phys_addr)
   add("CGROUP", s.cgroup)
   add("DATA_PAGE_SIZE", s.data_page_size)
   add("CODE_PAGE_SIZE", s.code_page_size)
   add("AUX", function() return int(#s.aux, 8) .. s.aux end)
   return perf_files.record(9, s.ip < 0 and 1 or 2, table.concat(out))
end

-- --- compressed records --------------------------------------------------------------------------

local MAGIC, WINDOW, NEWER = "\40\181\47\253\0\64", 1000, 83

--- Puts the bytes of records into compressed records: a frame of zstd with uncompressed blocks.
-- Records may cross the bounds of blocks.
function perf_files.compressed(bytes, kind)
   local out = {}
   for at = 1, #bytes, WINDOW do
      local part = bytes:sub(at, at + WINDOW - 1)
      local text = (at == 1 and MAGIC or "") .. int(#part * 8, 3) .. part
      if kind == NEWER then text = int(#text, 8) .. text .. ("\0"):rep(-#text % 8) end
      out[#out + 1] = perf_files.record(kind, 0, text)
   end
   return table.concat(out)
end

-- --- files ---------------------------------------------------------------------------------------

local function text_feature(text)
   return int(#padded(text), 4) .. padded(text)
end

--- Returns features by number: host, command (a list), arch, build ids by path (20 bytes).
function perf_files.features(f)
   local out = {}
   out[3], out[6] = f.host and text_feature(f.host), f.arch and text_feature(f.arch)
   if f.command then
      local list = { int(#f.command, 4) }
      for i, word in ipairs(f.command) do list[i + 1] = text_feature(word) end
      out[11] = table.concat(list)
   end
   if f.build_ids then
      local list = {}
      for path, id in pairs(f.build_ids) do
         list[#list + 1] = perf_files.record(0, 0, int(-1, 4) .. id .. ("\0"):rep(4) .. padded(path))
      end
      out[2] = table.concat(list)
   end
   if f.names then
      local list = { int(#f.names, 4) .. int(128, 4) }
      for i, e in ipairs(f.names) do
         list[i + 1] = perf_files.attr(e) .. int(1, 4) .. text_feature(e.name) .. int(e.id, 8)
      end
      out[12] = table.concat(list)
   end
   return out
end

local HEADER, SECTION, SIZE = 104, 16, 128

local function section(at, size)
   return int(at, 8) .. int(size, 8)
end

local function bit_set(numbers)
   local out = {}
   for i = 0, 31 do
      local byte = 0
      for bit = 0, 7 do byte = byte + (numbers[8 * i + bit] and 2 ^ bit or 0) end
      out[i + 1] = string.char(byte)
   end
   return table.concat(out)
end

--- Returns a file with a header.
function perf_files.file(events, records, features)
   local ids, attrs = {}, {}
   for i, e in ipairs(events) do
      ids[i] = int(e.id, 8)
      attrs[i] = perf_files.attr(e) .. section(HEADER + 8 * (i - 1), 8)
   end
   local attrs_at = HEADER + 8 * #events
   local data_at = attrs_at + (SIZE + SECTION) * #events
   local present, bodies, places = {}, {}, {}
   for n = 1, 255 do
      if features[n] then present[#present + 1] = n end
   end
   local at = data_at + #records + SECTION * #present
   for i, n in ipairs(present) do
      places[i], bodies[i] = section(at, #features[n]), features[n]
      at = at + #features[n]
   end
   return "PERFILE2" .. int(HEADER, 8) .. int(SIZE + SECTION, 8) .. section(attrs_at, (SIZE + SECTION) * #events)
      .. section(data_at, #records) .. section(0, 0) .. bit_set(features) .. table.concat(ids) .. table.concat(attrs)
      .. records .. table.concat(places) .. table.concat(bodies)
end

--- Returns a file as perf writes it to a pipe.
function perf_files.piped(events, records, features)
   local out = { "PERFILE2" .. int(16, 8) }
   for _, e in ipairs(events) do out[#out + 1] = perf_files.record(64, 0, perf_files.attr(e) .. int(e.id, 8)) end
   for n = 1, 255 do
      if features[n] then out[#out + 1] = perf_files.record(80, 0, int(n, 8) .. features[n]) end
   end
   return table.concat(out) .. records
end

return perf_files
