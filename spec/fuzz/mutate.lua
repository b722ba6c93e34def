-- SPDX-License-Identifier: MIT
--- Damages recordings and files of perf, lets lpfm's commands read them, and prints the files on
-- which a command ends in a traceback. It computes the checksums of damaged recordings anew, so
-- that the readers behind the check of checksums are reached; files of perf have no checksums.
--
--    lpfm spec/fuzz/mutate.lua KIND COUNT FILE SEED.data...
--
-- KIND is report, script or export; FILE is overwritten each time.
local chunks = require "lpfm.chunks"
local command = require "repl.command"
local files = require "support.files"

local kind, count, path = arg[1], tonumber(arg[2]), arg[3]
local seeds = { unpack(arg, 4) }

local lines = {
   report = { "--plain -s comm,symbol,line", "--plain -s thread,object,address,event,set", "--json -s pid,cpu,time",
      "--histogram interval", "--phases", "-g caller", "--correlate interval,period", "--plain -s rank,host,recording",
      "--histogram cs", "-x ; -s symbol", "--samples" },
   script = { "", "--format perf",
      "-F comm,pid,tid,cpu,time,event,period,address,symbol,offset,object,line,rank,host,node,job,step" },
   export = { "--format html", "--format folded", "--format flamegraph", "--format pprof -o /dev/null",
      "--format speedscope", "--format firefox", "--format json", "--format csv", "--format sql" },
}

-- --- random numbers ------------------------------------------------------------------------------

local state = 1

local function pick(n)
   state = (state * 16807) % 2147483647
   return state % n + 1
end

local function one_of(list)
   return list[pick(#list)]
end

-- --- mutations -----------------------------------------------------------------------------------

local ODD = { "null", "-1", "0", "1.5", "1e18", "-1e18", "1e300", "-1e300", "1e999", "NaN", "-Infinity",
   "9007199254740993", "18446744073709551615", "4294967296", '""', '"x"', '"-5"', '"1e999"', '"\\u0000\\u001b[2J"',
   '"a\\nb"', "true", "false", "[]", "{}", "[[]]", "[1,2,3]", '["x",null]', '{"a":1}', "[null,null]" }

-- Returns JSON with another value in the place of one.
local function mutate_json(text)
   local places = {}
   for _, pattern in ipairs { "()%-?%d[%d.eE+-]*()", '()"[^"]*"()', "()%b[]()", "()%b{}()" } do
      for from, to in text:gmatch(pattern) do
         if text:sub(to, to) ~= ":" then places[#places + 1] = { from, to } end
      end
   end
   if #places == 0 then return one_of(ODD) end
   local place = one_of(places)
   return text:sub(1, place[1] - 1) .. one_of(ODD) .. text:sub(place[2])
end

local WORDS = { ("\255"):rep(8), ("\0"):rep(8), ("\0"):rep(7) .. "\128", ("\255"):rep(7) .. "\127", "\1\2\3\4\5\6\7\8",
   "\255\255\255\255\0\0\0\0", "\0\0\0\0\0\0\32\0" }

local function mutate_words(text)
   local at = 8 * pick(math.max(math.floor(#text / 8), 1))
   if pick(8) == 1 then return text:sub(1, at) end
   return text:sub(1, at - 8) .. one_of(WORDS) .. text:sub(at + 1)
end

local TAGS = { "HEAD", "MAPS", "COMM", "PROG", "STKS", "SMPL", "SYMS", "OBJS", "SRCE", "DONE", "ENDS", "NEWS" }

local function mutate(list)
   local i = pick(#list)
   local way = pick(12)
   if way == 1 then
      table.remove(list, i)
   elseif way == 2 then
      table.insert(list, pick(#list), list[i])
   elseif way == 3 then
      list[i] = { one_of(TAGS), list[i][2] }
   else
      local tag, body = list[i][1], list[i][2]
      list[i] = { tag, (tag == "SMPL" or tag == "STKS") and mutate_words(body) or mutate_json(body) }
   end
end

-- Returns the text with some bytes changed, missing or repeated.
local function mutate_bytes(text)
   local at, n = pick(#text), pick(8)
   local way = pick(10)
   if way == 1 then return text:sub(1, at) end
   if way == 2 then return text:sub(1, at) .. text:sub(at + n) end
   if way == 3 then return text:sub(1, at) .. text:sub(at - 8 * n) end
   if way < 7 then at = math.max(at - at % 8, 0) end
   return text:sub(1, at) .. one_of(WORDS):sub(1, n) .. text:sub(at + n + 1)
end

-- --- reading -------------------------------------------------------------------------------------

local function chunks_of(seed)
   local text = files.read(seed)
   if text:sub(1, 8) == "PERFILE2" then return text end
   local file, out = assert(chunks.open(seed)), {}
   for tag, at, length in function() return file:next() end do out[#out + 1] = { tag, file:body(at, length) } end
   file:close()
   return out
end

local function write(list)
   local out = {}
   if type(list) == "string" then return files.write(path, list) end
   for i, c in ipairs(list) do out[i] = chunks.head(c[1], c[2]) .. c[2] end
   files.write(path, table.concat(out))
end

local said, stderr = nil, io.stderr
local gathered = { write = function(_, ...) said = said .. table.concat({ ... }) end }

local function read(i)
   local argv = { kind }
   for word in lines[kind][i % #lines[kind] + 1]:gmatch("%S+") do argv[#argv + 1] = word end
   argv[#argv + 1] = path
   said = ""
   rawset(io, "stderr", gathered)
   local status = command.main(argv)
   rawset(io, "stderr", stderr)
   return said:find("stack traceback", 1, true) and said or status > 2 and "status " .. status .. ": " .. said
end

local wrong = 0
for i, seed in ipairs(seeds) do seeds[i] = chunks_of(seed) end
for i = 1, count do
   state = i * 7919 + 1
   local seed = seeds[i % #seeds + 1]
   local list = type(seed) == "string" and seed or { unpack(seed) }
   for _ = 1, pick(3) do
      if type(list) == "string" then list = mutate_bytes(list) elseif #list > 0 then mutate(list) end
   end
   write(list)
   local bad = read(i)
   if bad then
      wrong = wrong + 1
      files.write(("%s.%d"):format(path, i), files.read(path))
      io.stdout:write(("\nMUTATION %d: %s\n"):format(i, bad))
   end
end
io.stdout:write(("\nMUTATIONS %d, wrong %d\n"):format(count, wrong))
