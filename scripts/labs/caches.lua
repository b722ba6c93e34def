-- SPDX-License-Identifier: MIT
-- Caches: strides, working sets, conflicts, blocks, the layout of data.

local A, B = 0x1000000, 0x2000000

-- A computer with an L1D alone, "SIZE:WAYS:LINE".
local function computer(kit, p, l1d)
   return kit.machine(p, { l1d = l1d or p.l1d, l2 = 0, l3 = 0, itlb = 0, dtlb = 0, explain = 1 })
end

-- Loads n elements, stride bytes apart, all of them `times` times.
local function walk(kit, p, n, stride, times, l1d)
   local m = computer(kit, p, l1d)
   kit.run(m, { { loop = times or 1, { loop = n, { ip = 0x1000, load = { A, stride } } } } })
   return m:explain(0x1000).load_misses, m
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
   return { fits = walk(kit, p, f.lines, f.line, p.times).total, over = walk(kit, p, f.lines + f.ways, f.line,
      p.times).total,
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

-- Transposes: loads a[i][j], stores b[j][i], in the order of the list of { i, j }, which count from 0.
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

-- Is each pair there once?
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

-- Reads one field of all records, several times, where address(record, field) says.
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

-- Has every field of every record bytes of its own?
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
      walk = function(n, stride, times) return walk(kit, p, n, stride, times).total end,
      why = function(n, stride, times) return walk(kit, p, n, stride, times) end,
      unknown = function(n, stride, times) return walk(kit, p, n, stride, times, SECRET).total end,
   }
end

return {
   number = 8,
   title = "Caches: strides, blocks, the layout of data",
   minutes = 90,
   goals = { "predict the misses of a walk through memory", "tell compulsory, capacity and conflict misses apart",
      "find out the geometry of a cache by measuring", "make a program faster by its order and its layout" },
   read = { "at the prompt: ?caches, ?explain", "a chapter on caches in any book on computer architecture" },
   teacher = [[
      Most students know that caches exist, and few can predict a number. All questions here can be answered on paper:
      lines times laps. Have them do it before each run.

      This computer replaces the line that was used longest ago, and fetches nothing in advance. Real processors keep
      that order only about, and fetch the lines of a steady walk before they are asked for: there the first question
      shows far fewer misses, and the cliff is a slope. Say so to whoever repeats it on a laptop.

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
         Memory is far away; a cache keeps copies of what was used last, in lines. A load whose line is in the cache
         hits; otherwise it misses, and the line is fetched: all of it, wherever in it the load was.

         The cache of this lab is small, so that numbers stay small. It replaces the line that was used longest ago.
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
        run = function() return {} end, show = { { "misses, a few lines more", "over" } },
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
      { vary = [[At the prompt, `walk(n, stride, times)` says how many loads miss, and `why(n, stride, times)` has the
           causes: `show(why(5, 1024, 10))`. Which strides are the worst for this cache? Change its shape by
           `params.l1d = "4096:1:64"` (bytes, ways, bytes of a line): with how many ways does your worst case vanish?]],
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
