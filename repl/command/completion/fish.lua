-- SPDX-License-Identifier: MIT
--- Completion for fish.
-- @module repl.command.completion.fish

local commands = require "repl.command.rows"
local common = require "repl.command.completion.common"
local tables = require "pfm.util.tables"

local FISH = [=[
# fish completion of lpfm, made by 'lpfm completion fish'

function __lpfm_words
	set -l tokens (commandline -opc)
	set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
	$tokens[1] completion --words $argv[1] -- $word 2>/dev/null
end

# Completes another program's command line, which begins after --, or at the first word that is
# neither an option nor an option's value. The arguments are the options that take a value.
function __lpfm_command
	set -l tokens (commandline -opc)
	set -l i 3
	while test $i -le (count $tokens)
		switch $tokens[$i]
		case --
			set i (math $i + 1)
			break
		case '-*'
			contains -- $tokens[$i] $argv; and set i (math $i + 1)
		case '*'
			break
		end
		set i (math $i + 1)
	end
	set -l word (commandline -ct)
	test $i -gt (count $tokens); and string match -q -- '-*' $word; and return
	complete --do-complete=(string join ' ' -- (string escape -- $tokens[$i..]) $word)
end

complete -c lpfm -n __fish_use_subcommand -s h -l help -d 'show help'
complete -c lpfm -n __fish_use_subcommand -s v -l version -d 'show the version'
complete -c lpfm -n __fish_use_subcommand -l no-init -d 'without the start-up file'
complete -c lpfm -n __fish_use_subcommand -s e -x -d 'run Lua code'
complete -c lpfm -n '__fish_seen_subcommand_from help' -f -a '@EXPLAINED@'
@COMMANDS@]=]

local function quoted(text)
   return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local function fish_words(kind)
   return ("-a '(__lpfm_words %s)'"):format(kind)
end

local function fish_option(name, o)
   local out = { ("complete -c lpfm -n '__fish_seen_subcommand_from %s'"):format(name) }
   for _, flag in ipairs(o.flags) do
      out[#out + 1] = flag:find("^%-%-") and "-l " .. flag:sub(3) or "-s " .. flag:sub(2)
   end
   local kind = common.kind_of(o)
   if kind == "file" then out[#out + 1] = "-r -F" elseif kind then out[#out + 1] = "-x" end
   if kind and kind ~= "any" and kind ~= "file" then out[#out + 1] = fish_words(kind) end
   out[#out + 1] = "-d " .. quoted(o[2])
   return table.concat(out, " ")
end

-- Returns the flags of all options that take a value.
local function taking(c)
   local out = {}
   for _, o in ipairs(c.rows) do tables.append(out, o.value and o.flags or {}) end
   return out
end

local function fish_command(row, c, lines)
   lines[#lines + 1] = ("complete -c lpfm -n __fish_use_subcommand -a %s -d %s"):format(row.name, quoted(row.summary))
   for _, o in ipairs(c.rows) do lines[#lines + 1] = fish_option(row.name, o) end
   local where = ("complete -c lpfm -n '__fish_seen_subcommand_from %s'"):format(row.name)
   if #row.words == 0 then lines[#lines + 1] = where .. " -f" end
   for _, kind in ipairs(row.words) do
      if kind == "command" then
         lines[#lines + 1] = ("%s -a '(__lpfm_command %s)'"):format(where, table.concat(taking(c), " "))
      elseif kind ~= "file" and kind ~= "function" then
         lines[#lines + 1] = ("%s %s%s"):format(where, tables.find(row.words, "file") and "" or "-f ", fish_words(kind))
      end
   end
end

--- Makes the completion script for fish.
-- @treturn string
local function fish()
   local lines = {}
   for _, row in ipairs(commands.rows) do fish_command(row, commands.module(row.name).options(), lines) end
   return common.fill(FISH, { EXPLAINED = common.explained(), COMMANDS = table.concat(lines, "\n") .. "\n" })
end

return fish
