-- SPDX-License-Identifier: MIT
--- What a page shows of a recording: its stacks, once each, as a tree, and how many samples each
-- had, by thread and slice of time. Of very many stacks, threads or slices, rarer ones are joined.
-- @module pfm.export.html.data

local analyze = require "pfm.analyze"
local chain = require "pfm.recording.chain"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local render = require "pfm.render"
local programs = require "pfm.recording.programs"
local samples = require "pfm.recording.samples"
local tables = require "pfm.util.tables"
local stacks = require "pfm.recording.stacks"

local data = {}

--- The bounds of what a page shows; a spec sets lower ones. A cell has the samples of one event,
-- stack, thread and slice of time; `name` is the length of a name.
data.most = { cells = 120000, nodes = 30000, stacks = 30000, threads = 1000, slices = 240, name = 200 }
local LEAST = { slices = 15, stacks = 500, threads = 50 } -- bounds are lowered to these at first
local HALVED = { "slices", "stacks", "threads" }          -- in this order, until all fits

local KIND = { symbol = 0, kernel = 1, inlined = 2, object = 3, rest = 4 }
local KERNEL, REST = "[kernel]", "(rarer stacks)"

-- --- collecting the samples ----------------------------------------------------------------------

-- Returns a list and a function that numbers ids from 1 and puts what make() returns into the list.
local function numbering(make)
   local list, numbers = {}, {}
   return list, function(id, ...)
      local n = numbers[id]
      if not n then
         n = #list + 1
         list[n], numbers[id] = make(...), n
      end
      return n
   end
end

-- Without call stacks, the frame that stands for an object has no `object` field.
local function kind_of(frame)
   if frame.kind == "inlined" then return KIND.inlined end
   if not frame.object then return KIND.object end
   return frame.object == KERNEL and KIND.kernel or KIND.symbol
end

local function new_frame(name, object, kind)
   return { name = render.shorten(name, data.most.name), object = object, kind = kind }
end

-- Adds the frames of `code` to all.frame; returns their numbers there.
local function numbers_of(all, code)
   local out = {}
   for i, frame in ipairs(code) do
      local object, kind = frame.object and render.printable(stacks.base_name(frame.object)) or "", kind_of(frame)
      out[i] = all.frame(frame.name .. "\0" .. object .. "\0" .. kind, frame.name, object, kind)
   end
   return out
end

-- Makes a tree of frames: node 1 is the root, and each parent is before its children.
local function new_tree()
   return { parents = { 0 }, frames = { 0 }, by_id = {} }
end

local function child_of(tree, node, frame)
   local id = node * 2 ^ 24 + frame
   local child = tree.by_id[id]
   if not child then
      child = #tree.parents + 1
      tree.parents[child], tree.frames[child], tree.by_id[id] = node, frame, child
   end
   return child
end

local function descend(tree, node, path)
   for i = 1, #path do node = child_of(tree, node, path[i]) end
   return node
end

local function collection(self)
   local all = { events = {}, by_event = {}, tree = new_tree(), stacks = {}, samples = {} }
   all.frames, all.frame = numbering(new_frame)
   all.rest = all.frame(REST, REST, "", KIND.rest)
   all.threads, all.thread = numbering(function(tid, life)
      return { tid = programs.pid(tid), pid = programs.pid(life), comm = samples.comm(self, tid, life),
         process = samples.process(self, life), from = self.sources and samples.origin(self, life),
         samples = 0 }
   end)
   for i, e in ipairs(self.head.events) do
      all.events[i] = { event = e, samples = {}, sums = {} }
      all.by_event[e] = all.events[i]
   end
   return all
end

-- Node, thread and slice are packed into one number, since there are many groups.
local WIDTH = 2 ^ 17 -- threads, at most
local function pack(node, thread, slice) return (node * WIDTH + thread) * data.most.slices + slice end
local function unpack_key(key)
   local slice = key % data.most.slices
   local rest = (key - slice) / data.most.slices
   local thread = rest % WIDTH
   return (rest - thread) / WIDTH, thread, slice
end

local function add(event, key, n, sum)
   event.samples[key] = (event.samples[key] or 0) + n
   event.sums[key] = (event.sums[key] or 0) + sum
end

-- Returns a function that finds the frames of the code at an address, the outermost first. It looks
-- each address up once.
local function code_finder(self, all)
   local resolver, chained, known = embedded_symbols.resolver(self), self:has_stacks(), {}
   return function(pid, address)
      local of_process = known[pid] or {}
      known[pid] = of_process
      local found = of_process[address]
      if not found then
         found = numbers_of(all, stacks.code({ resolver:resolve(pid, address) }, chained, {}))
         of_process[address] = found
      end
      return found
   end
end

-- Returns a number for a sample's callers; other callers may by chance have the same.
local function hash_of(addresses)
   local hash = #addresses
   for i = 2, #addresses do hash = (hash * 33 + addresses[i]) % 4294967291 end
   return hash
end

local function same_callers(a, b)
   if #a ~= #b then return false end
   for i = 2, #a do
      if a[i] ~= b[i] then return false end
   end
   return true
end

-- Returns a function that finds the node of a sample's callers. It keeps callers, because most
-- stacks differ only in the sampled address, and comparing costs much less than walking the tree.
local function callers_finder(all, code_at)
   local kept = {}
   return function(pid, addresses)
      local hash = hash_of(addresses)
      local last = kept[hash]
      if last and last.pid == pid and same_callers(last.addresses, addresses) then return last.node end
      local node = 1
      for i = #addresses, 2, -1 do node = descend(all.tree, node, code_at(pid, addresses[i])) end
      kept[hash] = { pid = pid, addresses = addresses, node = node }
      return node
   end
end

-- Returns a function that finds the node of a sample's stack in the tree of all.
local function node_finder(self, all)
   local code_at = code_finder(self, all)
   local callers_at = callers_finder(all, code_at)
   return function(pid, ip, number)
      local callers = number and callers_at(pid, chain.addresses(self, ip, number)) or 1
      return descend(all.tree, callers, code_at(pid, ip))
   end
end

local function add_samples(all, node, thread, n)
   if not all.samples[node] then all.stacks[#all.stacks + 1] = node end
   all.samples[node] = (all.samples[node] or 0) + n
   all.threads[thread].samples = all.threads[thread].samples + n
end

local function collect(self)
   local all, first, last = collection(self), analyze.span(self)
   all.step = math.max(1, math.ceil((last - first + 1) / data.most.slices))
   local find = node_finder(self, all)
   local keys = chain.keys(self, { "pid", "tid", "set", "ovfl_pmd", "ip",
      { "tstamp", from = first, step = all.step } })
   local groups, chained = self:group_by { keys = keys }, self:has_stacks()
   for pid, tid, set, pmd, ip, slice, a, b, c in groups:rows() do
      local number, n, sum = chained and a or nil, chained and b or a, chained and c or b
      local event = all.by_event[samples.event(self, pmd, set)]
      if event then
         local node, thread = find(pid, ip, number), all.thread(pid .. " " .. tid, tid, pid)
         add_samples(all, node, thread, n)
         add(event, pack(node, thread, math.min(slice, data.most.slices - 1)), n, sum)
      end
   end
   return all
end

-- --- keeping what fits ---------------------------------------------------------------------------

-- Sorts the numbers in a list, those with the most samples first.
local function by_samples(list, samples_of)
   local out = {}
   for i = 1, #list do out[i] = list[i] end
   table.sort(out, function(a, b)
      if samples_of[a] ~= samples_of[b] then return samples_of[a] > samples_of[b] end
      return a < b
   end)
   return out
end

-- Returns the frames on the way to a node, the outermost first.
local function path_to(tree, node)
   local out, depth, at = {}, 0, node
   while at > 1 do at, depth = tree.parents[at], depth + 1 end
   for i = depth, 1, -1 do out[i], node = tree.frames[node], tree.parents[node] end
   return out
end

-- Returns the frame of the function that a stack's samples lie in.
local function function_at(all, node)
   local tree = all.tree
   while node > 1 do
      local kind = all.frames[tree.frames[node]].kind
      if kind == KIND.symbol or kind == KIND.kernel then return tree.frames[node] end
      node = tree.parents[node]
   end
end

-- Returns the node for the function that a stack's samples lie in, without its callers.
local function alone(all, tree, node)
   local rest, frame = child_of(tree, 1, all.rest), function_at(all, node)
   return frame and child_of(tree, rest, frame) or rest
end

-- Returns a tree within the bounds, a table from the nodes of the full tree to its nodes, and what
-- was left out: of the stacks beyond the bounds, the tree has the functions without their callers.
local function plant(all, most)
   local tree, nodes, left = new_tree(), {}, { stacks = 0, samples = 0, limit = most.stacks }
   for i, node in ipairs(all.stacks) do
      local path = i <= most.stacks and path_to(all.tree, node)
      if path and #tree.parents + #path <= data.most.nodes then
         nodes[node] = descend(tree, 1, path)
      else
         nodes[node] = alone(all, tree, node)
         left.stacks, left.samples = left.stacks + 1, left.samples + all.samples[node]
      end
   end
   return tree, nodes, left
end

local function choose_threads(all, most)
   local numbers, kept, order, samples_of = {}, {}, {}, {}
   for i, thread in ipairs(all.threads) do order[i], samples_of[i] = i, thread.samples end
   for i, number in ipairs(by_samples(order, samples_of)) do
      local at = math.min(i, most.threads)
      numbers[number] = at
      kept[at] = kept[at] and i > most.threads and { others = i - at + 1 } or all.threads[number]
   end
   return numbers, kept
end

-- Returns an event's cells and their number, or nil if there are more than `room`.
local function cells_of(event, got, slices, room)
   local out, merged, n = { samples = {}, sums = {} }, data.most.slices / slices, 0
   for key, count in pairs(event.samples) do
      local node, thread, slice = unpack_key(key)
      local at = pack(got.nodes[node], got.numbers[thread], math.floor(slice / merged))
      if not out.samples[at] then
         n = n + 1
         if n > room then return nil end
      end
      add(out, at, count, event.sums[key])
   end
   return out, n
end

-- Puts together what a page has with these bounds. Also returns false if there are more cells than
-- `room`. If the bound of stacks is that of the last attempt, that attempt's tree is used again.
local function attempt(all, most, room, last)
   local got = { cells = {} }
   if last and last.left.limit == most.stacks then
      got.tree, got.nodes, got.left = last.tree, last.nodes, last.left
   else
      got.tree, got.nodes, got.left = plant(all, most)
   end
   got.numbers, got.threads = choose_threads(all, most)
   for i, event in ipairs(all.events) do
      local n
      got.cells[i], n = cells_of(event, got, most.slices, room)
      if not got.cells[i] then return got, false end
      room = room - n
   end
   return got, true
end

-- Halves one of the bounds; returns false if none can be halved further.
local function lessen(most, used)
   for _, floor in ipairs { LEAST, { slices = 1, stacks = 1, threads = 1 } } do
      for _, name in ipairs(HALVED) do
         local now = math.min(most[name], used[name])
         if now > floor[name] then
            most[name] = math.max(floor[name], math.floor(now / 2))
            return true
         end
      end
   end
   return false
end

local function fit(all)
   all.stacks = by_samples(all.stacks, all.samples)
   local most = { slices = data.most.slices, stacks = data.most.stacks, threads = data.most.threads }
   local got, fits = attempt(all, most, data.most.cells)
   local used = { slices = most.slices, stacks = #all.stacks - got.left.stacks, threads = #all.threads }
   while not fits do
      local less = lessen(most, used)
      got, fits = attempt(all, most, less and data.most.cells or math.huge, got)
   end
   got.slices = most.slices
   return got
end

-- --- the data as the page has them ---------------------------------------------------------------

-- Returns cells as columns, counted from 0; `events` only if no fixed period gives the sums.
local function columns_of(cells, period)
   local out = { node = {}, thread = {}, slice = {}, samples = {}, events = not period and {} or nil }
   for i, key in ipairs(tables.keys(cells.samples)) do
      local node, thread, slice = unpack_key(key)
      out.node[i], out.thread[i], out.slice[i], out.samples[i] = node - 1, thread - 1, slice, cells.samples[key]
      if not period then out.events[i] = cells.sums[key] end
   end
   return out
end

local function less_one(list)
   return tables.map(list, function(n) return n - 1 end)
end

-- Returns the frames of a tree as columns, the objects (each once), and for each node its frame's
-- number.
local function frames_of(all, tree)
   local out = { name = {}, object = {}, kind = {} }
   local objects, object = numbering(function(name) return name end)
   local _, frame = numbering(function(f, n)
      out.name[n], out.object[n], out.kind[n] = f.name, object(f.object, f.object) - 1, f.kind
      return f
   end)
   local at = { -1 }
   for i = 2, #tree.frames do
      local f = all.frames[tree.frames[i]]
      at[i] = frame(tree.frames[i], f, #out.name + 1) - 1
   end
   return out, objects, at
end

-- Returns the names of merged recordings, sorted by rank, and the number of each, by its origin.
local function recordings_of(self)
   local parts, names, numbers = {}, {}, {}
   for i, part in ipairs(self.parts or {}) do parts[i] = part end
   table.sort(parts, function(a, b)
      local x, y = a.from.rank or math.huge, b.from.rank or math.huge
      if x ~= y then return x < y end
      return a.from.recording < b.from.recording
   end)
   for i, part in ipairs(parts) do names[i], numbers[part.from] = part.from.recording, i - 1 end
   return #names > 0 and names or nil, numbers
end

local function threads_of(list, numbers)
   local out = {}
   for i, t in ipairs(list) do
      local before = t.from and t.from.recording .. ": " or ""
      out[i] = t.others and { name = ("%s others"):format(render.number(t.others)) }
         or { name = ("%s%d %s"):format(before, t.tid, t.comm), process = ("%d %s"):format(t.pid, t.process),
            recording = t.from and numbers[t.from] }
   end
   return out
end

local function left_out(got, all)
   local out, left = {}, got.left
   if left.stacks > 0 then
      local all_samples = 0
      for _, node in ipairs(all.stacks) do all_samples = all_samples + all.samples[node] end
      out[1] = ("the callers in %s with %.2f%% of the samples: their functions stand under \"%s\""):format(
         render.plural(left.stacks, "rare stack"), left.samples / all_samples * 100, REST)
   end
   if #got.threads < #all.threads then
      out[#out + 1] = ("the names of %s with few samples: they are counted together"):format(
         render.plural(#all.threads - #got.threads + 1, "thread"))
   end
   return out
end

--- Returns what the script of an HTML page reads: the samples by call stack, thread and slice of
-- time.
-- @tparam table self of `recording.open`
-- @treturn table as the page's script reads it: `events` (`name`, `unit`, `period`, `cells`),
-- `frames`, `objects`, `tree`, `threads`, `recordings` (names, if there are many), `slices`, `step`
-- (s of a slice), `chained`; numbers that refer to others count from 0
-- @treturn {string,...} what was left out, in words
-- @usage print(#require("pfm.export.html.data").of(assert(recording.open "lpfm.data")).threads)
function data.of(self)
   local all = collect(self)
   local got = fit(all)
   local recordings, numbers = recordings_of(self)
   local out = { events = {}, threads = threads_of(got.threads, numbers), recordings = recordings,
      slices = got.slices, chained = self:has_stacks(),
      step = all.step * data.most.slices / got.slices / 1e9,
      tree = { parent = less_one(got.tree.parents) } }
   out.frames, out.objects, out.tree.frame = frames_of(all, got.tree)
   for i, event in ipairs(all.events) do
      local period = self.head.fixed and event.event.period or nil
      out.events[i] = { name = event.event.name, unit = event.event.unit, period = period,
         cells = columns_of(got.cells[i], period) }
   end
   return out, left_out(got, all)
end

return data
