-- SPDX-License-Identifier: MIT
-- The callers in call stacks, compared with what programs of known structure call.
local c = require "support.c"
local calling = require "support.calling"
local lpfm = require "lpfm"
local objects = require "lpfm.symbols"
local real = require "support.real"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.stacks"

local BUILD = os.getenv("LPFM_BUILD") or "build"
local LPFM = BUILD .. "/lpfm"
local FOLDER = BUILD .. "/spec/callers"

local function write(path, text)
   local file = assert(io.open(path, "w"))
   file:write(text)
   file:close()
end

local function compile(line)
   if os.getenv("LPFM_PREBUILT") then pending("there is no compiler here") end
   local out, status = c.sh("mkdir -p " .. FOLDER .. " && cd " .. FOLDER .. " && LD_PRELOAD= " .. line)
   assert(status == 0, out)
end

local path = os.tmpname()

local function record(options, command)
   local out, status = c.sh(("LPFM_MACHINE=%s %s record -c 100000 %s -o %s -- %s"):format(real, LPFM, options, path,
      command))
   assert(status == 0, out)
   return assert(recording.open(path)), out
end

-- Of each sample: names, the innermost first, and where the stack was cut.
local function each_stack(self)
   local next_sample = samples.each(self)
   return function()
      local s = next_sample()
      if not s then return nil end
      local names, cut = {}, nil
      local frames
      frames, cut = stacks.frames(self, s)
      for i, f in ipairs(frames) do names[i] = f.symbol end
      return names, cut
   end
end

local function dump(names)
   return table.concat(names, " < ")
end

describe("the callers of functions", function()
   local calls, seed

   setup(function()
      assert(lpfm.machine(real))
      if os.getenv("LPFM_PREBUILT") then return end
      seed = os.time()
      math.randomseed(seed)
      local text
      text, calls = calling.draw(math.random)
      os.execute("mkdir -p " .. FOLDER)
      write(FOLDER .. "/drawn.c", text)
   end)

   teardown(function() os.remove(path) end)

   local POINTERS = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
   if jit and jit.arch == "arm64" then POINTERS = "-fno-omit-frame-pointer" end
   local ALL = "gcc -g -w drawn.c -o drawn "

   for _, case in ipairs {
      { "with frame pointers", ALL .. "-O2 -fno-omit-frame-pointer", "-g fp" },
      { "with frame pointers in leaves, too", ALL .. "-O2 " .. POINTERS, "-g fp" },
      { "with frame pointers at -O1", ALL .. "-O1 -fno-omit-frame-pointer", "-g" },
      { "with frame pointers, unwound", ALL .. "-O2 -fno-omit-frame-pointer", "-g dwarf" },
      { "without frame pointers", ALL .. "-O2 -fomit-frame-pointer", "-g" },
      { "without frame pointers at -O1", ALL .. "-O1 -fomit-frame-pointer", "-g" },
      { "of a static program at any address", ALL .. "-O2 -static-pie", "-g" },
      { "across PLTs, with frame pointers",
         "gcc -g -w -O2 -fPIC -shared -fno-omit-frame-pointer -DPARTS=1 drawn.c -o libodd.so && "
         .. "gcc -g -w -O2 -fPIC -fno-omit-frame-pointer -DPARTS=0 drawn.c -o drawn -rdynamic -L. -lodd "
         .. "-Wl,-z,lazy -Wl,-rpath,'$ORIGIN'", "-g fp" },
      { "across PLTs, without them",
         "gcc -g -w -O2 -fPIC -shared -DPARTS=1 drawn.c -o libodd.so && "
         .. "gcc -g -w -O2 -fPIC -DPARTS=0 drawn.c -o drawn -rdynamic -L. -lodd -Wl,-z,lazy -Wl,-rpath,'$ORIGIN'",
         "-g" },
   } do
      it(("are the true ones, to the last: %s (%s)"):format(case[1], case[3]), function()
         compile(case[2])
         local self = record(case[3], FOLDER .. "/drawn 400")
         local n = 0
         for names, cut in each_stack(self) do
            local found = calling.judge(names, calls)
            assert(found == "true" or found == "elsewhere", ("seed %d: %s (%s): %s"):format(seed, found,
               cut or "not cut", dump(names)))
            if found == "true" then
               n = n + 1
               assert.is_nil(cut, dump(names))
            end
         end
         assert.is_true(n > 1000, n .. " samples")
      end)
   end
end)
