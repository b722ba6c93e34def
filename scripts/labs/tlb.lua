-- SPDX-License-Identifier: MIT
-- Pages and the TLB.

local A, B = 0x1000000, 0x3000000

-- Makes a computer with a large data cache and a TLB "REACH:WAYS:PAGE". REACH is the size in bytes
-- of all the pages that the TLB can hold.
local function computer(kit, p, dtlb)
   return kit.machine(p, { l1d = "1048576:16:64", l2 = 0, l3 = 0, itlb = 0, dtlb = dtlb or p.dtlb })
end

local function walk(kit, p, n, stride, times, dtlb)
   n, stride, times = kit.whole(n, "n"), kit.whole(stride, "stride", -math.huge), kit.whole(times or 1, "times")
   local m = computer(kit, p, dtlb)
   local truth = kit.run(m, { { loop = times, { loop = n, { ip = 0x1000, load = { A, stride } } } } })
   return truth.dtlb_misses.total, truth.cycles.total
end

local function geometry(kit, p)
   local tlb = computer(kit, p):caches(0).DTLB
   return { page = tlb.line, entries = tlb.size / tlb.line, reach = tlb.size, latency = tlb.latency }
end

local function pages(kit, p, f)
   local few = walk(kit, p, f.entries, f.page, p.times)
   local many = walk(kit, p, f.entries + 1, f.page, p.times)
   return { few = few, many = many, pages_more = f.entries + 1, all_many = (f.entries + 1) * p.times,
      all_few = f.entries * p.times }
end

local function strides(kit, p)
   local side = walk(kit, p, p.n, p.element)
   return { side = side, side_bytes = p.n * p.element, in_lines = p.n * p.element / 64 }
end

-- Walks the same memory with pages p.larger times as large, and a TLB of as many entries.
local function large(kit, p, f)
   local page = f.page * p.larger
   local dtlb = ("%d:%d:%d"):format(page * f.entries, f.entries, page)
   local small_misses, small_cycles = walk(kit, p, p.touched, f.page, p.times)
   local large_misses, large_cycles = walk(kit, p, p.touched, f.page, p.times, dtlb)
   return { large_page = page, small_misses = small_misses, large_misses = large_misses,
      large_pages = math.ceil(p.touched / p.larger), small_cycles = small_cycles, large_cycles = large_cycles,
      faster = small_cycles / large_cycles }
end

-- Loads once from each page of a list; returns the misses.
local function visit(kit, p, list)
   local m, at = computer(kit, p), 0
   local truth = kit.run(m, { { ops = function()
      at = at + 1
      if list[at] then return 0x1000, "load", B + list[at], p.element end
   end } })
   return truth.dtlb_misses.total
end

-- Returns the row of the second table that a join loads for each of p.keys rows of the first.
local function pairs_of(p)
   local out, x = {}, p.seed
   for i = 1, p.keys do
      x = (x * 16807) % 2147483647
      out[i] = x % p.rows
   end
   return out
end

local function join(kit, p, order, f)
   local rows, list = pairs_of(p), {}
   for _, k in ipairs(order) do list[#list + 1] = rows[k] * f.page / 4 end
   return visit(kit, p, list)
end

local SECRET = "98304:24:4096"

local function setup(kit, p)
   return {
      walk = function(n, stride, times) return (walk(kit, p, n, stride, times)) end,
      unknown = function(n, stride, times) return (walk(kit, p, n, stride, times, SECRET)) end,
      keys = function() return pairs_of(p) end,
   }
end

local function is_order(order, n)
   if type(order) ~= "table" or #order ~= n then return false end
   local seen = {}
   for _, k in ipairs(order) do
      if type(k) ~= "number" or k % 1 ~= 0 or k < 1 or k > n or seen[k] then return false end
      seen[k] = true
   end
   return true
end

return {
   number = 9,
   title = "Pages and the TLB",
   goals = { "predict TLB misses", "find out how many entries a TLB has", "say when large pages help",
      "order accesses so that pages are used up" },
   read = { "a chapter on virtual memory in any book on operating systems", "at the prompt: ?caches" },
   teacher = [[
      A TLB is a cache of addresses, not of data: data that hits in the cache can miss in the TLB. The first question
      is built so that the cache holds everything.

      Students who did the lab of caches find the cliff at one entry too many by themselves. What is new is the reach:
      the bytes that all entries cover, and that larger pages make it larger with as many entries. Real processors
      often have entries of their own for large pages, and fewer of them, and the sizes of pages are fixed (4 KiB, 2 MiB
      and 1 GiB on x86-64): this lab's pages are made up. Nor has its computer a second level of TLB, or caches for page
      tables, which make a miss cheaper. It replaces the translation that was used longest ago; most processors have
      pseudo-LRU, which is `:plru` behind the shape of the option `dtlb`.
   ]],
   params = { model = "k8", dtlb = "65536:16:4096", times = 10, n = 8192, element = 8, larger = 16, touched = 64,
      keys = 400, rows = 256, seed = 11 },
   draw = { times = { 8, 10, 12 }, n = { 4096, 8192, 16384 } },
   most = { seed = 2 ^ 32 - 1 },
   pages = {
      { text = [[
         A program's addresses are not those of the memory: they are translated, page by page. The translations that
         were used last are kept in a small cache, the TLB. What is not there has to be looked up in the page table,
         which takes time.

         Here the data cache is so large that everything stays in it; what misses is the TLB alone.
      ]],
        run = geometry, show = { { "bytes of a page", "page" }, { "entries", "entries" }, { "reach, bytes", "reach" },
           { "cycles of a miss", "latency" } } },
      { ask = "A loop loads {n} elements of {element} bytes, side by side. How many loads miss the TLB?", id = "side",
        run = strides, show = { { "TLB misses, side by side", "side" } },
        answer = "side",
        right = "One for each page.",
        wrong = { { is = "n", say = "All elements of a page share a translation: {side}." },
           { is = "in_lines", say = "Those are lines of the cache; pages are larger: {side}." } },
        otherwise = "{side_bytes} bytes, in pages of {page}: {side}.",
        hints = { "How many bytes are that, and how many pages?" } },
      { ask = "Now one element of each of {entries} pages, {times} times over. How many loads miss?", id = "few",
        run = pages, show = { { "TLB misses, as many pages as entries", "few" } },
        answer = "few",
        right = "Each page once; then all translations are there.",
        wrong = { { is = "all_few", say = "After the first lap all translations are there: {few}." } },
        otherwise = "Only the first lap misses: {few}.",
        hints = { "How many translations does the TLB hold?" } },
      { ask = "And of {pages_more} pages?", id = "many",
        run = function() return {} end, show = { { "TLB misses, one page more", "many" } },
        answer = "many",
        right = "One too many, and the one that goes is the one needed next: every load misses.",
        wrong = { { is = "pages_more", say = "That is the first lap. The others miss, too: {many}." },
           { is = "few", say = "One translation has to go, and it is the one that is needed next: {many}." } },
        otherwise = "Every load misses, {many}: what was used longest ago is what is needed next.",
        hints = { "Which translation is thrown out for the last page, and when is it needed?" } },
      { text = [[The same computer, but with pages of {large_page} bytes and as many entries. The program loads one
           element of each {page} bytes, {touched} times, and all of that {times} times over.]],
        ask = "How many loads miss the TLB now?", id = "large",
        run = large,
        show = { { "TLB misses, small pages", "small_misses" }, { "TLB misses, large pages", "large_misses" },
           { "cycles, small pages", "small_cycles" }, { "cycles, large pages", "large_cycles" } },
        answer = "large_misses",
        right = "{large_pages} pages hold all of it, and the TLB holds those. The program is {faster} times as fast.",
        wrong = { { is = "small_misses", say = [[That is with small pages. Now a page holds {larger} of the elements:
           {large_misses}.]] },
           { is = "touched", say = "Several of them are in one large page: {large_misses}." } },
        otherwise = "All of it is in {large_pages} pages, which the TLB holds: {large_misses}.",
        hints = { "How many large pages hold all of it?", "Does the TLB hold so many?" } },
      { vary = [[`walk(n, stride, times)` tells how many loads miss the TLB. Find the cliff: with which n does
           `walk(n, 4096, 10)` jump? What is it with a stride of two pages? `params.dtlb = "65536:4:4096"` has sets of
           four ways: which strides are bad now? With `:plru` behind it, it replaces as most processors do, and with
           `:random` by chance: what becomes of the cliff?]],
        setup = function(kit, p) return { walk = setup(kit, p).walk } end },
      { task = "entries", todo = [[Another computer's TLB is not known; its pages have {page} bytes. `unknown(n, stride,
           times)` walks there. How many entries has it?]],
        setup = function(kit, p) return { unknown = setup(kit, p).unknown } end,
        run = function(kit, p)
           local tlb = computer(kit, p, SECRET):caches(0).DTLB
           return { secret_entries = tlb.size / tlb.line, secret_reach = tlb.size, cliff = tlb.size / tlb.line + 1 }
        end,
        answer = "secret_entries",
        right = "With one page more each load misses.",
        wrong = { { is = "entries", say = "That is the TLB of the pages before." },
           { is = "cliff", say = "That is the first number that does not fit." },
           { is = "secret_reach", say = "That is its reach in bytes." } },
        otherwise = "Look for the n with which the second lap begins to miss.",
        hints = { "`unknown(n, 4096, 1)` and `unknown(n, 4096, 2)` are equal as long as n pages fit." } },
      { task = "order", kind = "script",
        todo = [[
           A program looks up {keys} keys in a table of {rows} rows, four to a page; `keys()` at the prompt lists the
           row of each key. In the order of the keys it misses the TLB {plain} times. Write a script that returns a
           function: it gets the list of rows and returns an order of the keys (a list of all numbers from 1 to {keys})
           with which at most {allowed} lookups miss:

              return function(rows)
                 local order = {}
                 for k = 1, #rows do order[k] = k end
                 return order
              end
        ]],
        setup = function(kit, p) return { keys = setup(kit, p).keys } end,
        run = function(kit, p, f)
           local plain = {}
           for k = 1, p.keys do plain[k] = k end
           return { plain = join(kit, p, plain, f), allowed = p.rows / 4 }
        end,
        check = function(kit, p, fn, f)
           if type(fn) ~= "function" then return false, "The script returns no function." end
           local order = fn(pairs_of(p))
           if not is_order(order, p.keys) then return false, "Not every number from 1 to {keys} is there, once." end
           local misses = join(kit, p, order, f)
           return misses <= f.allowed, nil, { misses = misses }
        end,
        right = "{misses} misses instead of {plain}: each page once.",
        otherwise = "{misses} lookups miss.",
        solution = [[return function(rows)
   local order = {}
   for k = 1, #rows do order[k] = k end
   table.sort(order, function(a, b) return rows[a] < rows[b] end)
   return order
end]],
        mistake = [[return function(rows)
   local order = {}
   for k = 1, #rows do order[k] = #rows + 1 - k end
   return order
end]],
        hints = { "Look up all keys of a page before those of another.", "Sort the keys by their rows." } },
   },
}
