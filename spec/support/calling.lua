-- SPDX-License-Identifier: MIT
--- Programs of known calls, drawn at random: functions that call later ones, each from some places, with frames of any
-- size; small leaves that are called often, so that samples lie in prologues, epilogues and PLTs.
local calling = {}

local FUNCTIONS, LEAVES, TIMES = 10, 4, 40

local function name(i)
   return ("f%d_"):format(i)
end

-- One function: what it has on its stack, and what it calls. A leaf has a loop or nothing.
local function body(out, i, callees, random)
   local words = random(4) == 1 and random(60) or random(6)
   out[#out + 1] = ("NOIPA long %s(long n)\n{"):format(name(i))
   if #callees == 0 then
      out[#out + 1] = random(2) == 1 and "\tfor (long i = 0; i < (n & 15); i++)\n\t\tsum += i;" or "\tsum += n;"
      out[#out + 1] = "\treturn n ^ 5;\n}\n"
      return
   end
   out[#out + 1] = ("\tvolatile long here[%d];\n\there[n & 0] = n;"):format(words)
   if random(3) == 1 then out[#out + 1] = "\tchar *more = __builtin_alloca(16 + (n & 63));\n\tKEEP(more);" end
   for _, k in ipairs(callees) do
      out[#out + 1] = ("\tfor (int i = 0; i < %d; i++)\n\t\there[0] += %s(here[0] + i);"):format(
         k > FUNCTIONS and TIMES or 2, name(k))
   end
   out[#out + 1] = "\tKEEP(here);\n\treturn here[0];\n}\n"
end

--- Draws a program.
-- @tparam function random as math.random
-- @treturn string C: main() calls f1_() for as many milliseconds as its argument says
-- @treturn table by name of a function, the set of what it calls
function calling.draw(random)
   local calls, out = {}, { "#include <stdlib.h>", "#include <time.h>", "#define NOIPA __attribute__((noipa))",
      '#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")', "extern volatile long sum;" }
   for i = 1, FUNCTIONS + LEAVES do out[#out + 1] = ("long %s(long n);"):format(name(i)) end
   out[#out + 1] = "#ifdef PARTS\n#define PART(i) (PARTS == (i) % 2)\n#else\n#define PART(i) 1\n#endif"
   out[#out + 1] = "#if PART(0)\nvolatile long sum;\n#endif"
   for i = 1, FUNCTIONS + LEAVES do
      local callees, set = {}, {}
      if i <= FUNCTIONS then
         callees[1] = i < FUNCTIONS and i + 1 or nil
         callees[#callees + 1] = FUNCTIONS + random(LEAVES)
         if random(3) == 1 and i + 2 <= FUNCTIONS then callees[#callees + 1] = random(i + 2, FUNCTIONS) end
      end
      for _, k in ipairs(callees) do set[name(k)] = true end
      calls[name(i)] = set
      out[#out + 1] = ("#if PART(%d)"):format(i)
      body(out, i, callees, random)
      out[#out + 1] = "#endif"
   end
   calls.main = { [name(1)] = true }
   out[#out + 1] = "#if PART(0)\nint main(int argc, char **argv)\n{\n"
      .. "\tfor (long i = 0, n = atol(argv[argc - 1]); clock() < n * (CLOCKS_PER_SEC / 1000); i++)\n"
      .. "\t\tsum += f1_(i);\n\treturn 0;\n}\n#endif"
   return table.concat(out, "\n") .. "\n", calls
end

--- Compares the stacks of a recording with what calls what.
-- @tparam table frames of a sample: names, the innermost first
-- @tparam table calls of `calling.draw`
-- @treturn string "true": from the place to main() each function calls the next; "elsewhere": the place is in none of
-- them; "lost": the stack does not reach main(); else what is wrong
function calling.judge(frames, calls)
   local first
   for i, f in ipairs(frames) do first = first or calls[f] and i end
   if not first then return "elsewhere" end
   for i = first, #frames do
      if frames[i] == "main" then return "true" end
      local caller = frames[i + 1]
      if not caller then return "lost" end
      if not (calls[caller] and calls[caller][frames[i]]) then return ("%s calls %s"):format(caller, frames[i]) end
   end
end

return calling
