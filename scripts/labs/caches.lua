-- SPDX-License-Identifier: MIT
-- Caches: strides, working sets, conflicts, blocks, the layout of data.

local A, B = 0x1000000, 0x2000000

-- Returns a simulated computer that has an L1D of the geometry `l1d`, "SIZE:WAYS:LINE", and no
-- other cache or TLB. `more` are further options of lpfm.machine().
local function computer(kit, p, l1d, more)
   local options = { l1d = l1d or p.l1d, l2 = 0, l3 = 0, itlb = 0, dtlb = 0, explain = 1 }
   for k, v in pairs(more or {}) do options[k] = v end
   return kit.machine(p, options)
end

-- Loads n elements, stride bytes apart, `times` times. Returns the misses, the machine and the
-- truth.
local function walk(kit, p, n, stride, times, l1d, more)
   n, stride, times = kit.whole(n, "n"), kit.whole(stride, "stride", -math.huge), kit.whole(times or 1, "times")
   local m = computer(kit, p, l1d, more)
   local truth = kit.run(m, { { loop = times, { loop = n, { ip = 0x1000, load = { A, stride } } } } })
   return m:explain(0x1000).load_misses, m, truth
end

local function geometry(kit, p)
   local l1d = computer(kit, p):caches(0).L1D
   return { size = l1d.size, ways = l1d.assoc, line = l1d.line, lines = l1d.size / l1d.line,
      sets = l1d.size / l1d.line / l1d.assoc, per_line = l1d.line / p.element }
end

local function strides(kit, p, f)
   return { small = walk(kit, p, p.n, p.element).total, large = walk(kit, p, p.n, 2 * f.line).total,
      double = 2 * p.n * p.element / f.line, stride = 2 * f.line, bytes = p.n * p.element }
end

local function working_sets(kit, p, f)
   local rows, misses = {}, {}
   for i, n in ipairs { f.lines, f.lines + f.ways } do
      local why, m = walk(kit, p, n, f.line, p.times)
      misses[i], rows[i] = why.total, m:cache_sets "L1D"
      rows[i].label = ("%d lines"):format(n)
   end
   return { fits = misses[1], over = misses[2],
      by_set = kit.plot.heat(rows, { x = { 0, f.sets }, xlabel = "set" }),
      over_lines = f.lines + f.ways, over_once = f.lines + f.ways, all_fit = p.times * f.lines,
      all_over = p.times * (f.lines + f.ways) }
end

local function conflicts(kit, p, f)
   local why = walk(kit, p, f.ways + 1, f.size / f.ways, p.times)
   return { conflict_stride = f.size / f.ways, conflict_n = f.ways + 1, conflict_misses = why.total,
      compulsory = why.compulsory, conflict = why.conflict, capacity = why.capacity,
         conflict_bytes = (f.ways + 1) * f.line }
end

local function matrix(kit, p, f)
   local row = p.dim * p.element
   local function misses(strides_of)
      local m = computer(kit, p)
      kit.run(m, { { loop = p.dim, { loop = p.dim, { ip = 0x1000, load = { A, strides_of[1], strides_of[2] } } } } })
      return m:explain(0x1000).load_misses.total
   end
   return { elements = p.dim * p.dim, by_row = misses { p.element, row }, by_column = misses { row, p.element },
      in_lines = p.dim * p.dim / f.per_line }
end

-- Loads four lines of a set, the first again, then a fifth: returns which of the four it evicts.
local function replaced(kit, p, f, policy)
   for asked = 0, 3 do
      local m = computer(kit, p, ("%d:4:%d%s"):format(4 * f.line, f.line, policy))
      local list, at = { 0, 1, 2, 3, 0, 4, asked }, 0
      kit.run(m, { { ops = function()
         at = at + 1
         if list[at] then return 0x1000, "load", A + list[at] * f.line, p.element end
      end } })
      if m:caches(0).L1D.load_misses == 6 then return asked + 1 end
   end
end

local function laptop(kit, p, f)
   local shape = p.l1d:match("^%d+:%d+:%d+") or p.l1d -- without a policy
   local function over(policy) return walk(kit, p, f.over_lines, f.line, p.times, shape .. policy).total end
   return { by_tree = replaced(kit, p, f, ":plru"), by_order = replaced(kit, p, f, ""), over_tree = over ":plru",
      over_random = over ":random" }
end

local function prefetched(kit, p, f)
   local function run(mode, stride) return walk(kit, p, p.n, stride, 1, nil, { prefetch = mode }) end
   local _, _, in_vain = run(1, f.stride)
   return { ahead = run(1, p.element).total, tagged = run(2, p.element).total, page = 4096,
      apart = run(1, f.stride).total, fetched = in_vain.prefetches.total, unused = in_vain.prefetches_unused.total }
end

-- Runs operations from a list of { address, store }.
local function run_list(kit, p, list)
   local m, at = computer(kit, p), 0
   kit.run(m, { { ops = function()
      at = at + 1
      local op = list[at]
      if op then return 0x1000, op[2] and "store" or "load", op[1], p.element end
   end } })
   local l1d = m:caches(0).L1D
   return l1d.load_misses + l1d.store_misses
end

-- Transposes: loads a[i][j], stores b[j][i], in the order of the list of { i, j }, which count from
-- 0.
local function transpose(kit, p, order)
   local row, list = p.dim * p.element, {}
   for _, at in ipairs(order) do
      list[#list + 1] = { A + at[1] * row + at[2] * p.element }
      list[#list + 1] = { B + at[2] * row + at[1] * p.element, true }
   end
   return run_list(kit, p, list)
end

local function row_order(dim)
   local out = {}
   for i = 0, dim - 1 do
      for j = 0, dim - 1 do out[#out + 1] = { i, j } end
   end
   return out
end

-- Returns true if each pair is in the list once.
local function is_whole(order, dim)
   local seen, n = {}, 0
   for _, at in ipairs(order) do
      local i, j = tonumber(at[1]), tonumber(at[2])
      if not (i and j) or i < 0 or j < 0 or i >= dim or j >= dim or i % 1 ~= 0 or j % 1 ~= 0 then return false end
      if seen[i * dim + j] then return false end
      seen[i * dim + j], n = true, n + 1
   end
   return n == dim * dim
end

-- Reads one field of all records twice, at the addresses that address(record, field) gives.
local function read_field(kit, p, address)
   local list = {}
   for _ = 1, 2 do
      for record = 0, p.records - 1 do list[#list + 1] = { A + address(record, 0) } end
   end
   return run_list(kit, p, list)
end

local function records_of(p, fields)
   return function(record, field) return (record * fields + field) * p.element end
end

-- Returns true if every field of every record has bytes of its own.
local function has_room(p, fields, address)
   local seen, most = {}, 4 * p.records * fields * p.element
   for record = 0, p.records - 1 do
      for field = 0, fields - 1 do
         local at = address(record, field)
         if type(at) ~= "number" or at % p.element ~= 0 or at < 0 or at >= most or seen[at] then return false end
         seen[at] = true
      end
   end
   return true
end

local SECRET = "8192:2:128"

local function setup(kit, p)
   return {
      walk = function(n, stride, times, more) return walk(kit, p, n, stride, times, nil, more).total end,
      why = function(n, stride, times) return (walk(kit, p, n, stride, times)) end,
      unknown = function(n, stride, times) return walk(kit, p, n, stride, times, SECRET).total end,
   }
end

return {
   number = 8,
   title = "Caches: strides, blocks, the layout of data",
   goals = { "predict the misses of a walk through memory", "tell compulsory, capacity and conflict misses apart",
      "say what a laptop's cache does differently, and why",
      "find out the geometry of a cache by measuring", "make a program faster by its order and its layout" },
   read = { "at the prompt: ?caches, ?explain", "a chapter on caches in any book on computer architecture" },
   teacher = [[
      Most students know that caches exist, and few can predict a number. All questions here can be answered on paper:
      lines times laps. Have them do it before each run.

      This computer replaces the line that was used longest ago, and fetches nothing in advance, unless its options
      say otherwise. On a laptop the first question shows far fewer misses: its prefetcher is `prefetch = 2` here, and
      the pages on laptops measure it. Students expect of pseudo-LRU that it softens the cliff; on a walk it does not.
      What makes a slope of it on a laptop is that caches behind the first hash their sets, adapt their policy, and
      see physical pages in any order; `l1d = "4096:4:64:random"` shows such a slope.

      That one line too many makes LRU miss everything, and not a little more, surprises; let them play a cache of two
      lines with three coins.

      The blocked transpose works with many shapes of blocks: what is needed is that a block's width and height are
      multiples of a line's elements, and that its lines fit. Strips of a line's width over the full height reach the
      same minimum, a miss for each line; ask why. The task of layout has two usual answers: an array for each field,
      or hot fields together.
   ]],
   params = { model = "k8", l1d = "4096:4:64", element = 8, n = 4096, times = 10, dim = 104, records = 256 },
   draw = { n = { 2048, 4096, 6144, 8192 }, times = { 8, 10, 12, 15 } },
   pages = {
      { text = [[
         Memory is far away; a cache keeps copies of what was used last, in lines. If the line of a load is in the
         cache, the load hits; if not, it misses, and all of the line is fetched, wherever in it the load was.

         The cache of this lab is small, so that numbers stay small. It replaces the line that was used longest ago, and
         fetches nothing in advance. A laptop's does otherwise; the pages after the matrix have that as options.
      ]],
        run = geometry, show = { { "size, bytes", "size" }, { "bytes of a line", "line" }, { "lines", "lines" },
           { "lines of a set (ways)", "ways" }, { "sets", "sets" } } },
      { ask = "A loop loads {n} elements of {element} bytes, one behind the other. How many loads miss?", id = "stride",
        run = strides, show = { { "misses, elements side by side", "small" } },
        answer = "small",
        right = "One for each line; the other elements of the line are there then.",
        wrong = { { is = "n", say = [[Not each load: a line has {per_line} elements, and the first brings the others.
           {small}.]] },
           { is = "per_line", say = [[That is the number of elements of a line. It takes a miss for each line:
              {small}.]] } },
        otherwise = "{bytes} bytes, in lines of {line}: {small}.",
        hints = { "How many elements are in a line?", "How many lines do all of them need?" } },
      { ask = "The same number of loads, {stride} bytes apart. How many miss?", id = "large-stride",
        run = function() return {} end, show = { { "misses, far apart", "large" } },
        answer = "large",
        right = "Each load is in a line of its own: the rest of the line was fetched in vain.",
        wrong = { { is = "small", say = [[They no longer share lines: a stride of {stride} is more than a line.
           {large}.]] },
           { is = function(f) return 2 * f.large end, say = "A load touches one line: {large}." } },
        otherwise = "No two loads share a line: {large}.",
        hints = { "Do two loads share a line?" } },
      { ask = [[A loop loads one element of each of {lines} lines, {times} times over: just what the cache holds. How
           many loads miss in all?]], id = "fits",
        run = working_sets, show = { { "misses, as many lines as there are", "fits" } },
        answer = "fits",
        right = "Each line once: after the first lap all are there.",
        wrong = { { is = "all_fit", say = [[That would be all loads. After the first lap all lines are in the cache:
           {fits}.]] } },
        otherwise = "The first lap misses {lines} times, the others never: {fits}.",
        hints = { "Which lines are in the cache after the first lap?" } },
      { ask = [[The same with {over_lines} lines: {ways} more than the cache has. How many loads miss in all?]],
         id = "over",
        run = function() return {} end,
        show = { { "misses, a few lines more", "over" }, { "misses by set", "by_set" } },
        answer = "over",
        right = [[A little more than the cache holds, and a set with one line too many misses always: the line that was
           used longest ago is the very one that comes next. What is thrown out is what is needed.]],
        wrong = { { is = "over_once", say = [[That is one lap. The others miss, too: the line that goes is always the
           one that is needed soonest. {over}.]] },
           { is = "all_over", say = [[Not all: only some sets have a line too many. The others keep theirs: {over}.]] },
           { is = "fits", say = "There is no room for all of them: {over}." } },
        otherwise = "Sets with one line too many miss at every load, others only in the first lap: {over}.",
        hints = { "{ways} lines more: which sets do they fall into?", [[A set with one line more than ways misses
           always.]] } },
      { ask = [[Only {conflict_n} lines are loaded, {times} times over; but they are {conflict_stride} bytes apart, so
           that all go to one set. How many loads miss?]], id = "conflict",
        run = conflicts,
        show = { { "misses", "conflict_misses" }, { "never there before (compulsory)", "compulsory" },
           { "too many lines for the cache (capacity)", "capacity" }, { "too many lines for their set (conflict)",
              "conflict" } },
        answer = "conflict_misses",
        right = "The cache is nearly empty, and still every load misses: a set has room for {ways} lines.",
        wrong = { { is = "conflict_n", say = [[They would fit into the cache, but not into their set, which has {ways}
           ways: {conflict_misses}.]] } },
        otherwise = "One line too many for the set, so each of them misses in every lap: {conflict_misses}.",
        hints = { "How many lines does a set hold?", "What happened with one line too many?" } },
      { text = "A matrix of {dim} by {dim} elements lies row by row in memory. It is larger than the cache.",
        ask = "Summed up row by row, how many loads miss?", id = "rows",
        run = matrix, show = { { "misses, row by row", "by_row" }, { "misses, column by column", "by_column" } },
        answer = "by_row",
        right = [[A miss for each line. Column by column it is {by_column}: every load, for the line is gone when it is
           needed again.]],
        wrong = { { is = "elements", say = "That is column by column. Row by row, lines are used up: {by_row}." } },
        otherwise = "{elements} elements, {per_line} in a line: {by_row}. Column by column it is {by_column}.",
        hints = { "It is the walk of the first question." } },
      { text = [[
           A laptop's cache does not know which line was used longest ago: to keep that order takes too many bits. Most
           have a tree of bits for each set (pseudo-LRU). Each bit divides the lines below it into halves, and points
           to the half that was not used last; from the top on, the bits lead to the line that is replaced. This
           computer does so with `:plru` behind the shape of a cache.

           A set of four lines is filled with A, B, C and D, in this order. Then A is used again, and E comes.
        ]],
        ask = "Which line does E replace, by the tree?", id = "tree", kind = "choice",
        choices = { { "A", say = "A was used last: the top bit points away from its half." },
           { "B", say = [[The order of use would replace B. The tree has forgotten it: when A was used, the top bit was
              turned away from the half of A and B.]] },
           { "C", say = [[The top bit points away from the half of A, and the bit below to C, as D was used after C.
              B was used longest ago, and stays.]] },
           { "D", say = "The half is right. In it, D was used after C, so the bit points to C." } },
        run = laptop, answer = "by_tree",
        hints = { "Where does the top bit point after A was used again?", "And the bit between C and D?" } },
      { ask = [[The walk over {over_lines} lines again, which missed {over} times, in a cache with pseudo-LRU. How many
           loads miss now?]], id = "tree-walk", within = 0.1,
        run = function() return {} end,
        show = { { "misses, by the order of use", "over" }, { "by the tree", "over_tree" },
           { "by chance", "over_random" } },
        answer = "over_tree",
        right = [[Hardly fewer: on a walk, the tree's victim is needed soon, too. The cliff remains. A line replaced by
           chance (`:random`) is often not the one that comes next: {over_random}.]],
        wrong = { { is = "fits", say = [[A set with a line too many still throws one out at each miss, whichever it is:
           {over_tree}.]] },
           { less = true, say = [[It seems that what is kept only about must be better here. But the tree follows the
              walk, and throws out what is needed soon: {over_tree}.]] },
           { more = true, say = "It is no worse than the exact order: {over_tree}." } },
        otherwise = "The tree follows the walk as the order does: {over_tree}.",
        hints = { "After a line was used, where do the bits point: to what was used just before, or long ago?" } },
      { text = [[
           Nor does a laptop wait until it is asked. A prefetcher fetches lines that are likely to be needed; the
           simplest one, with each line that missed, the line behind it. Here that is the option `prefetch = 1`.
        ]],
        ask = [[The walk over {n} elements side by side missed {small} times. How many loads miss with the
           prefetcher?]], id = "ahead",
        run = prefetched, show = { { "misses, with the next line", "ahead" } },
        answer = "ahead",
        right = "Every second line is there already. The one behind it misses again, and brings the next.",
        wrong = { { is = "small", say = "Each miss brings two lines now: {ahead}." },
           { is = function() return 1 end, say = [[The second line hits, and a hit brings no further line: every second
              one misses. {ahead}.]] } },
        otherwise = "Lines miss and are prefetched in turn: {ahead}.",
        hints = { "The first line misses. What of the second? And the third?" } },
      { text = [[
           It can do better: when a line that was prefetched is used for the first time, that is a sign of a walk, and
           the next one is fetched (tagged prefetching, `prefetch = 2`). It ends with the page of {page} bytes, for
           the address of the next page in memory is not known.
        ]],
        ask = "How many loads of the walk over {bytes} bytes miss now?", id = "tagged",
        run = function() return {} end, show = { { "misses, tagged", "tagged" } },
        answer = "tagged",
        right = [[One for each page. This is what the first question shows on a laptop, and why a walk tells little
           about its cache. To see its lines, take them at random or by a linked list.]],
        wrong = { { is = "ahead", say = "Lines that were prefetched bring the next ones now: {tagged}." },
           { is = function() return 1 end, say = "The prefetcher stops at the end of each page: {tagged}." } },
        otherwise = "The first line of each page of {page} bytes misses: {tagged}.",
        hints = { "Which lines of a page miss?", "How many pages are {bytes} bytes?" } },
      { ask = [[The walk with a stride of {stride} bytes missed {large} times. The prefetcher is on (`prefetch = 1`).
           How many lines does it fetch in vain?]], id = "in-vain", within = 0.05,
        run = function() return {} end,
        show = { { "misses, far apart", "apart" }, { "lines prefetched", "fetched" },
           { "of these thrown out unused", "unused" } },
        answer = "fetched",
        right = [[All of them: nobody needs the line behind. ({unused} were thrown out unused; the others are in the
           cache still.) The walk misses as often as before, {apart} times, fetches twice as much from memory, and
           throws out what might be needed. The event is `prefetches_unused`.]],
        wrong = { { is = function() return 0 end, say = [[It cannot know the stride: with each miss it fetches the line
           behind, which nobody needs. {fetched}.]] },
           { is = function(f) return f.fetched / 2 end, say = "Each of the misses fetches one: {fetched}." } },
        otherwise = "One with each miss, and none is used: {fetched}.",
        hints = { "Does the loop ever load from the line behind?" } },
      { vary = [[At the prompt, `walk(n, stride, times)` says how many loads miss, and `why(n, stride, times)` has the
           causes: `show(why(5, 1024, 10))`. With options it is `walk(4096, 8, 1, { prefetch = 2 })`. Which strides are
           the worst for this cache? Change its shape by `params.l1d = "4096:1:64"` (bytes, ways, bytes of a line): with
           how many ways does your worst case vanish? And which stride is the worst for a prefetcher?]],
        setup = setup },
      { task = "line-size", unit = "bytes",
        todo = [[Another computer's cache is not known. `unknown(n, stride, times)` walks there. How
           many bytes has a line?]], setup = setup,
        run = function(kit, p)
           local l1d = computer(kit, p, SECRET):caches(0).L1D
           return { secret_line = l1d.line, secret_size = l1d.size, secret_lines = l1d.size / l1d.line }
        end,
        answer = "secret_line",
        right = "From that stride on every load misses.",
        wrong = { { is = "line", say = "That is the cache of the pages before." },
           { is = "secret_size", say = "That is the size of all of it." } },
        otherwise = "Find the smallest stride with which every load misses.",
        hints = { "`unknown(100, 8)` and `unknown(100, 16)`: when does the number stop growing?" } },
      { task = "size", unit = "bytes", todo = "And how many bytes does all of that cache hold?", setup = setup,
        run = function() return {} end,
        answer = "secret_size",
        right = "More than that, and the second lap misses.",
        wrong = { { is = "secret_line", say = "That is one line." }, { is = "secret_lines",
        say = "In bytes, please: those are lines." } },
        otherwise = "Walk twice in steps of a line. As long as the second lap is free, it fits.",
        hints = { "`unknown(n, LINE, 1)` and `unknown(n, LINE, 2)` are equal as long as n lines fit." } },
      { task = "transpose", kind = "script",
        todo = [[
           A program transposes a matrix: for each pair i, j it loads an element and stores it at j, i of another one.
           Row by row that misses {row_misses} times. Write a script that returns a list of all pairs { i, j }, from 0
           to {dim_last}, in an order with which it misses less than a third of that:

              local order = {}
              for i = 0, {dim_last} do
                 for j = 0, {dim_last} do order[#order + 1] = { i, j } end
              end
              return order
        ]],
        run = function(kit, p) return { row_misses = transpose(kit, p, row_order(p.dim)), dim_last = p.dim - 1 } end,
        check = function(kit, p, order, f)
           if type(order) ~= "table" or not is_whole(order, p.dim) then
              return false, "Not every pair from 0 to {dim_last} is there, once."
           end
           local misses = transpose(kit, p, order)
           return misses * 3 < f.row_misses, nil, { misses = misses }
        end,
        right = "{misses} misses instead of {row_misses}.",
        otherwise = "{misses} misses; row by row there are {row_misses}.",
        solution = [[local order = {}
for ii = 0, 103, 8 do
   for jj = 0, 103, 8 do
      for i = ii, ii + 7 do
         for j = jj, jj + 7 do order[#order + 1] = { i, j } end
      end
   end
end
return order]],
        mistake = [[local order = {}
for j = 0, 103 do
   for i = 0, 103 do order[#order + 1] = { i, j } end
end
return order]],
        hints = { "Use a line up before it is thrown out: go through small blocks.",
           "Two loops over blocks, and in them two over the elements of a block.",
           "Width and height of a block: as many as a line has elements, or a multiple." } },
      { task = "layout", kind = "script",
        todo = [[
           {records} records have {fields} fields of {element} bytes each. A program reads the first field of all
           records, twice. With whole records side by side that misses {record_misses} times. Write a script that
           returns a function from a record and a field (both from 0) to the offset in bytes, with which it misses at
           most a quarter of that:

              return function(record, field)
                 return (record * {fields} + field) * {element}
              end
        ]],
        run = function(kit, p)
           return { fields = 8, record_misses = read_field(kit, p, records_of(p, 8)) }
        end,
        check = function(kit, p, address, f)
           if type(address) ~= "function" then return false, "The script returns no function." end
           address = kit.once(address)
           if not has_room(p, f.fields, address) then
              return false, [[Some field has no place of its own, or lies too far away or not at a multiple of
                 {element}.]]
           end
           local misses = read_field(kit, p, address)
           return misses * 4 <= f.record_misses, nil, { misses = misses }
        end,
        right = "{misses} misses instead of {record_misses}.",
        otherwise = "{misses} misses; with whole records there are {record_misses}.",
        solution = "return function(record, field) return (field * 256 + record) * 8 end",
        mistake = "return function(record, field) return (record * 8 + field) * 8 end",
        hints = { "Which bytes of a line are used, with whole records?", "Put all first fields side by side." } },
   },
}
