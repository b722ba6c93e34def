-- SPDX-License-Identifier: MIT
--- Which programs ran when: what a recording's records of mappings, execs and forks come to.
--
-- The number of a process stands for several programs, one after the other. Each is a life (see `lives` of
-- `lpfm.blocks`), with mappings and a name of its own. A record is a list: kind, time (ns), pid, tid, and
-- "MAP": start, stop, offset, path, build id; "EXEC", "RENAME": name; "FORK": parent's pid and tid;
-- "LOST": how many, why.
-- @module pfm.recording.programs

local blocks = require "lpfm.blocks"

local programs = {}
programs.__index = programs

local LIFE = 2 ^ 32     -- between the numbers of a process's lives
local FAR = 64          -- generations of whose mappings a process that executes nothing has some
local ORDER = { FORK = 1, EXEC = 2, CODE = 3, MAPS = 4, MAP = 5, RENAME = 6 } -- of records of one moment

--- The number of a process, of that of one of its lives.
-- @number life
-- @treturn number
-- @usage require("pfm.recording.programs").pid(7 + 2 ^ 32) --> 7
function programs.pid(life)
   return life % LIFE
end

--- A record of a buffer as a recording holds it.
-- @tparam table r of `buffer:records`
-- @treturn table
-- @usage require("pfm.recording.programs").row { kind = "EXIT", tstamp = 5, pid = 7, tid = 7 }
function programs.row(r)
   local row = { r.kind, r.tstamp, r.pid, r.tid }
   local more = r.kind == "MAP" and { r.addr, r.addr + r.len, r.offset, r.path, r.build_id }
      or (r.kind == "EXEC" or r.kind == "RENAME") and { r.comm } or r.kind == "FORK" and { r.ppid, r.ptid }
      or r.kind == "LOST" and { r.count, r.why } or {}
   for _, value in ipairs(more) do row[#row + 1] = value end
   return row
end

-- --- time ----------------------------------------------------------------------------------------

-- What begins a life, maps or names something, in the order of time; snapshots of /proc among them.
local function in_order(records, maps, code)
   local list = {}
   for i, c in ipairs(code) do list[i] = { code = c, time = c.time, order = ORDER.CODE, i = i } end
   for i, row in ipairs(records) do
      if ORDER[row[1]] then list[#list + 1] = { row = row, time = row[2], order = ORDER[row[1]], i = i } end
   end
   for i, m in ipairs(maps) do
      list[#list + 1] = { maps = m, time = m.time or 0, order = ORDER.MAPS, i = i }
   end
   table.sort(list, function(a, b)
      if a.time ~= b.time then return a.time < b.time end
      if a.order ~= b.order then return a.order < b.order end
      return a.i < b.i
   end)
   return list
end

local function begins_life(row)
   return row[1] == "EXEC" or (row[1] == "FORK" and row[3] ~= row[5])
end

-- --- lives ---------------------------------------------------------------------------------------

local function life_of(self, key)
   local life = self.known[key]
   if not life then
      life = { maps = {} }
      self.known[key] = life
   end
   return life
end

local take = {}

function take.FORK(self, row, key)
   if begins_life(row) then life_of(self, key).parent = life_of(self, self.lives:at(row[5], row[2])) end
end

function take.EXEC(self, row, key)
   life_of(self, key).name = row[5]
end

-- A process has the name of its first thread.
function take.RENAME(self, row, key)
   if row[3] == row[4] then life_of(self, key).name = row[5] end
end

function take.MAP(self, row, key)
   table.insert(life_of(self, key).maps, 1, { { row[5], row[6], row[7], row[8] } })
end

-- The same program with other code.
local function go_on(self, code)
   local key = self.lives:at(code.pid, code.time)
   self.known[key], self.began[key] = life_of(self, key - LIFE), code.time
end

local function replay(self, list)
   for _, e in ipairs(list) do
      if e.code then
         go_on(self, e.code)
      elseif e.maps then
         table.insert(life_of(self, self.lives:at(e.maps.pid, e.time)).maps, 1, e.maps.maps)
      else
         take[e.row[1]](self, e.row, self.lives:at(e.row[3], e.time))
      end
   end
end

-- Names that /proc told later than an exec are newer.
local function name_all(self, names)
   for _, c in ipairs(names) do
      if c.time and c.tid == c.pid then life_of(self, self.lives:at(c.pid, c.time)).name = c.comm end
   end
end

-- When a thread gets a name: by RENAME, EXEC, as a new thread from the one that made it, or as /proc told it.
local function namings(records, names)
   local list = {}
   for i, row in ipairs(records) do
      local kind = row[1]
      if kind == "EXEC" or kind == "RENAME" then
         list[#list + 1] = { tid = row[4], time = row[2], order = ORDER[kind], i = i, name = row[5] }
      elseif kind == "FORK" then
         list[#list + 1] = { tid = row[4], time = row[2], order = ORDER.FORK, i = i, from = row[6] }
      end
   end
   for i, c in ipairs(names) do
      if c.time then list[#list + 1] = { tid = c.tid, time = c.time, order = ORDER.RENAME, i = i, name = c.comm } end
   end
   table.sort(list, function(a, b)
      if a.time ~= b.time then return a.time < b.time end
      if a.order ~= b.order then return a.order < b.order end
      return a.i < b.i
   end)
   return list
end

-- A new thread's name is its maker's; one that /proc tells again is no news.
local function name_threads(self, list)
   local now = {}
   for _, n in ipairs(list) do
      local name = n.name or now[n.from]
      if n.from or name ~= now[n.tid] then
         self.threads:begin(n.tid, n.time)
         now[n.tid], n.fresh, n.name = name, true, name
      end
   end
   for _, n in ipairs(list) do
      if n.fresh then self.thread_names[self.threads:at(n.tid, n.time)] = n.name end
   end
end

--- What records come to.
-- @tparam table records
-- @tparam table maps of `{pid=, maps=, time=}`: mappings that /proc told at that time (ns)
-- @tparam table names of `{tid=, pid=, comm=, time=}`, likewise
-- @tparam[opt] table code of `{pid=, time=}`, sorted by time: when code that a process made replaced other code, which
-- begins another life of it
-- @treturn programs with `lives` of processes and `threads`, those of threads by their names, for `blocks.counter`
-- @usage
-- local programs = require "pfm.recording.programs"
-- local p = programs.new({ { "EXEC", 1000, 7, 7, "prog" }, { "MAP", 1001, 7, 7, 4096, 8192, 0, "/bin/prog" } }, {}, {})
-- print(p:name(p.lives:at(7, 2000)), #p:maps(p.lives:at(7, 2000))) --> prog 1
function programs.new(records, maps, names, code)
   local self = setmetatable({ lives = blocks.lives(), threads = blocks.lives(), thread_names = {}, known = {},
      began = {} }, programs)
   name_threads(self, namings(records, names))
   for _, row in ipairs(records) do
      if begins_life(row) then self.lives:begin(row[3], row[2]) end
   end
   for _, c in ipairs(code or {}) do self.lives:begin(c.pid, c.time) end
   replay(self, in_order(records, maps, code or {}))
   name_all(self, names)
   return self
end

--- The program that ran in a life.
-- @number life
-- @return its name, or nil where it is not known
function programs:name(life)
   local its, generation = self.known[life], 0
   while its and not its.name and generation < FAR do its, generation = its.parent, generation + 1 end
   return its and its.name
end

--- The name that a thread had.
-- @number thread of `threads`
-- @treturn ?string nil where it is not known
function programs:thread_name(thread)
   return self.thread_names[thread]
end

--- What was mapped in a life: a process that has executed nothing has what its parent had.
-- @number life
-- @treturn table of lists of `{start, stop, offset, path}`, the latest first
function programs:maps(life)
   local out, its, generation = {}, self.known[life], 0
   while its and generation < FAR do
      for _, maps in ipairs(its.maps) do out[#out + 1] = maps end
      its, generation = its.parent, generation + 1
   end
   return out
end

--- When a life began of which others differ in the code that the process made.
-- @number life
-- @treturn number ns; 0: before there was any
function programs:since(life)
   return self.began[life] or 0
end

--- The lives of a process that are known.
-- @number pid
-- @treturn table of numbers
function programs:lives_of(pid)
   local out = {}
   for n = 0, self.lives:count(pid) do out[n + 1] = pid + n * LIFE end
   return out
end

return programs
