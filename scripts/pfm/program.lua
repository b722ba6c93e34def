-- SPDX-License-Identifier: MIT
--- Programs for the sampling format "program": expressions about an overflow, made into classic
-- BPF.
--
-- `program.where` and `program.bucket` make the usual ones. An expression has numbers of 64 bits
-- without a sign, the operators of C (`+ - * / % & | ^ ~ << >>`, `== ~= < <= > >=`) with `and`,
-- `or`, `not`, and `x in {1, 5..9}`; `log2(x)`, `min(a, b)`, `max(a, b)`; and of the overflow:
--
--    ip                  the address; ip in 'libc': where that object is mapped; 'kernel'
--    pid tid cpu         process, thread, processor
--    time                ns
--    set counter         the event set, and the PMD that overflowed
--    last_reset period   the value that the last reset gave to the PMD; -last_reset, in events
--    pmd.NAME pmd5       the value of a sampled PMD, by event (page_faults: page-faults) or number
--
-- A value of 64 bits can be divided by a constant only; a division by 0 drops the sample.
-- @module pfm.program
-- @pragma nostrip

local lpfm = require "lpfm"
local compile = require "pfm.program.compile"
local events = require "pfm.events"
local expect = require "pfm.util.expect"
local grammar = require "pfm.program.grammar"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local program = {}

local methods = {}
local class = { __index = methods }

local KERNEL = { { -2 ^ 48, 0 } } -- the upper part of the address space, in two's complement

function class:__tostring()
   local condition = self.where and "where " .. self.where
   if not self.bucket then return condition end
   return "bucket " .. self.bucket .. (condition and ", " .. condition or "")
end

-- --- expressions ---------------------------------------------------------------------------------

-- Runs fn, which parses or compiles the text. If fn raises an error that has a position, the
-- message also shows the text, with a mark under the position.
local function about(text, fn)
   local ok, result, more = pcall(fn)
   if ok then return result, more end
   if type(result) == "table" and result.at then error(grammar.explain(text, result), 0) end
   error(result, 0)
end

local function each_node(tree, fn)
   fn(tree)
   for _, part in ipairs(tree) do each_node(part, fn) end
end

local words = {} -- names that are no events
for _, name in ipairs(compile.names) do words[name] = true end

-- Returns the event of a name as it is written, or with "-" for each "_"; nil if there is none.
local function event_of(name)
   for _, text in ipairs { name, (name:gsub("_", "-")) } do
      local list = events.read(text)
      if list and #list == 1 then return list[1] end
   end
end

local function parse(self, what, text)
   if type(text) ~= "string" then error(what .. ": expected an expression, got a " .. type(text), 3) end
   local tree = about(text, function() return grammar.parse(text) end)
   self[what], self.trees[what] = text, tree
   each_node(tree, function(node)
      local bare = node.op == "name" and not words[node.name] and event_of(node.name)
      if bare then node.op = "pmd" end
      if node.op == "pmd" and node.name then
         local event = bare or event_of(node.name)
         node.event = event and event.name or node.name
         if not self.has[node.event] then
            self.has[node.event] = true
            self.events[#self.events + 1] = node.event
         end
      elseif node.op == "object" then
         self.objects[#self.objects + 1] = node.name
      end
   end)
end

--- Reads expressions. An error is raised with a caret under its place.
-- @tparam table spec
-- @string[opt] spec.where a condition: samples that do not meet it are dropped
-- @string[opt] spec.bucket the number of the bucket to count; without it, samples are kept
-- @int[opt] spec.buckets number of buckets (default: as many as the expression has values, up to
-- 4096)
-- @treturn table `where`, `bucket`, `events` and `objects` (names in them), and the methods below
-- @usage print(require("pfm.program").new({ where = "cpu == 1" })) --> where cpu == 1
function program.new(spec)
   expect.kind("program", spec, "table")
   expect.fields("program", spec, { "where", "bucket", "buckets" })
   local self = setmetatable({ trees = {}, events = {}, objects = {}, has = {},
      buckets = expect.whole("buckets", spec.buckets, 1, lpfm.const.PFM_PROG_SMPL_MAX_BUCKETS) }, class)
   if spec.where == nil and spec.bucket == nil then error("program: expected where, bucket, or both", 2) end
   if spec.where ~= nil then parse(self, "where", spec.where) end
   if spec.bucket ~= nil then parse(self, "bucket", spec.bucket) end
   return self
end

-- --- programs ------------------------------------------------------------------------------------

-- Returns the PMD that a node means.
local function pmd_of(node, pmds)
   if node.num then return node.num end
   local given = pmds and pmds[node.event]
   if given then return given end
   local event = event_of(node.event)
   if not event then grammar.raise(node.at, "there is no event '%s' here", node.event) end
   local list = events.parse(event.name)
   return list and list[1].pmd or grammar.raise(node.at, "the event '%s' cannot be counted here", node.event)
end

local function index_in(smpl_pmds, pmds)
   local sorted = { unpack(smpl_pmds or {}) }
   table.sort(sorted)
   return function(node)
      local num = pmd_of(node, pmds)
      return tables.find(sorted, num)
         or grammar.raise(node.at, "PMD%d is not among the smpl_pmds of the PMD that samples", num)
   end
end

-- Returns true if a name denotes the object with this path: "libc" is libc.so.6 or libc-2.31.so.
local function is_called(path, name)
   local file = path:match("([^/]*)$")
   return path == name or file == name or (file:sub(1, #name) == name and file:find("^[.-]", #name + 1) ~= nil)
end

local function ranges_in(maps)
   return function(node)
      if node.name == "kernel" or node.name == "[kernel]" then return KERNEL end
      if not maps then
         grammar.raise(node.at, "where '%s' is mapped is known of a running process: its pid is wanted", node.name)
      end
      local out = {}
      for _, m in ipairs(maps) do
         if is_called(m[4], node.name) then out[#out + 1] = { m[1], m[2] } end
      end
      if #out == 0 then grammar.raise(node.at, "no object '%s' is mapped there", node.name) end
      return out
   end
end

--- Makes the options of `lpfm.create`, with the program made for a target.
-- @tparam[opt] table options fields for `lpfm.create` (base, buf_size, ...; base is default, or
-- none where nothing is kept), and:
-- @tparam[opt] {int,...} options.smpl_pmds the smpl_pmds of the PMD that overflows: they are
-- recorded with each sample
-- @tparam[opt] table options.pmds PMDs by names of events, where others than the usual count them
-- @int[opt] options.pid the process in which the objects are mapped
-- @tparam[opt] table options.maps its mappings, as of `symbols.parse_maps`; by default those that
-- /proc shows
-- @treturn table
-- @usage
-- local program = require "pfm.program"
-- local ctx = assert(lpfm.create(program.new({ where = "tid == 1", bucket = "cpu" }):create()))
-- ctx:close()
-- @function program:create
function methods:create(options)
   local out = { format = "program", base = not self.bucket and "default" or nil }
   for k, v in pairs(options or {}) do out[k] = v end
   local maps = out.maps or (out.pid and #self.objects > 0 and symbols.read_maps(out.pid)) or nil
   local bindings = { index = index_in(out.smpl_pmds, out.pmds), ranges = ranges_in(maps) }
   out.smpl_pmds, out.pmds, out.pid, out.maps = nil, nil, nil, nil
   for what, tree in pairs(self.trees) do -- each is compiled alone first: an error shows its text
      about(self[what], function() return compile.program({ [what] = tree }, bindings, self.buckets) end)
   end
   out.program, out.buckets = about(self.bucket or self.where, function()
      return compile.program(self.trees, bindings, self.buckets)
   end)
   return out
end

--- Returns the events that the expressions name, as `events.parse` does.
-- @treturn table a list, in the order of `events`
-- @usage print(require("pfm.program").new({ where = "pmd.page_faults > 1" }):parse_events()[1].pmd) --> 66
-- @function program:parse_events
function methods:parse_events()
   local out = {}
   for what, tree in pairs(self.trees) do
      about(self[what], function()
         each_node(tree, function(node)
            if not node.event then return end
            local list, err = events.parse(node.event)
            if not list then grammar.raise(node.at, "%s", err) end
            out[node.event] = list[1]
         end)
      end)
   end
   for i, name in ipairs(self.events) do out[i] = out[name] end
   return out
end

--- Returns true if the expressions name an object for which the process's mappings are needed.
-- @treturn boolean
-- @usage assert(not require("pfm.program").new({ where = "ip in 'kernel'" }):needs_process())
-- @function program:needs_process
function methods:needs_process()
   for _, name in ipairs(self.objects) do
      if name ~= "kernel" and name ~= "[kernel]" then return true end
   end
   return false
end

--- Makes a filter of samples: those that do not meet the condition are dropped at the overflow.
-- @string expression
-- @treturn table of `program.new`
-- @usage
-- local ctx = assert(lpfm.create(program.where("cpu in {0, 2..5}"):create { buf_size = 16384 }))
-- ctx:close()
function program.where(expression)
   return program.new { where = expression }
end

--- Makes a histogram of overflows: each is counted in the bucket with the number that the
-- expression gives. No sample is made.
-- @string expression
-- @tparam[opt] table options
-- @string[opt] options.where a condition: overflows that do not meet it are not counted
-- @int[opt] options.buckets number of buckets; other values are counted as outside
-- @treturn table of `program.new`; `context:verdicts` has the counts
-- @usage
-- local ctx = assert(lpfm.create(program.bucket("log2(period)", { where = "cpu == 0" }):create()))
-- assert(next(ctx:verdicts().buckets) == nil)
-- ctx:close()
function program.bucket(expression, options)
   options = options or {}
   return program.new { bucket = expression, where = options.where, buckets = options.buckets }
end

--- Adds up the histograms of contexts.
-- @tparam table sums `runs`, `kept`, `outside`, `buckets`; it is added to
-- @tparam table verdicts of `context:verdicts`
-- @treturn table sums
-- @usage
-- local program = require "pfm.program"
-- local verdicts = { runs = 1, kept = 0, outside = 0, buckets = { [3] = 1 } }
-- assert(program.add({}, verdicts).buckets[3] == 1)
function program.add(sums, verdicts)
   for _, what in ipairs { "runs", "kept", "outside" } do sums[what] = (sums[what] or 0) + verdicts[what] end
   sums.buckets = sums.buckets or {}
   for n, times in pairs(verdicts.buckets) do sums.buckets[n] = (sums.buckets[n] or 0) + times end
   return sums
end

--- Lists the names that expressions may use: those of an overflow's properties, and functions.
-- @treturn {string,...}
-- @usage print(table.concat(require("pfm.program").names(), " "))
function program.names()
   return { unpack(compile.names) }
end

expect.methods("program", class, {
   create = "options: table?",
   parse_events = "",
   needs_process = "",
})

expect.signatures("program", program, {
   bucket = "expression: string|number|table; options: table?",
   add = "sums: table; verdicts: {runs,kept,outside,buckets}",
})

return program
