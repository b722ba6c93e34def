-- SPDX-License-Identifier: MIT
--- Parts of lpfm that are built, packaged and installed by themselves: for parallel jobs, for
-- fleets of computers, for notebooks, for OProfile's buffers. A part that is installed adds
-- commands, and options of commands, by its module `repl.parts.NAME`; of one that is not, it is
-- said here which package has it.
--
-- The module has `commands`, rows as those of `repl.command.rows`; `kinds`, lists of words that
-- these take; `topics`, pages as `repl.prompt.topics` has them; and `extend`, by the name of a
-- command: `options(c)` adds to what the command takes, `main(args, ...)` may do the command's
-- work, and returns its exit status then.
-- @module repl.parts

local parts = {}

-- What a part has, for messages about it: `words`, its commands, topics and modules; options by
-- command.
parts.rows = {
   { name = "jobs", words = { "merge", "ranks" }, options = { stat = { "--ranks", "--per-rank", "--per-host" } } },
   { name = "fleet", words = { "store", "collector", "databases" },
      options = { record = { "--every", "--for", "--rounds", "--cpu-budget", "--disk-budget", "--to", "--set" },
         report = { "--db", "--select", "--against" }, export = { "--to", "--set", "--db", "--select" } } },
   { name = "notebook", words = { "jupyter", "notebook" }, options = {} },
   { name = "oprofile", words = { "oprofile" }, options = {} },
}

-- LPFM_PARTS, names separated by blanks: only these are taken, as if no others were installed.
local function is_wanted(name)
   local chosen = os.getenv("LPFM_PARTS")
   return not chosen or (" " .. chosen .. " "):find(" " .. name .. " ", 1, true) ~= nil
end

local folder = debug.getinfo(1, "S").source:match("^@(.*)%.lua$")

-- A part that is installed lies beside this file; what else a path of require's has is none.
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

-- What require says, too, if a module of such a part is not found.
package.loaders[#package.loaders + 1] = function(name)
   for _, row in ipairs(parts.rows) do
      if name:find("^pfm%." .. row.name .. "%.") and not row.module then return "\n\t" .. package_of(row) end
   end
end

--- The rows of the commands of the parts that are installed.
-- @string[opt] part of this part alone
-- @treturn {table,...}
function parts.commands(part)
   local out = {}
   for _, row in ipairs(parts.rows) do
      local module = (not part or row.name == part) and row.module
      for _, command in ipairs(module and module.commands or {}) do out[#out + 1] = command end
   end
   return out
end

--- The kinds of words that commands of parts take, as those of `repl.command.kinds`.
-- @treturn table lists of words, by kind
function parts.kinds()
   local out = {}
   for _, row in ipairs(parts.rows) do
      for kind, words in pairs(row.module and row.module.kinds or {}) do out[kind] = words end
   end
   return out
end

--- Which package has a command, a topic or a module whose part is not installed.
-- @string word
-- @treturn ?string
function parts.missing(word)
   for _, row in ipairs(parts.rows) do
      for _, name in ipairs(row.words) do
         if name == word and not row.module then return package_of(row) end
      end
   end
end

--- The pages of help of the parts that are installed.
-- @treturn {table,...} as `repl.prompt.topics` has them
function parts.topics()
   local out = {}
   for _, row in ipairs(parts.rows) do
      for _, topic in ipairs(row.module and row.module.topics or {}) do out[#out + 1] = topic end
   end
   return out
end

--- Adds the options of parts to a command; those of parts that are not installed are refused by the
-- package's name.
-- @string name of the command
-- @tparam command c of `options.command`, complete but for these
function parts.add_options(name, c)
   for _, row in ipairs(parts.rows) do
      local extension = row.module and row.module.extend[name]
      if extension then extension.options(c) end
      for _, flag in ipairs(not row.module and row.options[name] or {}) do c.advice[flag] = package_of(row) end
   end
end

--- Lets the parts do a command's work.
-- @string name of the command
-- @tparam table args its options
-- @param ... what the command gives its parts
-- @treturn ?number exit status; nil: none of them did
function parts.run(name, args, ...)
   for _, row in ipairs(parts.rows) do
      local extension = row.module and row.module.extend[name]
      local status = extension and extension.main(args, ...)
      if status then return status end
   end
end

return parts
