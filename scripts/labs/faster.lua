-- SPDX-License-Identifier: MIT
-- A C program made faster, judged by counts: a matrix in tiles, a structure packed, a loop with
-- vectors.

local compiler = require "labs.compiler"
local little = require("labs.native").little

local N = 48 -- rows and columns of the matrices, which have N * N numbers of 8 bytes
local STARS, BYTES = 1000, 20 -- stars, and bytes of one in the input
local PARTS = { 1003, 1000 } -- sizes of the last task's two arrays, which vectors do not divide
local NUMBERS = PARTS[1] + PARTS[2]

-- --- programs in C -------------------------------------------------------------------------------

local MULTIPLY = [[
enum { N = 48 };
void multiply(long *c, const long *a, const long *b)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			long sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[i * N + k] * b[k * N + j];
			c[i * N + j] = sum;
		}
}]]

local BY_ROWS = [[
enum { N = 48 };
void multiply(long *c, const long *a, const long *b)
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++)
			c[i * N + j] = 0;
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i * N + j] += a[i * N + k] * b[k * N + j];
	}
}]]

local TILED = [[
enum { N = 48, T = 8 };
void multiply(long *c, const long *a, const long *b)
{
	for (int i = 0; i < N * N; i++)
		c[i] = 0;
	for (int i0 = 0; i0 < N; i0 += T)
		for (int j0 = 0; j0 < N; j0 += T)
			for (int k0 = 0; k0 < N; k0 += T)
				for (int i = i0; i < i0 + T; i++)
					for (int k = k0; k < k0 + T; k++)
						for (int j = j0; j < j0 + T; j++)
							c[i * N + j] += a[i * N + k] * b[k * N + j];
}]]

local MULTIPLY_MAIN = [[
static long @a[48 * 48] __attribute__((aligned(64))), @b[48 * 48] __attribute__((aligned(64))),
	@c[48 * 48] __attribute__((aligned(64)));
static void @main(char called)
{
	void (*volatile f)(long *, const long *, const long *) = multiply;

	@in(@c, sizeof(@c));
	@in(@a, sizeof(@a));
	@in(@b, sizeof(@b));
	if (called)
		f(@c, @a, @b);
	@out(@c, sizeof(@c));
}]]

local STAR = [[
struct star {
	char kind;       /* 0 to 3 */
	double mass;     /* whole, up to 50000 */
	char near;       /* 0 or 1 */
	long id;         /* up to 1000000 */
	short links;     /* up to 1000 */
};]]

local REORDERED = [[
struct star {
	double mass;
	long id;
	short links;
	char kind;
	char near;
};]]

local PACKED = [[
struct star {
	unsigned id : 20, kind : 2, near : 1;
	unsigned short mass, links;
};]]

-- Fills the students' structures, adds up the masses of some, and returns the contents of all.
local STAR_MAIN = [[
struct @row { int kind, mass, near, id, links; };
static struct star @stars[1000] __attribute__((aligned(64)));
static struct @row @rows[1000];
static long @sum;
__attribute__((noinline, noclone)) static long @total(const struct star *stars, int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		if (stars[i].kind == 1 && stars[i].near)
			sum += stars[i].mass;
	return sum;
}
static void @main(char called)
{
	int size = sizeof(struct star);

	@in(@rows, sizeof(@rows));
	for (int i = 0; i < 1000; i++) {
		@stars[i].kind = @rows[i].kind;
		@stars[i].mass = @rows[i].mass;
		@stars[i].near = @rows[i].near;
		@stars[i].id = @rows[i].id;
		@stars[i].links = @rows[i].links;
	}
	for (long i = 0; i < 65536; i += 64)
		*(volatile char *)&@cold[i];
	if (called)
		@sum = @total(@stars, 1000);
	for (int i = 0; i < 1000; i++) {
		struct @row row = { @stars[i].kind, @stars[i].mass, @stars[i].near, @stars[i].id, @stars[i].links };

		@rows[i] = row;
	}
	@out(&size, 4);
	@out(&@sum, 8);
	@out(@rows, sizeof(@rows));
}]]
STAR_MAIN = "static char @cold[65536];\n" .. STAR_MAIN

local LESS = [[
int less(const int *v, int n, int limit)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		if (v[i] < limit)
			count++;
	return count;
}]]

local UNROLLED = [[
int less(const int *v, int n, int limit)
{
	int count = 0, i = 0;

	for (; i + 4 <= n; i += 4)
		count += (v[i] < limit) + (v[i + 1] < limit) +
			 (v[i + 2] < limit) + (v[i + 3] < limit);
	for (; i < n; i++)
		count += v[i] < limit;
	return count;
}]]

local VECTORS = [[
typedef int four __attribute__((vector_size(16), aligned(4), may_alias));
int less(const int *v, int n, int limit)
{
	four limits = { limit, limit, limit, limit }, counts = { 0, 0, 0, 0 };
	int i = 0;

	for (; i + 16 <= n; i += 16) {
		counts -= *(const four *)(v + i) < limits;
		counts -= *(const four *)(v + i + 4) < limits;
		counts -= *(const four *)(v + i + 8) < limits;
		counts -= *(const four *)(v + i + 12) < limits;
	}
	int count = counts[0] + counts[1] + counts[2] + counts[3];
	for (; i < n; i++)
		count += v[i] < limit;
	return count;
}]]

local LESS_MAIN = [[
static int @v[1003] __attribute__((aligned(64))), @w[1000] __attribute__((aligned(64))), @limit, @count[2];
static void @main(char called)
{
	int (*volatile f)(const int *, int, int) = less;

	@in(@v, sizeof(@v));
	@in(@w, sizeof(@w));
	@in(&@limit, 4);
	if (called) {
		@count[0] = f(@v, 1003, @limit);
		@count[1] = f(@w, 1000, @limit);
	}
	@out(@count, sizeof(@count));
}]]

-- --- reading bytes -------------------------------------------------------------------------------

local function number_at(bytes, at, size)
   local value = 0
   for i = size, 1, -1 do value = value * 256 + (bytes:byte(at + i - 1) or 0) end
   return value
end

-- --- inputs and expected results -----------------------------------------------------------------

local work = {}

function work.multiply(draw)
   -- c is not 0 at first
   local a, b, wanted, input = {}, {}, {}, { little(draw(1, 999), 8):rep(N * N) }
   for i = 0, N * N - 1 do a[i], b[i] = draw(0, 999), draw(0, 999) end
   for i = 0, N - 1 do
      for j = 0, N - 1 do
         local sum = 0
         for k = 0, N - 1 do sum = sum + a[i * N + k] * b[k * N + j] end
         wanted[#wanted + 1] = little(sum, 8)
      end
   end
   for i = 0, N * N - 1 do input[i + 2], input[N * N + i + 2] = little(a[i], 8), little(b[i], 8) end
   return { main = MULTIPLY_MAIN, input = table.concat(input), wanted = table.concat(wanted) }
end

function work.star(draw)
   local rows, sum = {}, 0
   for i = 1, STARS do
      local kind, mass, near = draw(0, 3), draw(0, 50000), draw(0, 1)
      if kind == 1 and near == 1 then sum = sum + mass end
      rows[i] = little(kind, 4) .. little(mass, 4) .. little(near, 4) .. little(draw(0, 1000) * 1000, 4)
         .. little(draw(0, 1000), 4)
   end
   local input = table.concat(rows)
   assert(#input == STARS * BYTES)
   return { main = STAR_MAIN, input = input, wanted = little(sum, 8) .. input, skip = 4 }
end

-- The input always has the cases that solutions forget: numbers below the limit at both ends of
-- each array, also in the rest that fills no vector, and one that equals the limit.
function work.less(draw)
   local input, wanted, limit = {}, {}, draw(200, 800)
   for part, n in ipairs(PARTS) do
      local share, middle, count = draw(100, 900), draw(100, n - 100), 0
      for i = 1, n do
         local counts = i == 1 or i > n - 32 or (i ~= middle and draw(0, 999) < share)
         local value = i == middle and limit or counts and draw(0, limit - 1) or draw(limit, 999)
         if counts then count = count + 1 end
         input[#input + 1] = little(value, 4)
      end
      wanted[part] = little(count, 4)
   end
   input[#input + 1] = little(limit, 4)
   return { main = LESS_MAIN, input = table.concat(input), wanted = table.concat(wanted) }
end

-- Measures a source with numbers of `draw`; returns counts, `right`, a star's `size`; or nil, why.
local function measure(kit, p, kind, source, draw)
   local job = work[kind](draw)
   local out, message = compiler.measure(kit, p, source, job.main, job.input)
   if not out then return nil, message end
   local skip = job.skip or 0
   out.size, out.right = number_at(out.output, 1, 4), out.output:sub(skip + 1) == job.wanted
   return out
end

local known = {} -- the counts of the lab's own sources

-- Returns the counts of a program of the lab's own, given its source. The random numbers in its
-- input are the same each time.
local function counts(kit, p, kind, source)
   local key = table.concat({ p.model, p.cache, source }, "\0")
   if not known[key] then
      local state = 7
      known[key] = assert(measure(kit, p, kind, source, function(from, to)
         state = state * 16807 % 2147483647
         return from + state % (to - from + 1)
      end))
      assert(known[key].right, "the lab's own source is wrong")
   end
   return known[key]
end

-- --- the lab's pages -----------------------------------------------------------------------------

local function loops(kit, p)
   local plain = counts(kit, p, "multiply", MULTIPLY)
   return { n = N, products = N ^ 3, plain_misses = plain.misses, plain_instructions = plain.instructions,
      plain_cycles = plain.cycles, plain_accesses = plain.accesses, matrix_bytes = 8 * N * N, line = 64, number = 8,
      matrix_lines = 2 * N * N / 8, columns_in_lines = N ^ 3 / 8 }
end

local function rows(kit, p, f)
   local by_rows = counts(kit, p, "multiply", BY_ROWS)
   return { row_misses = by_rows.misses, row_instructions = by_rows.instructions, row_cycles = by_rows.cycles,
      row_factor = f.plain_cycles / by_rows.cycles,
      row_more = by_rows.instructions > f.plain_instructions and 1 or 2 }
end

local function tiles(kit, p, f)
   local tiled = counts(kit, p, "multiply", TILED)
   return { tile_misses = tiled.misses, tile = 8, tile_cycles = tiled.cycles,
      most_misses = math.ceil(tiled.misses * 1.5), tile_instructions = tiled.instructions,
      tile_percent = 100 * tiled.instructions / f.plain_instructions }
end

local function structures(kit, p)
   local plain, ordered = counts(kit, p, "star", STAR), counts(kit, p, "star", REORDERED)
   return { stars = STARS, size = plain.size, star_misses = plain.misses, parts = 1 + 8 + 1 + 8 + 2,
      ordered_size = ordered.size, ordered_misses = ordered.misses, most_star_misses = math.floor(0.4 * plain.misses) }
end

local function vectors(kit, p)
   local plain, four = counts(kit, p, "less", LESS), counts(kit, p, "less", UNROLLED)
   return { numbers = NUMBERS, first = PARTS[1], second = PARTS[2],
      less_instructions = plain.instructions, each = plain.instructions / NUMBERS,
      four_instructions = four.instructions, four_percent = 100 * four.instructions / plain.instructions,
      most_less = math.floor(0.35 * plain.instructions), less_misses = plain.misses }
end

local function setup(kind, name)
   return function(kit, p)
      return { [name] = function(path)
         local file = assert(io.open(path))
         local source = file:read("*a")
         file:close()
         local out, message = measure(kit, p, kind, source, kit.draw)
         if not out then return message end
         return ("%s result: %d instructions, %d accesses, %d misses, %d cycles"):format(
            out.right and "right" or "wrong", out.instructions, out.accesses, out.misses, out.cycles)
      end }
   end
end

-- Returns the check of a task: the result must be right, and a count at most the figure `limit`.
local function check(kind, count, limit)
   return function(kit, p, source, f)
      if type(source) ~= "string" then return false, "The script returns no text of C." end
      local out, message = measure(kit, p, kind, source, kit.draw)
      if not out then return false, (message:gsub("[{}]", "")) end
      if not out.right then return false, "Its result is not right." end
      return out[count] <= f[limit], nil, { got_misses = out.misses, got_instructions = out.instructions,
         got_cycles = out.cycles }
   end
end

local function as_script(source)
   return "return [==[\n" .. source .. "\n]==]"
end

-- Returns a source as a block of code on a page; an empty line would end the block.
local function indented(source)
   return (("\n" .. source):gsub("\n+", "\n"):gsub("\t", "   "):gsub("\n", "\n            "))
end

return {
   number = 17,
   title = "Faster: a C program, judged by counts",
   goals = { "tile a loop, and count the misses that go", "pack a structure", "do four things with one instruction",
      "judge a change by counts instead of a clock" },
   read = { "lpfm help trace: recording what a program executes", "labs 8 and 12, for caches and what to mend first",
      "gcc's manual: vector extensions" },
   teacher = [[
      What is measured how: the student's function is compiled by cc -O1 without a library, run under valgrind's lackey,
      which writes down every instruction and access, and replayed on the simulated computer. Its cache is small, so
      that small matrices are enough. It is run twice, with and without the call, and the difference counts. No clock
      and no PMU takes part, so a count is nearly the same on every computer with the same compiler, and a loaded
      computer does no harm. Cycles are those of the simulated computer: an instruction takes one, a miss waits. It has
      no prefetcher and does one thing at a time; on a laptop tiles gain less for small matrices and more for large
      ones, and vectors gain about what is counted here.

      The judge compiles and runs in the confinement of scripts, compares the result of random inputs with its own, and
      counts outside. Preprocessor lines and assembler are refused: they could change what surrounds the function. With
      `#pragma GCC optimize("O3")`, which is allowed, the compiler writes the vectors of the last task by itself, and
      that solves it; ask for them in its assembler.

      Needed: cc and valgrind.

      Plan of the hour: fifteen minutes for the first three questions and the first task's idea, ten for its code, ten
      for the structure, twenty for vectors. Students who know OpenMP or intrinsics ask for them: the vector extensions
      are enough, and readable. Usual mistakes: tiles of which three do not fit; a tile loop that leaves out the rest; a
      structure that is only reordered; vectors that forget the elements after the last whole one.
   ]],
   needs = { "cc", "valgrind" },
   params = { model = "k8", cache = 4096 },
   most = { cache = 65536 },
   draw = { cache = { 2048, 4096 } },
   pages = {
      { text = [[
         A function in C multiplies matrices of {n} rows and columns; each number has {number} bytes.
]] .. indented(MULTIPLY) .. [[


         It is compiled by cc -O1. valgrind writes down what it executes (`lpfm trace` does the same), and that is
         replayed on the simulated computer, model {model}, with one cache of {cache} bytes, in lines of {line}. So
         nothing here depends on a clock. A matrix has {matrix_bytes} bytes: none fits.
      ]],
        ask = "There are {products} products. How many accesses miss, about?", id = "plain", within = 0.1,
        run = loops,
        show = { { "instructions", "plain_instructions" }, { "accesses", "plain_accesses" },
           { "misses", "plain_misses" }, { "cycles", "plain_cycles" } },
        answer = "plain_misses",
        right = [[One for each product: b is read by columns, each number is in another line, and when the next column
           would use that line again it has gone.]],
        wrong = { { is = "columns_in_lines", say = [[That would be so if b were read along its rows. It is read by
           columns: each number in another line, {plain_misses}.]] },
           { is = "matrix_lines", say = [[That is each line once. But a line has gone before it is used again:
              {plain_misses}.]] },
           { more = true, say = "a is read along its rows, and hits nearly always: {plain_misses}." } },
        otherwise = "Each access to b misses, and few others: {plain_misses}.",
        hints = { "Which of a and b is read along its rows?",
           "How many lines has a column of b, and how many fit into the cache?" } },
      { text = [[
         The two inner loops are exchanged: for each i and k, all j of the row c[i] get a[i][k] * b[k][j] added. Now b
         and c are read along their rows.
      ]],
        ask = "How many accesses miss?", id = "rows", within = 0.15,
        run = rows,
        show = { { "misses", "row_misses" }, { "cycles", "row_cycles" }, { "times as fast", "row_factor" } },
        answer = "row_misses",
        right = "One for each line of b, for each i: b as a whole still does not fit.",
        wrong = { { is = "plain_misses", say = [[Along a row, a line of {line} bytes serves several numbers:
           {row_misses}.]] },
           { is = "matrix_lines", say = "b does not fit, so it is fetched anew for each i: {row_misses}." } },
        otherwise = "A line has {line} bytes, a number {number}; b is fetched anew for each i: {row_misses}.",
        hints = { "How many numbers are in a line?", "How often is all of b read?" } },
      { ask = "And the instructions: are there more of them than before, or fewer?", id = "more", kind = "choice",
        run = function() return {} end,
        show = { { "instructions before", "plain_instructions" }, { "by rows", "row_instructions" } },
        answer = "row_more",
        choices = {
           { "More", say = [[{row_instructions}, and not {plain_instructions}: the sum was in a register, now c is
              loaded and stored for each product. It is {row_factor} times as fast all the same. A count says what it
              counts, and no more.]] },
           { "Fewer", say = [[{row_instructions}, beside {plain_instructions} before: c is loaded and stored for each
              product now, where the sum was in a register.]] },
        },
        hints = { "Where was the sum kept before, and where is it now?" } },
      { text = [[
         The third way is tiles. A tile of {tile} x {tile} numbers of each of the three matrices fits into the cache.
         The product is computed tile by tile: three outer loops go over tiles, three inner ones within them.
      ]],
        ask = "How many accesses miss, about? By rows it was {row_misses}.", id = "tiles", factor = 1.5,
        run = tiles,
        show = { { "misses", "tile_misses" }, { "instructions", "tile_instructions" },
           { "instructions, percent of the first", "tile_percent" }, { "cycles", "tile_cycles" } },
        answer = "tile_misses",
        right = [[Each tile of b is fetched once for each row of tiles, not for each row: {tile} times fewer, or a
           little less, for a and c are fetched, too.]],
        wrong = { { is = "row_misses", say = [[A tile of b is used for all rows of a tile, once it is there:
           {tile_misses}.]] },
           { is = "matrix_lines", say = [[Only if all fitted at once. Each tile comes once for each row of tiles:
              {tile_misses}.]] } },
        otherwise = "b is fetched for each row of tiles, and no more for each row: {tile_misses}.",
        hints = { "How often was b fetched by rows, and how often now?" } },
      { task = "tile", kind = "script",
        todo = [[
           Make multiply() miss at most {most_misses} times, with the same result for random numbers. Write it in C,
           without a library and without preprocessor: # may only begin a line of #pragma GCC. The script returns its
           text:

              return [==[
              enum { N = 48 };
              void multiply(long *c, const long *a, const long *b)
              {
                 ...
              }
              ]==]

           `multiply("mine.c")` at the prompt measures a file with that C.
        ]],
        setup = setup("multiply", "multiply"),
        run = function() return {} end,
        check = check("multiply", "misses", "most_misses"),
        right = "{got_misses} misses, {got_cycles} cycles instead of {plain_cycles}.",
        otherwise = "{got_misses} misses; at most {most_misses} are wanted.",
        solution = as_script(TILED), mistake = as_script(BY_ROWS),
        hints = { "Which part of b should stay in the cache, while it is used again and again?",
           "Three outer loops over i0, j0 and k0, in steps of a tile; three inner ones from there to the tile's end.",
           "c has to be 0 before, for each tile adds to it." } },
      { text = [[
         Now a structure, of which there are {stars}:
]] .. indented(STAR) .. [[


         A function adds up the masses of those that are near and of kind one. No star is in the cache before.
      ]],
        ask = "How many bytes has a star? (On x86-64 and arm64.)", id = "size", unit = "bytes",
        run = structures,
        show = { { "bytes of a star", "size" }, { "misses", "star_misses" } },
        answer = "size",
        right = [[A number of {number} bytes is at an address that {number} divides: there are gaps before mass and id,
        and at the end.]],
        wrong = { { is = "parts", say = [[That is the sum of the parts. But mass and id are at addresses that {number}
           divides, so there are gaps: {size}.]] },
           { is = "ordered_size", say = "That would be so in another order of the parts. As they are: {size}." } },
        otherwise = "With the gaps before mass and id, and at the end: {size}.",
        hints = { "At which addresses may a double be?", "Draw the bytes in a row." } },
      { text = "The parts are sorted by their size, the largest first. That is all.",
        ask = "How many accesses miss when the masses are added up? Before it was {star_misses}.", id = "ordered",
        within = 0.1,
        run = function() return {} end,
        show = { { "bytes of a star", "ordered_size" }, { "misses", "ordered_misses" } },
        answer = "ordered_misses",
        right = [[All stars are read once, so what counts is how many lines they have: {stars} times {ordered_size}
           bytes.]],
        wrong = { { is = "star_misses", say = [[The gaps are gone, a star has {ordered_size} bytes:
           {ordered_misses}.]] },
           { is = "stars", say = "Several stars are in a line of {line} bytes: {ordered_misses}." } },
        otherwise = "{stars} stars of {ordered_size} bytes, in lines of {line}: {ordered_misses}.",
        hints = { "Which gaps are left?", "How many lines have all stars together?" } },
      { task = "pack", kind = "script",
        todo = [[
           Change the structure so that the same loop misses at most {most_star_misses} times. All parts keep their
           names and every value that the comments allow; types and order are yours. The script returns the text of
           struct star, as above, and nothing else. `star("mine.c")` at the prompt measures a file with it.
        ]],
        setup = setup("star", "star"),
        run = function() return {} end,
        check = check("star", "misses", "most_star_misses"),
        right = "{got_misses} misses. The instructions are others, too: {got_instructions}.",
        otherwise = "{got_misses} misses; at most {most_star_misses} are wanted.",
        solution = as_script(PACKED), mistake = as_script(REORDERED),
        hints = { "How many bits does each part need? The comments say its largest value.",
           "A mass is whole, and at most that of two bytes without a sign.",
           "`unsigned id : 20` is a part of twenty bits." } },
      { text = [[
         The last program counts the numbers below a limit, of {numbers} random ones in two arrays:
]] .. indented(LESS) .. [[


         It executes {each} instructions for each number. It is unrolled: four comparisons in each round, without a
         branch.
      ]],
        ask = "How many percent of the instructions are left?", id = "unrolled", unit = "%", within = 0.25,
        run = vectors,
        show = { { "instructions before", "less_instructions" }, { "unrolled", "four_instructions" },
           { "percent", "four_percent" } },
        answer = "four_percent",
        right = [[The loop itself is done once for four numbers. Comparing and adding is left for each of them.]],
        wrong = { { is = function() return 25 end, say = [[Only the loop's own instructions are shared by four. Each
           number is still compared and added by itself: {four_percent} %.]] },
           { is = function() return 100 end, say = "The loop's own instructions are shared now: {four_percent} %." } },
        otherwise = "The loop's own instructions are shared by four now, the others are left: {four_percent} %.",
        hints = { "Which instructions does a round have, and which of them belong to the loop?" } },
      { task = "vector", kind = "script",
        todo = [[
           Write less() with at most {most_less} instructions instead of {less_instructions}: with vectors, which hold
           four numbers. In gcc's C:

              typedef int four __attribute__((vector_size(16), aligned(4), may_alias));
              four limits = { limit, limit, limit, limit };
              /* -1 where a number is smaller, else 0: */
              four smaller = *(const four *)(v + i) < limits;

           Vectors are added like numbers, and counts[0] is an element of one. The arrays have {first} and {second}
           numbers; the former is no multiple of four. The script returns the text of the function. `less("mine.c")` at
           the prompt measures a file with it.
        ]],
        setup = setup("less", "less"),
        run = function() return {} end,
        check = check("less", "instructions", "most_less"),
        right = [[{got_instructions} instructions. What is still to be done is to fetch the numbers: {less_misses}
           misses.]],
        otherwise = "{got_instructions} instructions; at most {most_less} are wanted.",
        solution = as_script(VECTORS), mistake = as_script(UNROLLED),
        hints = { "Keep four counts in a vector, and add them up after the loop.",
           "A comparison gives `-1` for true: subtract it.",
           "The numbers after the last whole vector need a loop of their own." } },
   },
}
