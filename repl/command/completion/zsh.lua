-- SPDX-License-Identifier: MIT
--- Completion for zsh.
-- @module repl.command.completion.zsh

local commands = require "repl.command.rows"
local common = require "repl.command.completion.common"

local ZSH = [=[
#compdef lpfm
# zsh completion of lpfm, made by 'lpfm completion zsh'

_lpfm_words() {
	local -a found
	found=(${(f)"$($lpfm_program completion --words $1 -- ${PREFIX} 2>/dev/null)"})
	compadd -Q -S '' -a found
}

# Completes another program's command line; -- may be in front of it.
_lpfm_command() {
	[ "$words[1]" = -- ] && { shift words; (( CURRENT-- )); }
	_normal
}

_lpfm() {
	local lpfm_program=$words[1] curcontext=$curcontext state line
	local -a lpfm_commands
	lpfm_commands=(
@SUMMARIES@	)
	_arguments -C -A '-*' '(-)'{-h,--help}'[show help]' '(-)'{-v,--version}'[show the version]' \
		'--no-init[without the start-up file]' '-e[run Lua code]:code:' '1: :->command' '*:: :->arguments'
	case $state in
	command) _describe command lpfm_commands; _files;;
	arguments)
		case $words[1] in
@COMMANDS@		help) (( CURRENT == 2 )) && compadd @EXPLAINED@;;
		*) _files;;
		esac;;
	esac
}

[ "$funcstack[1]" = _lpfm ] && _lpfm "$@" || compdef _lpfm lpfm
]=]

-- Returns the action by which zsh completes words of a kind.
local function zsh_action(kind)
   if kind == "any" or kind == "function" then return " " end
   if kind == "file" then return "_files" end
   return " _lpfm_words " .. kind -- the blank stops zsh from adding arguments of compadd
end

local function zsh_escaped(text)
   return (text:gsub("[%[%]:\\]", "\\%0"))
end

-- Returns an option for _arguments. "--event=" stands for an option with its value in the same word
-- or in the next.
local function zsh_option(o)
   local flags = {}
   for i, flag in ipairs(o.flags) do flags[i] = flag .. (o.value and flag:find("^%-%-") and "=" or "") end
   local list = #flags > 1 and "'{" .. table.concat(flags, ",") .. "}'" or flags[1]
   local value = o.value and (":%s:%s"):format(zsh_escaped(o.value), zsh_action(common.kind_of(o))) or ""
   return ("'*%s[%s]%s'"):format(list, zsh_escaped(o[2]):gsub("'", "'\\''"), value)
end

local function zsh_words(row)
   if row.words[#row.words] == "command" and #row.words == 1 then return { "'*:: :_lpfm_command'" } end
   local actions = {}
   for _, kind in ipairs(row.words) do
      if kind ~= "command" then actions[#actions + 1] = zsh_action(kind) end
   end
   if #actions == 0 then return {} end
   if #actions == 1 then return { ("'*:word:%s'"):format(actions[1]) } end
   return { ("'*:word:{ %s }'"):format(table.concat(actions, ";")) }
end

local function zsh_case(row, c)
   local specs = {}
   for i, o in ipairs(c.rows) do specs[i] = zsh_option(o) end
   for _, spec in ipairs(zsh_words(row)) do specs[#specs + 1] = spec end
   return ("\t\t%s) _arguments -s -S %s;;\n"):format(row.name, table.concat(specs, " \\\n\t\t\t"))
end

--- Makes the completion script for zsh.
-- @treturn string
local function zsh()
   local summaries, cases = {}, {}
   for i, row in ipairs(commands.rows) do
      summaries[i] = ("\t\t%s\n"):format(common.quoted(row.name .. ":" .. zsh_escaped(row.summary)))
      cases[i] = zsh_case(row, commands.module(row.name).options())
   end
   return common.fill(ZSH, { SUMMARIES = table.concat(summaries), COMMANDS = table.concat(cases),
      EXPLAINED = common.explained() })
end

return zsh
