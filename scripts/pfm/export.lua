-- SPDX-License-Identifier: MIT
--- Recordings in the formats that other tools read.
-- @module pfm.export

local expect = require "pfm.util.expect"
local nearest = require "pfm.util.nearest"
local text_file = require "pfm.util.text_file"
local shell = require "pfm.util.shell"
local tables = require "pfm.util.tables"

local export = {}

--- The names of the formats.
export.names = { "html", "folded", "flamegraph", "speedscope", "firefox", "pprof", "csv", "json", "sql", "sqlite" }
local names = export.names
local aliases = { svg = "flamegraph", flame = "flamegraph", stacks = "folded", collapsed = "folded",
   stackcollapse = "folded", proto = "pprof", pb = "pprof", database = "sqlite", db = "sqlite", sqlite3 = "sqlite" }

--- Finds a format.
-- @string name of the format, or another word for it
-- @treturn[1] table its writer: `summary`, `extensions`, `write(self, out, opts)`, perhaps
-- `binary`, `one_event`
-- @treturn[1] string its name
-- @return[2] nil there is none
-- @usage print(require("pfm.export").format("svg").summary)
function export.format(name)
   name = aliases[name] or name
   if tables.find(names, name) then return require("pfm.export." .. name), name end
end

-- --- writing -------------------------------------------------------------------------------------

local function open(path)
   local file, err = io.open(path, "wb")
   if not file then error("cannot write " .. err, 0) end
   return file
end

-- As shell.writer, but names the file in the message of the program that writes it.
local function piped(command, path)
   local file, finish = shell.writer(command)
   return file, function()
      local ok, err = pcall(finish)
      if not ok then error(("cannot write %s: %s"):format(path or "the output", err), 0) end
   end
end

-- Returns what a format's writer writes to, and the function to call when the writer is done.
local function destination(writer, path)
   if writer.program then shell.need(writer.program) end
   -- This raises an error if the file cannot be written.
   if path and (writer.filter or writer.consumer) then open(path):close() end
   if writer.consumer then return piped(writer.consumer(shell.quote(path)), path) end
   if writer.filter then return piped(writer.filter .. (path and " >" .. shell.quote(path) or ""), path) end
   local file = text_file.checked(path and open(path) or io.stdout, path or "the output")
   return file, function() file:close() end
end

local OPTIONS = { "event", "weight", "ids", "inlined", "title", "icicle", "base", "separator" }

--- Writes a recording in a format. A file that cannot be written whole is removed.
-- @tparam table self of `recording.open`
-- @string name "html", "folded", "flamegraph", "speedscope", "firefox", "pprof", "csv", "json",
-- "sql" or "sqlite"
-- @string[opt] path by default standard output; sqlite needs one
-- @tparam[opt] table opts the format's options
-- @string[opt] opts.event the event to show
-- @string[opt] opts.weight what stacks weigh: "samples" or "events"
-- @bool[opt] opts.ids keep processes and threads of one name apart by their numbers
-- @bool[opt] opts.inlined false: leave inlined functions out
-- @string[opt] opts.title of a flame graph or a page
-- @bool[opt] opts.icicle a flame graph from the top down
-- @param[opt] opts.base an older recording: a flame graph's colours show how shares have changed
-- @string[opt] opts.separator of csv
-- @usage require("pfm.export").write(assert(recording.open "lpfm.data"), "flamegraph", "out.svg")
function export.write(self, name, path, opts)
   local writer = export.format(name)
   if not writer then
      error(("there is no format '%s'%s (formats: %s)"):format(name, nearest.hint(name, names),
         table.concat(names, ", ")), 0)
   end
   if writer.consumer and not path then
      error("a database cannot go to a pipe or the screen: it needs the name of a file", 0)
   end
   expect.fields("export", opts, OPTIONS, "option")
   for _, read in ipairs(path and { self, opts and opts.base or nil } or {}) do
      text_file.spare(path, tables.map(read.sources or { read }, "path"))
   end
   local out, finish = destination(writer, path)
   local ok, err = pcall(writer.write, self, out, opts or {})
   local done, why = pcall(finish)
   if path and not (done and ok) then text_file.remove(path) end
   if not done then error(why, 0) end -- the message of the program that reads the output tells more
   if not ok then error(err, 0) end
end

--- Finds the format by the end of a file's name: the one with the longest extension that fits.
-- @string path
-- @treturn string the format's name, or nil
-- @usage assert(require("pfm.export").format_of("out.svg") == "flamegraph")
function export.format_of(path)
   local best, length = nil, 0
   for _, name in ipairs(names) do
      for _, extension in ipairs(require("pfm.export." .. name).extensions) do
         if #extension > length and path:sub(-#extension - 1):lower() == "." .. extension then
            best, length = name, #extension
         end
      end
   end
   return best
end

expect.signatures("export", export, {
   write = "self: {head}; name: string; path: path?; opts: table?",
   format_of = "path: string",
})

return export
