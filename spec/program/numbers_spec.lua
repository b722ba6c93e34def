-- SPDX-License-Identifier: MIT
-- Whatever number an option is given, the command does its work or says in words what is wrong with
-- the number. The options are those of all commands' own tables; a process for each command tries
-- all values. One interpreter: numbers are read by the same code, which a second interpreter runs
-- alike.

local c = require "support.c"
local command = require "repl.command.rows"
local files = require "support.files"

local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
local dir = c.folder()
local data = dir .. "/in.data"

local VALUES = { "1e20", "-1", "nan", "inf", "0x10", "9007199254740993" }
-- Values for the kinds of numbers, by their names in the help; @ is the number.
local NUMERIC = { N = { "@" }, P = { "@" }, SECONDS = { "@" }, MS = { "@" }, HZ = { "@" }, SIZE = { "@" },
   CPUS = { "@" }, PIDS = { "@" }, TIDS = { "@" }, RANKS = { "@" }, PERCENT = { "@" }, TIME = { "@" }, PAGE = { "@" },
   ["FROM,TO"] = { "@,1", "0,@" }, ["EVENT:N"] = { "page-faults:@" }, STAGES = { "page-faults:@" },
   ["HOW[:SEED]"] = { "16:@" } }
-- These options say how long a command runs. A large number is valid there, so only invalid ones
-- are tried.
local LASTING = { ["--refresh"] = true, ["--every"] = true, ["--for"] = true, ["--rounds"] = true }
local NO_NUMBERS = { "-1", "nan", "inf" }
-- Words of a command line by their kinds (command.rows); by command, all that follows the option.
local WORDS = { command = "true", file = data, expression = "cpu", stages = "page-faults:1", figure = "time",
   format = "csv" }
local ENDS = { diff = { data, data }, top = { "--once", "true" }, record = { "-o", dir .. "/out.data", "true" },
   export = { "-o", "-", "csv", data }, annotate = { data }, merge = { data, "-o", "/dev/null" } }
local LIMIT = 60 -- s of CPU time for the lines of a command

local function ending(row)
   if ENDS[row.name] then return ENDS[row.name] end
   local out = {}
   for _, kind in ipairs(row.words) do out[#out + 1] = WORDS[kind] end
   return out
end

-- Returns the command lines for a command: lists of words.
local function lines_for(row)
   local out = {}
   for _, option in ipairs(command.module(row.name).options().rows) do
      local flag = option.flags[#option.flags]
      for _, value in ipairs(NUMERIC[option.value] and (LASTING[flag] and NO_NUMBERS or VALUES) or {}) do
         for _, form in ipairs(NUMERIC[option.value]) do
            local line = { row.name, flag .. (flag:find("^%-%-") and "=" or "") .. form:gsub("@", value) }
            for _, word in ipairs(ending(row)) do line[#line + 1] = word end
            out[#out + 1] = line
         end
      end
   end
   return out
end

-- The script runs lines, and prints behind the output of each its status and the line.
local SCRIPT = [[
local command = require "repl.command"
for line in io.lines(arg[1]) do
   local words = {}
   for word in line:gmatch("%S+") do words[#words + 1] = word end
   local status = command.main(words)
   io.stdout:flush()
   io.stderr:write("\n@", tostring(status), " ", line, "\n")
end
]]

describe("an option with a number", function()
   setup(function()
      local out, status = c.sh(("%s record -F 999 -o %s -- sh -c 'for i in 1 2 3; do ls / >/dev/null; done'")
         :format(program, data))
      assert.equal(0, status, out)
      files.write(dir .. "/run.lua", SCRIPT)
   end)

   for _, row in ipairs(command.rows) do
      local lines = lines_for(row)
      if #lines > 0 then
         it("of lpfm " .. row.name .. " is taken or refused in words", function()
            local text, seen = {}, 0
            for i, line in ipairs(lines) do text[i] = table.concat(line, " ") .. "\n" end
            files.write(dir .. "/lines", table.concat(text))
            local line_of = "ulimit -t %d; timeout 300 %s %s/run.lua %s/lines </dev/null"
            local out, ended = c.sh(line_of:format(LIMIT, program, dir, dir))
            for said, status, line in out:gmatch("(.-)\n@(%S+) ([^\n]*)\n") do
               seen = seen + 1
               assert.truthy((tonumber(status) or 3) <= 2, line .. " ends with " .. status .. ": " .. said)
               assert.falsy(said:find("traceback", 1, true) or said:find(".lua:", 1, true), line .. ": " .. said)
            end
            assert.equal(#lines, seen, ("lines of %s that ended, before status %d: %s"):format(row.name, ended,
               out:sub(-500)))
         end)
      end
   end
end)
