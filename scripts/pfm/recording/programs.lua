-- SPDX-License-Identifier: MIT
--- Which programs ran when: found from a recording's records of mappings, execs and forks.
--
-- A pid stands for several programs, one after the other, and each can map other files. The time
-- from one such change to the next is a life (see `lives` of `lpfm.samples`). A record is a list:
-- kind, time (ns), pid, tid, and for "MAP": start, stop, offset, path, build id; for "EXEC" and
-- "RENAME": name; for "FORK": parent's pid and tid; for "LOST": how many, why.
-- @module pfm.recording.programs

local stored = require "lpfm.samples"
local mappings = require "pfm.recording.mappings"
local tables = require "pfm.util.tables"

local programs = {}
programs.__index = programs

local LIFE = 2 ^ 32     -- the number of a process's n-th life is pid + n * LIFE
local LIVES = 2 ^ 20 - 1 -- most lives of a process
local FAR = 64          -- generations: a name is inherited over that many forks without exec
-- the order of entries with the same time
local ORDER = { DOUBT = 0, FORK = 1, EXEC = 2, CODE = 3, MAPS = 4, MAP = 5, RENAME = 6 }

--- Returns the process id that belongs to a life.
-- @number life
-- @treturn number
-- @usage require("pfm.recording.programs").pid(7 + 2 ^ 32) --> 7
function programs.pid(life)
   return life % LIFE
end

--- Returns a buffer's record as recordings store it.
-- @tparam table r of `buffer:records`
-- @treturn table
-- @usage require("pfm.recording.programs").row { kind = "EXIT", tstamp = 5, pid = 7, tid = 7 }
function programs.row(r)
   local row = { r.kind, r.tstamp, r.pid, r.tid }
   local more = r.kind == "MAP" and { r.addr, r.addr + r.len, r.offset, r.path, r.build_id }
      or (r.kind == "EXEC" or r.kind == "RENAME") and { r.comm } or r.kind == "FORK" and { r.ppid, r.ptid }
      or r.kind == "LOST" and { r.count, r.why } or {}
   return tables.append(row, more)
end

-- --- the order of records ------------------------------------------------------------------------

-- Returns a list, sorted by time, of all that begins a life, or maps or names something: records,
-- code that was replaced, and snapshots of /proc. A snapshot also has an entry `doubt` at an
-- earlier time, just after the snapshot before: its mappings may exist from then on.
local function in_order(records, maps, code)
   local list, last = {}, {}
   local function put(time, what, i, fields)
      fields.time, fields.order, fields.i = time, ORDER[what], i
      list[#list + 1] = fields
   end
   for i, c in ipairs(code) do put(c.time, "CODE", i, { code = c }) end
   for i, row in ipairs(records) do
      if ORDER[row[1]] then put(row[2], row[1], i, { row = row }) end
   end
   for i, m in ipairs(maps) do
      local time, known = m.time or 0, m.before or last[m.pid]
      if known and known < time then put(known + 1, "DOUBT", i, { doubt = m.pid }) end
      put(time, "MAPS", i, { maps = m })
      last[m.pid] = time
   end
   table.sort(list, tables.by("time", "order", "i"))
   return list
end

-- --- the lives of processes ----------------------------------------------------------------------

local function new_life(program, began)
   return { program = program, n = program.maps.n, doubt = program.maps.n, began = began }
end

-- Returns the lives of a process so far. Life 0 is the time before its first record.
local function lives_of(self, pid)
   local list = self.known[pid] or tables.enter(self.known, pid, { [0] = new_life({ maps = mappings.new() }, 0) })
   return list
end

local function current(self, pid)
   local list = lives_of(self, pid)
   return list[#list]
end

local function begin(self, pid, time, life)
   local list = lives_of(self, pid)
   if #list == LIVES then return nil end
   self.lives:begin(pid, time)
   list[#list + 1] = life
   return life
end

-- Begins another life of the same program, with other code or mappings; returns nil if there are
-- too many. If the life before is in doubt (see begin_doubt()), the new one is, too.
local function go_on(self, pid, time, began)
   local now = current(self, pid)
   local life = new_life(now.program, began or now.began)
   life.in_doubt = now.in_doubt
   return begin(self, pid, time, life)
end

local take = {}

-- A new process gets the name that its creator, a thread, has now: later the thread may be renamed.
function take.FORK(self, row)
   if row[1] ~= "EXEC" and (row[1] ~= "FORK" or row[3] == row[5]) then return end
   local parent = current(self, row[5]).program
   local name = self.thread_names[self.threads:at(row[4], row[2])] or parent.name
   begin(self, row[3], row[2], new_life({ maps = mappings.new(parent.maps), parent = parent, name = name,
      parent_life = row[5] + #lives_of(self, row[5]) * LIFE }, 0))
end

function take.EXEC(self, row)
   begin(self, row[3], row[2], new_life({ maps = mappings.new(), name = row[5] }, 0))
end

-- A process has the name of its first thread.
function take.RENAME(self, row)
   if row[3] == row[4] then current(self, row[3]).program.name = row[5] end
end

-- Adds mappings of a process. If they replace other mappings, its later samples are resolved apart
-- from its earlier ones. `from_proc` is true if the mappings were read from /proc, and not from
-- records.
local function map(self, pid, time, rows, from_proc)
   local program, changes = current(self, pid).program, false
   for _, row in ipairs(rows) do changes = program.maps:add(row, from_proc) or changes end
   if changes and not go_on(self, pid, time) then program.full = program.full or program.maps.n - #rows end
   local life = current(self, pid)
   life.n, life.doubt = program.maps.n, program.maps.n
end

function take.MAP(self, row)
   map(self, row[3], row[2], { { row[5], row[6], row[7], row[8], row[9] } })
end

-- Begins a life in doubt: from now to the next snapshot of /proc, it is not known which of the
-- mappings that the snapshot will show are there already.
local function begin_doubt(self, pid, time)
   local life = go_on(self, pid, time)
   if life then life.in_doubt = true end
end

local function end_doubt(self, pid, n)
   local list = lives_of(self, pid)
   local i = #list
   while list[i] and list[i].in_doubt do
      list[i].doubt, list[i].in_doubt = n, nil
      i = i - 1
   end
end

local function take_maps(self, m, time)
   local program = current(self, m.pid).program
   end_doubt(self, m.pid, program.maps.n + #m.maps)
   map(self, m.pid, time, m.maps, true)
end

local function replay(self, list)
   for _, e in ipairs(list) do
      if e.code then
         go_on(self, e.code.pid, e.time, e.time)
      elseif e.doubt then
         begin_doubt(self, e.doubt, e.time)
      elseif e.maps then
         take_maps(self, e.maps, e.time)
      else
         take[e.row[1]](self, e.row)
      end
   end
end

local function life_of(self, key)
   local pid = programs.pid(key)
   return lives_of(self, pid)[(key - pid) / LIFE]
end

-- Gives programs the names that were read from /proc while they ran: these are newer than the name
-- in the record of the exec.
local function name_all(self, names)
   for _, c in ipairs(names) do
      if c.time and c.tid == c.pid then life_of(self, self.lives:at(c.pid, c.time)).program.name = c.comm end
   end
end

-- Lists when threads get names: by RENAME or EXEC, from their creators, or as /proc shows them.
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
   table.sort(list, tables.by("time", "order", "i"))
   return list
end

-- Begins a life of a thread wherever its name changes. A new thread has its creator's name; a name
-- in /proc that is known already changes nothing.
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

--- Finds the programs in records.
-- @tparam table records
-- @tparam table maps of `{pid=, maps=, time=, before=}`: mappings that were read from /proc at
-- `time` (ns), and when those read before were last seen
-- @tparam table names of `{tid=, pid=, comm=, time=}`, likewise
-- @tparam[opt] table code of `{pid=, time=}`, sorted by time: when code that a process made
-- replaced other code, which begins another life of it
-- @treturn programs with `lives` of processes and `threads`, those of threads by their names, for
-- `stored.counter`
-- @usage
-- local programs = require "pfm.recording.programs"
-- local p = programs.new({ { "EXEC", 1000, 7, 7, "prog" }, { "MAP", 1001, 7, 7, 4096, 8192, 0, "/bin/prog" } }, {}, {})
-- print(p:name(p.lives:at(7, 2000)), p:find(p.lives:at(7, 2000), 5000)[4]) --> prog /bin/prog
function programs.new(records, maps, names, code)
   local self = setmetatable({ lives = stored.lives(), threads = stored.lives(), thread_names = {}, known = {} },
      programs)
   name_threads(self, namings(records, names))
   replay(self, in_order(records, maps, code or {}))
   name_all(self, names)
   return self
end

--- Returns the name of the program that ran in a life.
-- @number life
-- @return its name, or nil where it is not known
function programs:name(life)
   local its, generation = life_of(self, life), 0
   its = its and its.program
   while its and not its.name and generation < FAR do its, generation = its.parent, generation + 1 end
   return its and its.name
end

--- Returns the name that a thread had.
-- @number thread of `threads`
-- @treturn ?string nil where it is not known
function programs:thread_name(thread)
   return self.thread_names[thread]
end

--- Finds what was mapped at an address in a life; if the process made no exec, also by its parent.
-- @number life
-- @number address
-- @return `{start, stop, offset, path, identity}`; false: one of several, and it is not known
-- which; nil: nothing that the recording knows of
function programs:find(life, address)
   local its = life_of(self, life)
   local maps, full = its.program.maps, its.program.full
   local row = maps:at(address, its.n, its.doubt)
   if full and its.n > full and row ~= maps:at(address, full) then return false end
   return row
end

--- Lists all that was mapped at an address in any life of a program.
-- @number life
-- @number address
-- @treturn table of mappings
-- @treturn number up to which address the list is the same
function programs:ever(life, address)
   return life_of(self, life).program.maps:ever(address)
end

--- Iterates over what a program had mapped.
-- @number life
-- @return iterator of mappings, the latest first
function programs:each(life)
   return life_of(self, life).program.maps:each()
end

--- Returns the life that the parent was in when it forked the process.
-- @number life
-- @treturn ?number nil: the process has executed a program since, or it is not known
function programs:parent(life)
   local its = life_of(self, life)
   return its and its.program.parent_life
end

--- Says when the process last replaced generated code by other code, up to the beginning of a life.
-- @number life
-- @treturn number ns; 0: it had replaced none
function programs:since(life)
   return life_of(self, life).began
end

--- Says how many lives a process has at most.
-- @treturn number
function programs:most()
   local most = 1
   for _, list in pairs(self.known) do most = math.max(most, #list + 1) end
   return most
end

--- Lists the programs that ran under a process id.
-- @number pid
-- @treturn table of lives, one for each program
function programs:each_of(pid)
   local out, seen = {}, {}
   for n = 0, #lives_of(self, pid) do
      local program = lives_of(self, pid)[n].program
      if not seen[program] then out[#out + 1] = pid + n * LIFE end
      seen[program] = true
   end
   return out
end

return programs
