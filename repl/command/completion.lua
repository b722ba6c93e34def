-- SPDX-License-Identifier: MIT
--- lpfm completion: makes scripts that complete lpfm's command lines in bash, zsh and fish, from
-- the commands' rows and options.
-- @module repl.command.completion

local kinds = require "repl.command.kinds"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"

local completion = {}

local writers = {
   bash = require "repl.command.completion.bash", fish = require "repl.command.completion.fish",
   zsh = require "repl.command.completion.zsh",
}

--- Makes the parser of the command line.
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
      local shells = kinds.words "shell"
      options.fail("expected a shell (%s), got %s", table.concat(shells, ", "),
         shell and ("'%s'%s"):format(shell, nearest.hint(shell, shells)) or "none")
   end
   io.stdout:write(writers[shell]())
   return 0
end

return completion
