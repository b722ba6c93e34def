-- SPDX-License-Identifier: MIT
--- Call stacks of a recording (`record -g`): which function called which, and what that cost.
--
--    local s = assert(recording.open "lpfm.data")
--    for _, node in ipairs(stacks.tree(s).children) do print(node.percent, node.name) end
-- @module pfm.stacks

local analyze = require "pfm.analyze"
local chain = require "pfm.recording.chain"
local collected = require "pfm.recording.stacks"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local expect = require "pfm.util.expect"
local nearest = require "pfm.util.nearest"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local fail = expect.fail

local stacks = {}

--- Lists each stack once, with its weight, as flame graphs need it.
-- @param self of `recording.open` or `recording.of`
-- @tparam[opt] table options
-- @string[opt] options.event the event to show
-- @bool[opt] options.ids keep processes and threads of one name apart by their numbers
-- @bool[opt] options.inlined false: without functions that were inlined
-- @string[opt="samples"] options.weight "samples" or "events"
-- @treturn table of `{frames=, weight=}`, sorted; a frame has `kind` (process, thread, object or
-- kernel, symbol, inlined), `name`, perhaps `file` and `line`; the outermost is the first
-- @treturn number sum of the weights
-- @usage print(#stacks.collect(assert(recording.open "lpfm.data")))
-- @function collect
stacks.collect = collected.collect

--- Returns the functions of a sample's stack.
-- @param self of `recording.open` or `recording.of`
-- @tparam table s a sample, as `samples()` of `lpfm script` gives them: `pid`, `address`, `stack`
-- @treturn table the innermost first: `symbol`, `object`, `address` (of the call); the sample's own
-- place alone where there are no stacks
-- @return string where the stack was cut, of `stack_table:cut`; nil: it is whole
-- @usage local self = assert(recording.open "lpfm.data")
-- for s in require("pfm.recording.samples").each(self) do print(#stacks.frames(self, s)) end
function stacks.frames(self, s)
   self.stack_resolver = self.stack_resolver or embedded_symbols.resolver(self)
   local out = chain.places(self, self.stack_resolver, s.life, s.address, s.stack)
   for i, where in ipairs(out) do
      out[i] = { symbol = render.printable(where.func), object = render.printable(where.object),
         address = where.address }
   end
   return out, s.stack and self.stack_table:cut(s.stack)
end

-- --- trees ---------------------------------------------------------------------------------------

local function new_node(name)
   return { name = name, samples = 0, events = 0, self = { samples = 0, events = 0 }, children = {}, by_name = {} }
end

local function child_of(node, name)
   local child = node.by_name[name] or tables.enter(node.by_name, name, new_node(name), node.children)
   return child
end

local function add(to, s)
   to.samples, to.events = to.samples + s.samples, to.events + s.events
end

-- Adds a stack from its outermost function inwards; the innermost has the samples itself.
local function add_callers_first(root, s, names)
   local node = root
   add(root, s)
   for i = #names, 1, -1 do
      node = child_of(node, names[i])
      add(node, s)
   end
   add(node.self, s)
end

-- Adds a stack from the sampled function outwards; the sampled one has the samples itself.
local function add_callees_first(root, s, names)
   local node = root
   add(root, s)
   for i, name in ipairs(names) do
      node = child_of(node, name)
      add(node, s)
      if i == 1 then add(node.self, s) end
   end
end

local orders = { caller = add_callers_first, callee = add_callees_first }

local function finish(node, whole)
   node.percent = whole > 0 and node.events / whole * 100 or 0
   node.self.percent = whole > 0 and node.self.events / whole * 100 or 0
   node.by_name = nil
   table.sort(node.children, function(a, b)
      if a.events ~= b.events then return a.events > b.events end
      return a.name < b.name
   end)
   for _, child in ipairs(node.children) do finish(child, whole) end
   return node
end

--- Makes the tree of calls.
-- @param self of `recording.open` or `recording.of`, with call stacks
-- @tparam[opt] table options
-- @string[opt="caller"] options.order "caller": from calling functions to called ones; "callee":
-- from the sampled functions to their callers
-- @string[opt="symbol"] options.by what makes a node: "symbol", "object", "line" or "address"
-- @string[opt] options.event the event to show
-- @tparam[opt] table options.filter as of `analyze.by`: of the functions sampled
-- @treturn table the root: `name`, `samples`, `events`, `percent` (with those it called; of the
-- callee order: with those below it), `self` (the same of the function alone), `children`, a list
-- of such nodes, the greatest first
-- @raise where the recording has no stacks, and on unknown options
-- @usage record("ls -R /usr/share >/dev/null", { g = true })
-- print(stacks.tree(assert(recording.open "lpfm.data"), { order = "callee" }).children[1].name)
function stacks.tree(self, options)
   options = options or {}
   local order = options.order or "caller"
   if not orders[order] then
      fail("the order '%s' is not known%s (caller, callee)", tostring(order), nearest.hint(tostring(order),
         { "caller", "callee" }))
   end
   if not self:has_stacks() then fail("there are no call stacks in %s: lpfm record -g records them", self.path) end
   local event, root = collected.event(self, options.event).name, new_node("all")
   analyze.stacks(self, options.by or "symbol", options, function(s, names)
      if s.event == event then orders[order](root, s, names) end
   end)
   return finish(root, root.events)
end

expect.signatures("stacks", stacks, {
   collect = "self: {head}; options: table?",
   frames = "self: {head}; s: table",
   tree = "self: {head}; options: table?",
})

return stacks
