-- SPDX-License-Identifier: MIT
--- The code of sampled functions: their instructions and source lines, with the samples that lie
-- there.
--
-- objdump gives the instructions and their lines; the source is read from the files that it names.
-- @module pfm.recording.code

local files = require "pfm.recording.files"
local nearest = require "pfm.util.nearest"
local objects = require "lpfm.symbols"
local shell = require "pfm.util.shell"
local stacks = require "pfm.recording.stacks"
local stat = require("posix.sys.stat").stat
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local code = {}

-- --- functions -----------------------------------------------------------------------------------

local function add(to, from)
   to.samples, to.events = (to.samples or 0) + from.samples, (to.events or 0) + from.events
end

-- Returns the share, in percent, that a part has of a whole's events, as reports compute it.
local function percent(part, whole)
   return whole.events > 0 and part.events / whole.events * 100 or 0
end

-- Returns the functions that samples of an event lie in, the hottest first; and the sums of their
-- samples and events.
local function functions_of(self, event)
   local by_id, out, total = {}, {}, { samples = 0, events = 0 }
   for _, row in ipairs(stacks.places(self)) do
      if row.event == event then
         local where = row.where
         local id = ("%s\0%s\0%s"):format(where.object, where.identity or "", where.func)
         local f = by_id[id] or tables.enter(by_id, id, { name = where.func, object = where.object,
            path = where.path or where.object, where = where, samples = 0, events = 0, rows = {}, inner = {} }, out)
         f.rows[#f.rows + 1] = row
         add(f, row)
         add(total, row)
         for _, frame in ipairs(symbols.frames(row.where)) do f.inner[frame.name] = true end
      end
   end
   table.sort(out, function(a, b)
      if a.events ~= b.events then return a.events > b.events end
      return a.name < b.name
   end)
   return out, total
end

-- Returns the functions of a name; else those with that name in their source (`foo.cold` is foo);
-- else those into which a function of that name was inlined.
local function named(list, name)
   local own, made, around = {}, {}, {}
   for _, f in ipairs(list) do
      local into = f.name == name and own or symbols.source_name(f.name) == name and made or f.inner[name] and around
      if into then into[#into + 1] = f end
   end
   return #own > 0 and own or #made > 0 and made or around
end

-- Says which function is meant, or which have the most samples; likewise of objects.
local function hint(list, name, what)
   local names, seen = {}, {}
   for _, f in ipairs(list) do
      if not seen[what(f)] then tables.enter(seen, what(f), what(f), names) end
   end
   local near = nearest.hint(name, names)
   return near ~= "" and near or "; most samples are in "
      .. table.concat(tables.slice(names, 1, math.min(#names, 5)), ", ")
end

local function matching(list, name, object)
   local out, n = {}, 0
   for _, f in ipairs(name and named(list, name) or list) do
      if not object or f.object == object or stacks.base_name(f.path) == object then
         out[#out + 1], n = f, n + f.samples
      end
   end
   return out, n
end

local function refuse(self, list, name, opts)
   if #list == 0 then
      error(("there are no samples %sin %s"):format(opts.event and "of " .. opts.event .. " " or "", self.path), 0)
   end
   -- if no sample lies in the object, the message names the object only
   if name and opts.object and #matching(list, nil, opts.object) == 0 then name = nil end
   local function object_of(f) return stacks.base_name(f.path) end
   local other = name and hint(list, name, function(f) return f.name end) or hint(list, opts.object, object_of)
   error(("no samples %slie in %s%s"):format(opts.event and "of " .. opts.event .. " " or "",
      name and "'" .. name .. "'" or opts.object, other), 0)
end

-- Returns the functions to show, the event, and the sums of all its samples and their events. If a
-- function or an object is chosen and no event, the event is the one with the most samples there.
local function choose(self, name, opts)
   local best, any = nil, {}
   for _, event in ipairs(opts.event and { stacks.event(self, opts.event) } or self.head.events) do
      local list, all = functions_of(self, event)
      local chosen, n = matching(list, name, opts.object)
      if n > 0 and (not best or (name or opts.object) and n > best.n) then
         best = { list = chosen, event = event, all = all, n = n }
      end
      for _, f in ipairs(list) do any[#any + 1] = f end
   end
   if not best then refuse(self, any, name, opts) end
   return best.list, best.event, best.all
end

-- --- the code ------------------------------------------------------------------------------------

-- Returns the address within the object if it is known, else the sampled address.
local function address_of(row)
   return row.where.own or row.where.address
end

-- Returns the sums of samples by address, and the highest address.
local function by_address(f)
   local counts, high = {}, -math.huge
   for _, row in ipairs(f.rows) do
      local at = address_of(row)
      counts[at] = counts[at] or {}
      add(counts[at], row)
      high = math.max(high, at)
   end
   return counts, high
end

local NONE = { samples = 0, events = 0 }

-- Parses what objdump prints: instructions, some of them after an inlined function, file and line.
local function parse_code(text, counts, total)
   local out, file, line, func = {}, nil, nil, nil
   for row in text:gmatch("[^\n]+") do
      local address, text_of = row:match("^%s+(%x+):\t(.*)$")
      local path, number = row:match("^(/?[^\t]-):(%d+)[ %(%)%w]*$")
      if address then
         local at = tonumber(address, 16)
         local own = counts[at] or NONE
         out[#out + 1] = { address = at, text = text_of:gsub("%s+$", ""), samples = own.samples, events = own.events,
            percent = percent(own, total), file = file, line = line, func = func }
      elseif path then
         file, line = path, tonumber(number)
      else
         func = row:match("^(.+)%(%):$") or func
      end
   end
   return out
end

local function disassemble(f, counts, high)
   shell.need("objdump", "binutils")
   local _, start, size = f.where.handle:func(f.where.own)
   local stop = size > 0 and start + size or high + 16
   local line = "objdump -d -l -C --no-show-raw-insn --start-address=%s --stop-address=%s %s"
   local text = shell.read(line:format(symbols.hex(start), symbols.hex(stop), shell.quote(f.path)))
   return parse_code(text, counts, f)
end

-- Returns what is known without a disassembly: the addresses with samples, and perhaps their lines.
local function addresses_only(f, counts)
   local out, seen = {}, {}
   for _, row in ipairs(f.rows) do
      local at = address_of(row)
      if not seen[at] then
         local file, line = symbols.line(row.where)
         out[#out + 1] = { address = at, text = "", samples = counts[at].samples, events = counts[at].events,
            percent = percent(counts[at], f), file = file, line = line }
         seen[at] = true
      end
   end
   table.sort(out, function(a, b) return a.address < b.address end)
   return out
end

-- Returns the samples by source line, in the order of files and lines.
local function lines_of(instructions, total)
   local by_id, out = {}, {}
   for _, i in ipairs(instructions) do
      local id = i.file and i.file .. ":" .. i.line
      local l = id and (by_id[id]
         or tables.enter(by_id, id, { file = i.file, line = i.line, samples = 0, events = 0 }, out))
      if l then add(l, i) end
   end
   for _, l in ipairs(out) do l.percent = percent(l, total) end
   table.sort(out, tables.by("file", "line"))
   return out
end

-- Returns why the sampled code is not available, or nil; and true if the file has other code now.
local function obstacle(self, f)
   if not f.where.handle and f.where.missing then return f.where.missing end
   if not f.where.handle or f.object:sub(1, 1) ~= "/" then return "this code is in no file" end
   local found, why = stat(f.path)
   if not found then return why end
   local known = self.objects[f.object] or {}
   local id = f.where.identity or known.build_id
   if not id or not files.is_another(f.path, id) then return nil end
   local what = id:find("^inode") and "it was replaced" or ("its build id is %s, not %s"):format(
      objects.build_id(f.path) or "missing", id)
   return ("%s is another than was recorded: %s"):format(f.path, what), true
end

-- Returns the instructions; if `partly` is true and there are none, nil and why.
local function instructions_of(f, counts, high, partly)
   if not partly then return disassemble(f, counts, high) end
   local ok, list = pcall(disassemble, f, counts, high)
   return ok and list or nil, not ok and list or nil
end

local function code_of(self, f, all, partly)
   local counts, high = by_address(f)
   local instructions, why, changed = nil, obstacle(self, f)
   if not why then instructions, why = instructions_of(f, counts, high, partly) end
   local disassembled = instructions ~= nil
   instructions = instructions or addresses_only(f, counts)
   return {
      symbol = f.name, object = f.object, samples = f.samples, events = f.events, percent = percent(f, all),
      instructions = instructions, lines = lines_of(instructions, f), disassembled = disassembled,
      why = why, changed = changed,
   }
end

--- Annotates functions.
-- @tparam table self of `recording.open`
-- @string[opt] name the function, or one inlined into others; by default that of the most events
-- @tparam[opt] table opts `event` (a name; by default the one with most samples there),
-- `object` (a path or its last part), `top` (how many functions),
-- `partly` (of objects that cannot be read give the addresses alone, instead of an error)
-- @treturn table of `symbol`, `object`, `event`, `samples`, `events` (that they stand for),
-- `percent` (of all those), `instructions` (of `address`, `text`, `samples`, `events`, `percent` of
-- the function's, `file`, `line`, `func`: the inlined one), `lines` (of `file`, `line`, `samples`,
-- `events`, `percent`), `disassembled` (false: only samples' addresses; `why` is the reason),
-- `changed` (the file has other code now)
-- @usage require("pfm.recording.code").functions(assert(recording.open "lpfm.data"))[1].lines
function code.functions(self, name, opts)
   opts = opts or {}
   local chosen, event, all = choose(self, name, opts)
   local out = {}
   for i = 1, math.min(opts.top or (name and #chosen or 1), #chosen) do
      out[i] = code_of(self, chosen[i], all, opts.partly)
      out[i].event = event.name
   end
   return out
end

--- Makes a function that returns lines of source files, and reads each file once.
-- @treturn function `(path, number)`: the line, or nil where the file or the line is not there
-- @usage print(require("pfm.recording.code").source_reader()("/etc/hosts", 1))
function code.source_reader()
   local sources = {}
   return function(path, number)
      if sources[path] == nil then
         local file = io.open(path, "r")
         sources[path] = {}
         for line in file and file:lines() or function() end do
            table.insert(sources[path], (line:gsub("\t", "        "):gsub("%c", "")))
         end
         if file then file:close() end
      end
      return sources[path][number]
   end
end

return code
