-- SPDX-License-Identifier: MIT
--- The prompt's own commands: lines that begin with a dot.
-- @module repl.prompt.dot_commands

local nearest = require "pfm.util.nearest"

local dot_commands = {}

local function words_of(text)
   local out = {}
   for word in text:gmatch("%S+") do out[#out + 1] = word end
   return out
end

--- Replaces ~ at the beginning of a path.
-- @string path
-- @treturn string
function dot_commands.expand(path)
   return (path:gsub("^~/", (os.getenv("HOME") or "~") .. "/"))
end

local function say(text)
   io.stdout:write(text, "\n")
end

-- --- the commands --------------------------------------------------------------------------------

local function save(words)
   if not words[1] then error(".save: expected a file: .save FILE [CONTEXT...]", 0) end
   say(require("repl.prompt.transcript").write(dot_commands.expand(words[1]), { unpack(words, 2) }))
end

-- Runs a file as if it were typed. The exit status of a saved script is ignored, as the script has
-- printed why.
local function load_file(words)
   if not words[1] then error(".load: expected a file: .load FILE [ARGUMENTS]", 0) end
   local chunk, err = loadfile(dot_commands.expand(words[1]))
   if not chunk then error((err:gsub("^cannot open (.*)$", "cannot read %1")), 0) end
   chunk(unpack(words, 2))
end

local function on_job(method)
   return function(words)
      local jobs = require "repl.prompt.jobs"
      jobs.turn()
      local id = words[1] or (#jobs.list() == 1 and 1)
      if not id then error((".%s: expected the number of a job; .jobs lists them"):format(method), 0) end
      local job = jobs.find(id)
      job[method](job)
      say(tostring(job))
   end
end

local function jobs()
   say(tostring(require("repl.prompt.jobs").list()))
end

local function help(words)
   local text = table.concat(words, " ")
   require("repl.prompt.help").call(text ~= "" and text or nil)
end

local function history(words)
   local list = require("repl.line").entries(tonumber(words[1]) or 20)
   for _, text in ipairs(list) do say(text) end
end

local function quit()
   error(require("repl.prompt.globals").quitting, 0)
end

-- The commands; `wants` gives the kinds of their first and of their other arguments, for
-- completion.
local all = {
   save = { run = save, wants = { "file", "context" } },
   load = { run = load_file, wants = { "file" }, program = true },
   jobs = { run = jobs },
   pause = { run = on_job "pause" }, resume = { run = on_job "resume" },
   stop = { run = on_job "stop" }, wait = { run = on_job "wait" },
   help = { run = help, wants = { "help" } },
   history = { run = history },
   quit = { run = quit },
}

local former = { sessions = "jobs" }

--- Returns the names of the commands, with their dots.
-- @treturn table sorted
function dot_commands.names()
   local out = {}
   for name in pairs(all) do out[#out + 1] = "." .. name end
   table.sort(out)
   return out
end

--- Returns the kind of an argument of a command.
-- @string name without the dot
-- @int i
-- @treturn string "file", "context", "help", or nil
function dot_commands.wants(name, i)
   return all[name] and all[name].wants and all[name].wants[i]
end

-- Returns true if a line is a word that ends a shell or another prompt, such as exit.
local function leaves(text)
   local word = text:match("^%s*(%a+)%s*$")
   return word == "quit" or word == "exit"
end

--- Returns true if a line is a command of the prompt.
-- @string text
-- @treturn boolean
function dot_commands.is(text)
   return text:find("^%s*%.%a") ~= nil or text:find("^%s*%?") ~= nil or leaves(text)
end

--- Compiles a command to a function; raises an error if no command has that name.
-- @string text
-- @treturn function
-- @treturn string Lua that does the same in a saved script, or nil if a script has no use for it
function dot_commands.compile(text)
   local question = text:match("^%s*%?+%s*(.-)%s*$")
   if question then return function() help { question ~= "" and question or nil } end end
   if leaves(text) then return quit end
   local name, rest = text:match("^%s*%.(%w+)%s*(.*)$")
   local command, words = all[former[name] or name], words_of(rest)
   if not command then
      error(("unknown command '.%s'%s"):format(name, nearest.hint("." .. name, dot_commands.names())), 0)
   end
   local lua = command.program and words[1]
      and ("assert(loadfile(%q))(%s)"):format(dot_commands.expand(words[1]), table.concat(words, ", ", 2))
   return function() return command.run(words) end, lua or nil
end

return dot_commands
