-- SPDX-License-Identifier: MIT
--- The lpfm program: runs a command, a script or the prompt.
-- @module repl.command

local commands = require "repl.command.rows"
local environment = require "repl.environment"
local script = require "repl.chunk"
local render = require "pfm.render"
local nearest = require "pfm.util.nearest"
local parts = require "repl.parts"
local text_file = require "pfm.util.text_file"
local tables = require "pfm.util.tables"

-- Scripts for older versions take the fields of repl.command.rows from this module.
local command = { rows = commands.rows, names = commands.names, module = commands.module }

local USAGE, FAILURE, INTERRUPTED = 2, 1, 130

local function is_command(name)
   return name == "help" or commands.rows[name] ~= nil
end

local function usage_text()
   local lines = {
      "Usage: lpfm [--no-init]           start the prompt; --no-init: without the start-up file",
      "       lpfm FILE [arguments]      run a script; - is stdin",
      "       lpfm -e CODE [arguments]   run Lua code",
      "       lpfm COMMAND [options]     run a command; 'lpfm COMMAND --help' says how",
      "",
      "Commands:",
   }
   for _, row in ipairs(commands.rows) do
      lines[#lines + 1] = ("   %-11s %s"):format(row.name, row.summary)
   end
   lines[#lines + 1] = ("   %-11s %s"):format("help", "print this text, a command's or a topic's; 'lpfm help topics'")
   lines[#lines + 1] = "\nEnvironment:"
   for _, line in ipairs(render.align({ {}, {} }, commands.environment, "   ")) do lines[#lines + 1] = line end
   lines[#lines + 1] = "\nExamples:"
   for _, example in ipairs(commands.examples) do lines[#lines + 1] = "   " .. example end
   return table.concat(lines, "\n") .. "\n"
end

local function help(argv)
   local name = argv[1]
   if not name or name == "--help" or name == "-h" then
      io.stdout:write(usage_text())
      return 0
   end
   local topics = require "repl.prompt.topics"
   if commands.rows[name] then
      io.stdout:write(commands.module(name).options():help())
   elseif parts.missing(name) then
      error({ message = ("%s: %s"):format(name, parts.missing(name)), usage = true }, 0)
   elseif topics.pages[name] then
      require("repl.prompt.help").call(name)
   else
      local known = tables.slice(commands.names)
      for _, topic in ipairs(topics.names) do known[#known + 1] = topic end
      local hint = nearest.hint(name, known)
      if hint == "" then hint = "; 'lpfm help topics' lists the topics" end
      error({ message = ("no command and no topic is called '%s'%s"):format(name, hint), usage = true }, 0)
   end
   return 0
end

local function version()
   local lpfm = require "lpfm"
   local interpreter = rawget(_G, "jit") and rawget(_G, "jit").version or _VERSION
   local machine, err = lpfm.machine()
   io.stdout:write(("lpfm %s, %s, %s\n"):format((tostring(lpfm._VERSION):gsub("^lpfm%s*", "")), interpreter,
      machine and render.machine(machine.name) or (err:gsub("^machine", "no machine"))))
   return 0
end

-- --- scripts -------------------------------------------------------------------------------------

-- The compiler's message names the line in the script; a traceback would only show lpfm itself.
local function compiled(chunk, err)
   if not chunk then error({ message = err }, 0) end
   return chunk
end

local function run_code(argv)
   if not argv[2] then error({ message = "-e: expected Lua code", usage = true }, 0) end
   return script.run(compiled(loadstring(argv[2], "=-e")), "-e", argv, 3)
end

local function run_stdin(argv)
   return script.run(compiled(loadfile()), "-", argv, 2)
end

-- Returns true if the path is that of a file, and false if there is none or it is a directory;
-- raises an error if it cannot be opened.
local function is_file(path)
   local file, err, code = io.open(path, "r")
   if not file and code ~= require("lpfm").errno.ENOENT then error("cannot open " .. err, 0) end
   if not file then return false end
   local ok = file:read(0) ~= nil or file:seek("end") == 0
   file:close()
   return ok
end

local function run_file(argv)
   local path = argv[1]
   if not is_file(path) then
      local missing = parts.missing(path)
      if missing then error({ message = ("%s: %s"):format(path, missing), usage = true }, 0) end
      local hint = nearest.hint(path, commands.names)
      if hint == "" then hint = "; 'lpfm --help' lists the commands" end
      error({ message = ("no command and no script is called '%s'%s"):format(path, hint), usage = true }, 0)
   end
   return script.run(compiled(loadfile(path)), path, argv, 2)
end

local function prompt(argv)
   script.preload()
   return require("repl.prompt.loop").main { no_init = argv[1] == "--no-init" }
end

-- --- dispatch ------------------------------------------------------------------------------------

local flags = {
   ["-h"] = "--help", ["--help"] = help, ["-v"] = "--version", ["-V"] = "--version", ["--version"] = version,
   ["-e"] = run_code, ["-"] = run_stdin, ["--no-init"] = prompt,
}

local function run_flag(argv)
   local action = flags[argv[1]]
   if type(action) == "string" then action = flags[action] end
   if not action then
      local known = { "--help", "--version", "-e", "--no-init" }
      error({ message = ("unknown option '%s'%s"):format(argv[1], nearest.hint(argv[1], known)), usage = true }, 0)
   end
   if action == help then return help {} end
   return action(argv)
end

local function run_command(name, argv)
   if not commands.rows[name].offline and argv[1] ~= "--help" then require("pfm.measure.host").machine() end
   return commands.module(name).main(argv)
end

local function dispatch(argv)
   local first = argv[1]
   if not first then return prompt {} end
   if first:sub(1, 1) == "-" then return run_flag(argv) end
   if first == "help" then return help(tables.slice(argv, 2)) end
   if is_command(first) then return run_command(first, tables.slice(argv, 2)) end
   return run_file(argv)
end

local function complain(argv, err)
   io.stdout:flush()
   local where = is_command(argv[1]) and "lpfm " .. argv[1] or "lpfm"
   if type(err) ~= "table" then err = { message = tostring(err) } end
   local message = tostring(err.message or "an error that is no text")
   io.stderr:write(where, ": ", render.clean(message), "\n")
   if err.usage and is_command(argv[1]) and argv[1] ~= "help" then
      io.stderr:write(("'%s --help' says how.\n"):format(where))
   end
   return err.status or (err.usage and USAGE or FAILURE)
end

local function guard(err)
   if type(err) == "string" and err:find("%f[%a]interrupted$") then
      return { message = "interrupted", status = INTERRUPTED }
   end
   -- repl.command.options needs modules that may be missing
   local loads, options = pcall(require, "repl.command.options")
   return loads and options.is_own_mistake(err) and debug.traceback(err, 2) or err
end

-- Returns the status if all output was written; otherwise reports the failure and returns a status
-- other than 0.
local function close_output(status)
   local flushed, err = text_file.write(io.stdout)
   if flushed and not require("repl.host").output_lost() then return status end
   io.stderr:write("lpfm: cannot write the output: ", err or "an earlier part of it was lost", "\n")
   return status ~= 0 and status or FAILURE
end

--- Runs lpfm with a command line. Reports errors, and failed writes of the output, on standard
-- error.
-- @tparam {string,...} argv the command line
-- @treturn number exit status
function command.main(argv)
   local ok, status = xpcall(function() return dispatch(argv) end, guard)
   environment.restore() -- a script may have taken away what the output and messages need
   if ok then return close_output(status) end
   if type(status) == "table" and status.help then
      io.stdout:write(status.help)
      return close_output(0)
   end
   return complain(argv, status)
end

return command
