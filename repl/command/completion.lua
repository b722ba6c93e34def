-- SPDX-License-Identifier: MIT
--- lpfm completion: scripts that complete lpfm's command lines in bash, zsh and fish; made of the commands' rows and
-- options.
-- @module repl.command.completion

local commands = require "repl.command"
local kinds = require "repl.command.kinds"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"

local completion = {}

local GLOBAL = { "--help", "--version", "--no-init", "-e" } -- before any command

local function kind_of(row)
   return row.value and (kinds.of_value[row.value] or "any") or nil
end

local function has(list, wanted)
   for _, value in ipairs(list) do
      if value == wanted then return true end
   end
   return false
end

local function single_quoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- --- bash ----------------------------------------------------------------------------------------

local BASH = [=[
# bash completion of lpfm, made by 'lpfm completion bash'

# The words of a kind that complete a word.
_lpfm_kind() {
	case $1 in
	any | function) ;;
	file) compgen -f -- "$2";;
	command) case $2 in */* | .*) compgen -f -- "$2";; *) compgen -c -- "$2" | sort -u;; esac;;
	*) "$program" completion --words "$1" -- "$2" 2>/dev/null;;
	esac
}

# Adds the words of some kinds, separated by spaces, that complete a word; what stands before it goes in front of them.
_lpfm_words() {
	local kind word
	for kind in $1; do
		while IFS= read -r word; do COMPREPLY+=("$3$word"); done < <(_lpfm_kind "$kind" "$2")
	done
	case " $1 " in *" file "* | *" command "*) compopt -o filenames 2>/dev/null;; *) compopt -o nospace 2>/dev/null;; esac
}

# What the command has: sets options, takes (an option and the kind of its value, one after the other), words, mixed.
_lpfm_command() {
	options= takes= words= mixed=
	case $1 in
@COMMANDS@	*) return 1;;
	esac
}

# The kind of an option's value; fails if it has none.
_lpfm_value() {
	local flag kind
	set -- "$1" $takes
	local wanted=$1
	shift
	while [ $# -gt 1 ]; do
		flag=$1 kind=$2
		[ "$flag" = "$wanted" ] && { echo "$kind"; return 0; }
		shift 2
	done
	return 1
}

# A command's options and words, where its own command line may have begun: at[i] are the words of the line.
_lpfm_arguments() {
	local i kind own=1 only=
	for ((i = 2; i < ${#at[@]} - 1; i++)); do
		case ${at[i]} in
		--) [ $own ] && { own= only=$((i + 1)); break; };;
		-?*) _lpfm_value "${at[i]}" >/dev/null && ((i++));;
		*) [ $mixed ] || { own= only=$i; break; };;
		esac
	done
	if [ ! $own ]; then
		if [ $only = $((${#at[@]} - 1)) ] && [ "${words%command}" != "$words" ]; then
			_lpfm_words command "$cur"
		else
			_lpfm_words file "$cur"
		fi
	elif [ $i = ${#at[@]} ] && kind=$(_lpfm_value "${at[${#at[@]} - 2]}"); then
		_lpfm_words "$kind" "$cur"
	elif [[ $cur == --*=* ]] && kind=$(_lpfm_value "${cur%%=*}"); then
		_lpfm_words "$kind" "${cur#*=}" "${cur%%=*}="
	elif [[ $cur == -* ]]; then
		while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$options" -- "$cur")
	else
		[ $mixed ] && words=${words% command}	# which follows --
		_lpfm_words "$words" "$cur"
	fi
}

# The shell has split the line at : and = too (COMP_WORDBREAKS); here only blanks separate words.
_lpfm() {
	local line=${COMP_LINE:0:COMP_POINT} at=() cur program options takes words mixed i
	read -ra at <<<"$line"
	[[ $line == *[[:space:]] ]] && at+=("")
	cur=${at[${#at[@]} - 1]} program=${at[0]} COMPREPLY=()
	if [ ${#at[@]} = 2 ]; then
		while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "@NAMES@" -- "$cur"; compgen -f -- "$cur")
	elif [ "${at[1]}" = help ]; then
		while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "@NAMES@" -- "$cur")
	elif _lpfm_command "${at[1]}"; then
		_lpfm_arguments
	else
		_lpfm_words file "$cur"
	fi
	# what is left of the last break stays on the line
	local done=${cur%"${cur##*[:=]}"}
	[ "$done" ] && for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$done"}; done
	return 0
}
complete -F _lpfm lpfm
]=]

local function bash_case(row, c)
   local flags, takes = {}, {}
   for _, o in ipairs(c.rows) do
      for _, flag in ipairs(o.flags) do
         flags[#flags + 1] = flag
         if o.value then takes[#takes + 1] = flag .. " " .. kind_of(o) end
      end
   end
   return ("\t%s) options=%s takes=%s\n\t\twords=%s mixed=%s;;\n"):format(row.name,
      single_quoted(table.concat(flags, " ")), single_quoted(table.concat(takes, " ")),
      single_quoted(table.concat(row.words, " ")), c.mixed and "1" or "")
end

local function fill(template, parts)
   return (template:gsub("@(%u+)@", parts))
end

local function all_names()
   return table.concat(commands.names, " ") .. " help"
end

local function bash()
   local cases = {}
   for i, row in ipairs(commands.rows) do cases[i] = bash_case(row, commands.module(row.name).options()) end
   return fill(BASH, { COMMANDS = table.concat(cases), NAMES = all_names() .. " " .. table.concat(GLOBAL, " ") })
end

-- --- zsh -----------------------------------------------------------------------------------------

local ZSH = [=[
#compdef lpfm
# zsh completion of lpfm, made by 'lpfm completion zsh'

_lpfm_words() {
	local -a found
	found=(${(f)"$($lpfm_program completion --words $1 -- ${PREFIX} 2>/dev/null)"})
	compadd -Q -S '' -a found
}

# Another program's command line, perhaps after --
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
@COMMANDS@		help) (( CURRENT == 2 )) && _describe command lpfm_commands;;
		*) _files;;
		esac;;
	esac
}

[ "$funcstack[1]" = _lpfm ] && _lpfm "$@" || compdef _lpfm lpfm
]=]

-- What completes words of a kind.
local function zsh_action(kind)
   if kind == "any" or kind == "function" then return " " end
   if kind == "file" then return "_files" end
   return " _lpfm_words " .. kind -- after a blank: without the arguments of compadd
end

local function zsh_escaped(text)
   return (text:gsub("[%[%]:\\]", "\\%0"))
end

-- "--event=" takes its value in the same word, or the next.
local function zsh_option(o)
   local flags = {}
   for i, flag in ipairs(o.flags) do flags[i] = flag .. (o.value and flag:find("^%-%-") and "=" or "") end
   local list = #flags > 1 and "'{" .. table.concat(flags, ",") .. "}'" or flags[1]
   local value = o.value and (":%s:%s"):format(zsh_escaped(o.value), zsh_action(kind_of(o))) or ""
   return ("'*%s[%s]%s'"):format(list, zsh_escaped(o[2]):gsub("'", "'\\''"), value)
end

local function zsh_words(row)
   if row.words[#row.words] == "command" and #row.words == 1 then return { "'*:: :_lpfm_command'" } end
   local actions = {}
   for _, kind in ipairs(row.words) do
      if kind ~= "command" then actions[#actions + 1] = zsh_action(kind) end
   end
   if #actions == 1 then return { ("'*:word:%s'"):format(actions[1]) } end
   return { ("'*:word:{ %s }'"):format(table.concat(actions, ";")) }
end

local function zsh_case(row, c)
   local specs = {}
   for i, o in ipairs(c.rows) do specs[i] = zsh_option(o) end
   for _, spec in ipairs(zsh_words(row)) do specs[#specs + 1] = spec end
   return ("\t\t%s) _arguments -s -S %s;;\n"):format(row.name, table.concat(specs, " \\\n\t\t\t"))
end

local function zsh()
   local summaries, cases = {}, {}
   for i, row in ipairs(commands.rows) do
      summaries[i] = ("\t\t%s\n"):format(single_quoted(row.name .. ":" .. zsh_escaped(row.summary)))
      cases[i] = zsh_case(row, commands.module(row.name).options())
   end
   return fill(ZSH, { SUMMARIES = table.concat(summaries), COMMANDS = table.concat(cases) })
end

-- --- fish ----------------------------------------------------------------------------------------

local FISH = [=[
# fish completion of lpfm, made by 'lpfm completion fish'

function __lpfm_words
	set -l tokens (commandline -opc)
	set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
	$tokens[1] completion --words $argv[1] -- $word 2>/dev/null
end

# The words of another program's command line: after --, or from the first word that is neither an option nor the value
# of one of those given.
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
complete -c lpfm -n '__fish_seen_subcommand_from help' -f -a '@NAMES@'
@COMMANDS@]=]

local function fish_words(kind)
   return ("-a '(__lpfm_words %s)'"):format(kind)
end

local function fish_option(name, o)
   local out = { ("complete -c lpfm -n '__fish_seen_subcommand_from %s'"):format(name) }
   for _, flag in ipairs(o.flags) do
      out[#out + 1] = flag:find("^%-%-") and "-l " .. flag:sub(3) or "-s " .. flag:sub(2)
   end
   local kind = kind_of(o)
   if kind == "file" then out[#out + 1] = "-r -F" elseif kind then out[#out + 1] = "-x" end
   if kind and kind ~= "any" and kind ~= "file" then out[#out + 1] = fish_words(kind) end
   out[#out + 1] = "-d " .. (single_quoted(o[2]):gsub("'\\''", "\\'"))
   return table.concat(out, " ")
end

-- The options that take a value.
local function taking(c)
   local out = {}
   for _, o in ipairs(c.rows) do
      for _, flag in ipairs(o.value and o.flags or {}) do out[#out + 1] = flag end
   end
   return out
end

local function fish_command(row, c, lines)
   local summary = single_quoted(row.summary):gsub("'\\''", "\\'")
   lines[#lines + 1] = ("complete -c lpfm -n __fish_use_subcommand -a %s -d %s"):format(row.name, summary)
   for _, o in ipairs(c.rows) do lines[#lines + 1] = fish_option(row.name, o) end
   for _, kind in ipairs(row.words) do
      local where = ("complete -c lpfm -n '__fish_seen_subcommand_from %s'"):format(row.name)
      if kind == "command" then
         lines[#lines + 1] = ("%s -a '(__lpfm_command %s)'"):format(where, table.concat(taking(c), " "))
      elseif kind ~= "file" and kind ~= "function" then
         lines[#lines + 1] = ("%s %s%s"):format(where, has(row.words, "file") and "" or "-f ", fish_words(kind))
      end
   end
end

local function fish()
   local lines = {}
   for _, row in ipairs(commands.rows) do fish_command(row, commands.module(row.name).options(), lines) end
   return fill(FISH, { NAMES = all_names(), COMMANDS = table.concat(lines, "\n") .. "\n" })
end

-- --- the command ---------------------------------------------------------------------------------

local writers = { bash = bash, fish = fish, zsh = zsh }

--- The shells there are scripts for.
-- @treturn {string,...} sorted
function completion.shells()
   local out = {}
   for name in pairs(writers) do out[#out + 1] = name end
   table.sort(out)
   return out
end

--- The options.
function completion.options()
   local c = options.command("completion", "Prints a script that completes lpfm's command lines in a shell.",
      "lpfm completion bash|fish|zsh")
   c:option("--words", "KIND", "Print the words of a kind that complete a word; the scripts use it.")
   c:epilog("'make install' puts the scripts where the shells look for them.", {
      "source <(lpfm completion bash)", "lpfm completion fish | source",
      "lpfm completion --words event page-f",
   })
   return c
end

local function print_words(kind, word)
   if not kinds.words(kind, "") then
      options.fail("--words: unknown kind '%s'%s (kinds: %s)", kind, nearest.hint(kind, kinds.names()),
         table.concat(kinds.names(), ", "))
   end
   for _, found in ipairs(kinds.complete(kind, word or "")) do io.stdout:write(found, "\n") end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function completion.main(argv)
   local args, words = completion.options():parse(argv)
   if args.words then
      print_words(args.words, words[1])
      return 0
   end
   local shell = options.only_word(words, "shell")
   if not writers[shell] then
      options.fail("expected a shell (%s), got %s", table.concat(completion.shells(), ", "),
         shell and ("'%s'%s"):format(shell, nearest.hint(shell, completion.shells())) or "none")
   end
   io.stdout:write(writers[shell]())
   return 0
end

return completion
