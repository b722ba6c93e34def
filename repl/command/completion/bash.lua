-- SPDX-License-Identifier: MIT
--- Completion for bash.
-- @module repl.command.completion.bash

local commands = require "repl.command.rows"
local common = require "repl.command.completion.common"

local GLOBAL = { "--help", "--version", "--no-init", "-e" } -- allowed before a command

local BASH = [=[
# bash completion of lpfm, made by 'lpfm completion bash'

# Prints the words of a kind that complete a word.
_lpfm_kind() {
	case $1 in
	any | function) ;;
	file) compgen -f -- "$2";;
	command) case $2 in */* | .*) compgen -f -- "$2";; *) compgen -c -- "$2" | sort -u;; esac;;
	*) "$program" completion --words "$1" -- "$2" 2>/dev/null;;
	esac
}

# Offers the lines of stdin, with a prefix in front of each.
_lpfm_offer() {
	local word
	while IFS= read -r word; do COMPREPLY+=("$1$word"); done
}

# _lpfm_words KINDS WORD PREFIX: offers the words of these kinds that complete WORD, with PREFIX in
# front of each.
_lpfm_words() {
	local kind
	for kind in $1; do _lpfm_offer "$3" < <(_lpfm_kind "$kind" "$2"); done
	case " $1 " in
	*" file "* | *" command "*) compopt -o filenames 2>/dev/null;;
	*) compopt -o nospace 2>/dev/null;;
	esac
}

# Sets what a command takes: options; takes, pairs of an option and the kind of its value; words,
# the kinds of words; mixed, not empty if options may follow words.
_lpfm_command() {
	options= takes= words= mixed=
	case $1 in
@COMMANDS@	*) return 1;;
	esac
}

# Prints the kind of an option's value; fails if the option has none.
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

# Completes the last of at, the words of the line: a word of lpfm's command, or of the program that
# it is to run.
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
		_lpfm_offer "" < <(compgen -W "$options" -- "$cur")
	else
		[ $mixed ] && words=${words% command}	# a command follows --
		_lpfm_words "$words" "$cur"
	fi
}

# Completes a command line. bash has split it at : and =, too (COMP_WORDBREAKS); here only blanks
# separate words.
_lpfm() {
	local line=${COMP_LINE:0:COMP_POINT} at=() cur program options takes words mixed i
	read -ra at <<<"$line"
	[[ $line == *[[:space:]] ]] && at+=("")
	cur=${at[${#at[@]} - 1]} program=${at[0]} COMPREPLY=()
	if [ ${#at[@]} = 2 ]; then
		_lpfm_offer "" < <(compgen -W "@NAMES@" -- "$cur"; compgen -f -- "$cur")
	elif [ "${at[1]}" = help ]; then
		_lpfm_offer "" < <(compgen -W "@EXPLAINED@" -- "$cur")
	elif _lpfm_command "${at[1]}"; then
		_lpfm_arguments
	else
		_lpfm_words file "$cur"
	fi
	# bash replaces only what is behind the last : or =, so what is in front of it is removed
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
         if o.value then takes[#takes + 1] = flag .. " " .. common.kind_of(o) end
      end
   end
   return ("\t%s) options=%s takes=%s\n\t\twords=%s mixed=%s;;\n"):format(row.name,
      common.quoted(table.concat(flags, " ")), common.quoted(table.concat(takes, " ")),
      common.quoted(table.concat(row.words, " ")), c.mixed and "1" or "")
end

--- Makes the completion script for bash.
-- @treturn string
local function bash()
   local cases = {}
   for i, row in ipairs(commands.rows) do cases[i] = bash_case(row, commands.module(row.name).options()) end
   local names = common.names() .. " " .. table.concat(GLOBAL, " ")
   return common.fill(BASH, { COMMANDS = table.concat(cases), NAMES = names,
      EXPLAINED = common.explained() })
end

return bash
