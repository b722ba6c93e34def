-- SPDX-License-Identifier: MIT
--- Profiles for profiler.firefox.com: its processed format, version 58, in which each thread has
-- tables of its own.
--
-- The format is described in src/types/profile.ts of the Firefox Profiler. Tables are stored by
-- column; a row refers to another by its number, from 0. Strings, sources and libraries are shared.
-- @module pfm.export.firefox

local chain = require "pfm.recording.chain"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local lpfm = require "lpfm"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local firefox = { summary = "for profiler.firefox.com: threads on a time line, call trees, flame graphs",
   extensions = { "firefox.json" } }

local VERSION, GECKO_VERSION = 58, 31
local LIBRARY = 1                           -- a type of resource
local OTHER, USER, KERNEL = 0, 1, 2         -- numbers of categories
local CATEGORIES = '[{"name":"Other","color":"grey","subcategories":["Other"]},'
   .. '{"name":"User","color":"yellow","subcategories":["Other"]},'
   .. '{"name":"Kernel","color":"orange","subcategories":["Other"]}]'
local LIFE = 2 ^ 32                         -- a process's n-th life has the number pid + n * LIFE
local NULL = "null"

-- --- tables --------------------------------------------------------------------------------------

-- Makes a table with these column names; a text identifies each row.
local function new_table(...)
   local self = { names = { ... }, columns = {}, length = 0, numbers = {} }
   for i in ipairs(self.names) do self.columns[i] = {} end
   return self
end

local function value_of(value)
   if type(value) == "number" then return (value % 1 == 0 and "%.0f" or "%.17g"):format(value) end
   return type(value) == "string" and value or tostring(value)
end

-- Adds a row; returns its number.
local function add(self, ...)
   self.length = self.length + 1
   for i, column in ipairs(self.columns) do column[self.length] = value_of((select(i, ...))) end
   return self.length - 1
end

-- Returns the number of the row with an id; make() adds the row if it is new.
local function number_of(self, id, make)
   return self.numbers[id] or tables.enter(self.numbers, id, make())
end

-- Returns a table as JSON; `constant` has names and values of columns that are equal in all rows.
local function put(self, constant)
   local out = {}
   for i, name in ipairs(self.names) do out[i] = ('"%s":[%s]'):format(name, table.concat(self.columns[i], ",")) end
   for _, pair in ipairs(constant or {}) do
      local column = {}
      for i = 1, self.length do column[i] = pair[2] end
      out[#out + 1] = ('"%s":[%s]'):format(pair[1], table.concat(column, ","))
   end
   out[#out + 1] = ('"length":%d'):format(self.length)
   return "{" .. table.concat(out, ",") .. "}"
end

local function text(s)
   return render.json(render.printable(s))
end

-- --- what all threads share ----------------------------------------------------------------------

local function string_number(shared, s)
   return number_of(shared.strings, s, function() return add(shared.strings, text(s)) end)
end

local function source_number(shared, file)
   if not file then return NULL end
   return number_of(shared.sources, file, function() return add(shared.sources, string_number(shared, file)) end)
end

-- Returns a build id as breakpad writes it: the first fields of its 16 bytes reversed, and an age.
local function breakpad(id)
   local bytes = {}
   for byte in (id .. ("0"):rep(32)):sub(1, 32):gmatch("..") do bytes[#bytes + 1] = byte:upper() end
   local order = { 4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16 }
   for i, from in ipairs(order) do order[i] = bytes[from] end
   return table.concat(order) .. "0"
end

local function build_id_of(self, where)
   local known = self.objects[where.object]
   if known and known.build_id then return known.build_id end
   return where.handle and where.handle.build_id and where.handle:build_id() or nil
end

local function library_number(shared, where)
   return number_of(shared.libraries, where.object, function()
      local name, path = text(stacks.base_name(where.object)), text(where.object)
      local id = build_id_of(shared.recording, where)
      return add(shared.libraries, ('{"arch":%s,"name":%s,"path":%s,"debugName":%s,"debugPath":%s,"breakpadId":"%s",'
         .. '"codeId":%s}'):format(text(shared.recording.head.machine.arch or ""), name, path, name, path,
         id and breakpad(id) or "", id and text(id) or NULL))
   end)
end

-- --- threads -------------------------------------------------------------------------------------

local function new_thread(s, event, pid)
   return {
      name = s.comm, process = s.process, pid = pid, tid = s.tid, is_main = s.pid == s.tid, event = event,
      samples = new_table("stack", "time", "weight"), stacks = new_table("frame", "prefix"),
      frames = new_table("address", "inlineDepth", "category", "func", "nativeSymbol", "line"),
      functions = new_table("name", "resource", "source"), resources = new_table("lib", "name"),
      natives = new_table("libIndex", "address", "name", "functionSize"), known = {},
   }
end

local function resource_number(shared, thread, where)
   return number_of(thread.resources, where.object, function()
      return add(thread.resources, library_number(shared, where),
         string_number(shared, stacks.base_name(where.object)))
   end)
end

local function function_number(shared, thread, where, frame)
   local id = where.object .. "\0" .. frame.name
   return number_of(thread.functions, id, function()
      return add(thread.functions, string_number(shared, frame.name), resource_number(shared, thread, where),
         source_number(shared, frame.file))
   end)
end

-- Returns the row of the symbol that covers a place; NULL if the place has no name.
local function native_number(shared, thread, where)
   if where.missing or not where.own then return NULL end
   return number_of(thread.natives, where.object .. "\0" .. where.func, function()
      local _, _, size = where.handle:func(where.own)
      return add(thread.natives, library_number(shared, where), where.own - where.offset,
         string_number(shared, where.func), (size or 0) > 0 and size or NULL)
   end)
end

-- Returns the row of a frame; a kernel frame has no address, since JSON does not hold it exactly.
local function frame_number(shared, thread, where, frame, depth)
   local id = ("%s\0%.0f\0%d"):format(where.object, where.address, depth)
   return number_of(thread.frames, id, function()
      local is_kernel = where.object == "[kernel]"
      return add(thread.frames, where.own and not is_kernel and where.own or -1, depth,
         where.object == "[unknown]" and OTHER or is_kernel and KERNEL or USER,
         function_number(shared, thread, where, frame), native_number(shared, thread, where), frame.line or NULL)
   end)
end

-- Returns the row of a stack: from the outermost call inwards, functions before their inlined ones.
local function stack_number(shared, thread, places)
   local prefix = NULL
   for i = #places, 1, -1 do
      local frames = symbols.frames(places[i])
      for k = #frames, 1, -1 do
         local frame, before = frame_number(shared, thread, places[i], frames[k], #frames - k), prefix
         prefix = number_of(thread.stacks, frame .. " " .. before, function()
            return add(thread.stacks, frame, before)
         end)
      end
   end
   return prefix
end

local function sample_stack(shared, thread, s)
   local id = ("%s %.0f"):format(s.stack or "", s.address)
   thread.known[id] = thread.known[id]
      or stack_number(shared, thread, chain.places(shared.recording, shared.resolver, s.life, s.address, s.stack))
   return thread.known[id]
end

-- Returns "PID"; for later lives of the process (see pfm.recording.programs), "PID.N".
local function pid_of(shared, s)
   local first = shared.first_life[s.pid] or s.life
   shared.first_life[s.pid] = first
   return s.life == first and tostring(s.pid) or ("%d.%d"):format(s.pid, math.floor(s.life / LIFE))
end

local function read_threads(shared, events, options)
   samples.need_times(shared.recording)
   local threads, by_id = {}, {}
   for _, event in ipairs(events) do
      for s in samples.each(shared.recording, shared.resolver, event.name) do
         local id = ("%s\0%.0f\0%.0f"):format(event.name, s.life, s.tid)
         local thread = by_id[id] or tables.enter(by_id, id, new_thread(s, event, pid_of(shared, s)), threads)
         thread.name = s.comm -- the last of its names
         shared.first = math.min(shared.first, s.time)
         add(thread.samples, sample_stack(shared, thread, s), s.time, options.weight == "events" and s.period or 1)
      end
   end
   return threads
end

-- --- writing -------------------------------------------------------------------------------------

-- Converts a thread's times to ms since the first sample.
local function since_first(shared, thread)
   local times = thread.samples.columns[2]
   for i, time in ipairs(times) do times[i] = ("%.6f"):format((tonumber(time) - shared.first) * 1000) end
   return times[1]
end

local NO_MARKERS = '{"data":[],"name":[],"startTime":[],"endTime":[],"phase":[],"category":[],"length":0}'

local function write_thread(shared, out, thread, several)
   local began = since_first(shared, thread)
   local name = several and ("%s, %s"):format(thread.name, thread.event.name) or thread.name
   out:write(('{"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":%s,'
      .. '"unregisterTime":null,"pausedRanges":[],"name":%s,"isMainThread":%s,"processName":%s,"pid":"%s","tid":%.0f,'
      .. '"samples":'):format(began, text(name), tostring(thread.is_main), text(thread.process), thread.pid,
      thread.tid))
   out:write((put(thread.samples):gsub("}$", ',"weightType":"samples"}')), ',"markers":', NO_MARKERS)
   out:write(',"stackTable":', put(thread.stacks), ',"frameTable":', put(thread.frames, { { "subcategory", "0" },
      { "innerWindowID", "0" }, { "column", NULL } }))
   out:write(',"funcTable":', put(thread.functions, { { "isJS", "false" }, { "relevantForJS", "false" },
      { "lineNumber", NULL }, { "columnNumber", NULL } }))
   out:write(',"resourceTable":', put(thread.resources, { { "host", NULL }, { "type", LIBRARY } }),
      ',"nativeSymbols":', put(thread.natives), "}")
end

-- Returns when the first sample was taken, in ms since 1970; 0 if that is not known.
local function start_time(shared)
   local head = shared.recording.head
   local clock = head.clock
   if clock then return clock.seconds * 1000 + clock.ns / 1e6 - (clock.samples / 1e6 - shared.first * 1000) end
   return (head.time or 0) * 1000
end

local function interval_of(self)
   local e = self.head.events[1]
   if self.head.frequency then return 1000 / self.head.frequency end
   return e.unit == "ns" and e.period and e.period / 1e6 or 1
end

local function meta_of(shared)
   local self = shared.recording
   local head = self.head
   local machine = head.machine or {}
   return render.json {
      interval = interval_of(self), startTime = start_time(shared), processType = 0, product = head.what,
      stackwalk = self:has_stacks() and 1 or 0, version = GECKO_VERSION, preprocessedProfileVersion = VERSION,
      abi = machine.arch, oscpu = machine.kernel and "Linux " .. machine.kernel, platform = "Linux",
      arguments = head.command and table.concat(head.command, " "), logicalCPUs = machine.cpus, debug = false,
      symbolicated = true, importedFrom = lpfm._VERSION, usesOnlyOneStackType = true,
      sourceCodeIsNotOnSearchfox = true,
      sampleUnits = { time = "ms", eventDelay = "ms", threadCPUDelta = "ns" },
   }
end

--- Writes the samples of every event, or of one; the profile has each thread once for each event.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options `event` (a name), `weight` ("events": what samples stand for; default
-- "samples")
function firefox.write(self, out, options)
   options = options or {}
   local events = options.event and { stacks.event(self, options.event) } or self.head.events
   local shared = { recording = self, resolver = embedded_symbols.resolver(self), strings = new_table "s",
      sources = new_table "filename", libraries = new_table "l", first = math.huge, first_life = {} }
   local threads = read_threads(shared, events, options)
   if #threads == 0 then shared.first = 0 end
   local meta = meta_of(shared):gsub("}$", "")
   out:write('{"meta":', meta, ',"categories":', CATEGORIES, ',"markerSchema":[]},"threads":[')
   for i, thread in ipairs(threads) do
      if i > 1 then out:write(",\n") end
      write_thread(shared, out, thread, #events > 1)
   end
   out:write('],\n"libs":[', table.concat(shared.libraries.columns[1], ","), '],"shared":{"stringArray":[',
      table.concat(shared.strings.columns[1], ","), '],"sources":', put(shared.sources, { { "uuid", NULL } }), "}}\n")
end

return firefox
