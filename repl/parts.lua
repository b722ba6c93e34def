-- SPDX-License-Identifier: MIT
--- Parts of lpfm that are built, packaged and installed separately: for parallel jobs, for fleets
-- of computers, for notebooks, for OProfile's buffers. The module `repl.parts.NAME` of an
-- installed part adds commands, and options to other commands. For parts that are not installed,
-- this module knows which package has them.
--
-- A part's module has `commands`, rows as in `repl.command.rows`; `kinds`, lists of words that
-- these take; `topics`, pages as in `repl.prompt.topics`; and `extend`, by the name of a command:
-- `options(c)` adds options to the command, and `main(args, ...)` may do the command's work, in
-- which case it returns the exit status.
-- @module repl.parts

local parts = {}

-- What each part has, for messages about missing parts: `words`, the names of its commands, topics
-- and modules; `options`, by command.
parts.rows = {
   { name = "jobs", words = { "merge", "ranks" }, options = { stat = { "--ranks", "--per-rank", "--per-host" } } },
   { name = "fleet", words = { "store", "collector", "databases" },
      options = { record = { "--every", "--for", "--rounds", "--cpu-budget", "--disk-budget", "--to", "--set" },
         report = { "--db", "--select", "--against" }, export = { "--to", "--set", "--db", "--select" } } },
   { name = "notebook", words = { "jupyter", "notebook" }, options = {} },
   { name = "oprofile", words = { "oprofile" }, options = {} },
}

-- Returns true if LPFM_PARTS, names separated by blanks, permits a part; without the variable, all
-- are permitted.
local function is_wanted(name)
   local chosen = os.getenv("LPFM_PARTS")
   return not chosen or (" " .. chosen .. " "):find(" " .. name .. " ", 1, true) ~= nil
end

local folder = debug.getinfo(1, "S").source:match("^@(.*)%.lua$")

-- Loads the module of a part if its file is beside this one; other folders of package.path do not
-- count.
local function load(name)
   local file = is_wanted(name) and io.open(("%s/%s.lua"):format(folder, name))
   if not file then return nil end
   file:close()
   return require("repl.parts." .. name)
end

for _, row in ipairs(parts.rows) do row.module = load(row.name) end

local function package_of(row)
   return ("it is in the package lpfm-%s, which is not installed (Debian: apt install lpfm-%s; in the source tree: "
      .. "make install PARTS=%s)"):format(row.name, row.name, row.name)
end

-- Adds the name of the package to require's error if a module of a missing part is not found.
package.loaders[#package.loaders + 1] = function(name)
   for _, row in ipairs(parts.rows) do
      if name:find("^pfm%." .. row.name .. "%.") and not row.module then return "\n\t" .. package_of(row) end
   end
end

--- Returns the rows of the installed parts' commands.
-- @string[opt] part only this part's
-- @treturn {table,...}
function parts.commands(part)
   local out = {}
   for _, row in ipairs(parts.rows) do
      local module = (not part or row.name == part) and row.module
      for _, command in ipairs(module and module.commands or {}) do out[#out + 1] = command end
   end
   return out
end

--- Returns the kinds of words that the parts' commands take, as in `repl.command.kinds`.
-- @treturn table lists of words, by kind
function parts.kinds()
   local out = {}
   for _, row in ipairs(parts.rows) do
      for kind, words in pairs(row.module and row.module.kinds or {}) do out[kind] = words end
   end
   return out
end

--- Says which package has a command, a topic or a module, if its part is not installed.
-- @string word
-- @treturn ?string
function parts.missing(word)
   for _, row in ipairs(parts.rows) do
      for _, name in ipairs(row.words) do
         if name == word and not row.module then return package_of(row) end
      end
   end
end

--- Returns the installed parts' pages of help.
-- @treturn {table,...} as `repl.prompt.topics` has them
function parts.topics()
   local out = {}
   for _, row in ipairs(parts.rows) do
      for _, topic in ipairs(row.module and row.module.topics or {}) do out[#out + 1] = topic end
   end
   return out
end

--- Adds the options of installed parts to a command; options of other parts are refused with a
-- message that names their package.
-- @string name of the command
-- @tparam command c of `options.command`, with all other options
function parts.add_options(name, c)
   for _, row in ipairs(parts.rows) do
      local extension = row.module and row.module.extend[name]
      if extension then extension.options(c) end
      for _, flag in ipairs(not row.module and row.options[name] or {}) do c.advice[flag] = package_of(row) end
   end
end

--- Lets a part do a command's work.
-- @string name of the command
-- @tparam table args its options
-- @param ... further arguments for the part's `main`
-- @treturn ?number exit status; nil if no part did the work
function parts.run(name, args, ...)
   for _, row in ipairs(parts.rows) do
      local extension = row.module and row.module.extend[name]
      local status = extension and extension.main(args, ...)
      if status then return status end
   end
end

return parts
