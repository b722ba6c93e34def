-- SPDX-License-Identifier: MIT
--- lpfm merge: many recordings in one file.
-- @module repl.parts.jobs.merge

local input = require "repl.command.input"
local merge = require "pfm.jobs.merge"
local options = require "repl.command.options"
local render = require "pfm.render"

local command = {}

--- Makes the parser of the command line.
-- @usage require("repl.parts.jobs.merge").options():help()
function command.options()
   local c = options.command("merge", "Puts many recordings, or files of merged ones, into one file.",
      "lpfm merge [options] FILE... -o FILE")
   c.mixed = true
   c:option("-o --output", "FILE", "The file to write; it may be one of those merged.")
   c:flag("-q --quiet", "Say only what is left out.")
   c:epilog("All commands that read a recording read the file. Whatever the order and the number of steps, it is the\n"
      .. "same to the byte; a recording that comes twice is there once. Symbols come from where it was made.\n"
      .. "Damaged files and those that are no recordings are named and left out; the exit status is 1 then.", {
      "lpfm merge run.*.data -o job.data && lpfm report -s rank,symbol job.data",
      "lpfm merge node1.data node2.data -o both.data",
   })
   return c
end

local function summary(result, path)
   local twice = result.twice > 0 and (", %s that came again %s there once"):format(render.number(result.twice),
      result.twice == 1 and "is" or "are") or ""
   return ("lpfm merge: %s, %s, in %s%s"):format(render.plural(result.sources, "recording"), render.bytes(result.bytes),
      render.printable(path), twice)
end

local function print_result(result, path, quiet)
   for _, problem in ipairs(result.problems) do
      io.stderr:write("lpfm merge: left out: ", render.printable(problem), "\n")
   end
   for _, name in ipairs(result.unended) do
      io.stderr:write("lpfm merge: ", render.printable(name),
         " did not end properly: samples of its last moments are missing\n")
   end
   if result.unlocked then
      io.stderr:write("lpfm merge: ", render.printable(path), " could not be locked against other processes that merge "
         .. "into it: ", result.unlocked, "\n")
   end
   if not quiet then io.stderr:write(summary(result, path), "\n") end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status: 1 if something was left out
-- @usage pcall(require("repl.parts.jobs.merge").main, { "none.data", "-o", "all.data" })
function command.main(argv)
   local args, words = command.options():parse(argv)
   if #words == 0 then options.fail("expected the recordings to merge") end
   if not args.output then options.fail("expected -o FILE, where to write them") end
   if args.output == "-" then options.fail("-o: the recordings cannot go to a pipe or the screen: a file is needed") end
   local path = options.file_name(args.output)
   local result = merge.files(input.expand(words), path)
   print_result(result, path, args.quiet)
   return #result.problems > 0 and 1 or 0
end

--- Merges recordings.
-- @tparam {string,...} paths
-- @string out the file
-- @treturn table of `merge.files`; the prompt shows it as text
-- @usage record("true", "one.data"); merge({ "one.data" }, "all.data")
function command.call(paths, out)
   options.arguments("merge", 'merge({ "one.data", "two.data" }, "all.data")',
      { paths, "table", "a list of the names of recordings" }, { out, "string", "the name of the file" })
   return setmetatable(merge.files(paths, out), { __tostring = function(result) return summary(result, out) end })
end

return command
