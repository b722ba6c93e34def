-- SPDX-License-Identifier: MIT
-- The commands: what a row of repl.command.rows and its module give, in the help, at the prompt, in
-- the manual page and in shells.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local commands = require "repl.command.rows"
local files = require "support.files"
local kinds = require "repl.command.kinds"
local lpfm = require "lpfm"
local terminal = require "support.terminal"
local help = require "repl.prompt.help"

local program = c.program
local scratch = c.folder()

local function is_known(kind)
   return kind == "file" or kind == "command" or kind == "function" or kinds.words(kind, "") ~= nil
end

-- Returns the words of an example's first `lpfm NAME`, as a shell splits them; no lpfm is run.
local function words_of(example, name)
   local path = scratch .. "/example"
   files.write(path, ("lpfm() { [ $1 = %s ] || return 0; shift; echo =; for w; do echo \"$w\"; done; exit; } >&3\n%s\n")
      :format(name, example))
   local words, out = {}, c.sh(("cd %s && bash %s 3>&1 >/dev/null 2>&1"):format(scratch, path))
   for word in out:gmatch("[^\n]+") do words[#words + 1] = word end
   return table.remove(words, 1) and words
end

-- Returns the words up to "--" of a command that takes options between its words, else all.
local function own(options, words)
   for i, word in ipairs(words) do
      if word == "--" and options.mixed then return { unpack(words, 1, i - 1) } end
   end
   return words
end

for _, row in ipairs(commands.rows) do
   describe("lpfm " .. row.name, function()
      local module, options = commands.module(row.name), commands.module(row.name).options()

      it("has options, a main function, and words of known kinds, if any", function()
         assert.is_function(module.main)
         for _, kind in ipairs(row.words) do assert.is_true(is_known(kind), kind) end
         for _, kind in ipairs(row.call or {}) do assert.is_true(is_known(kind), kind) end
         for _, option in ipairs(options.rows) do
            local kind = option.value and kinds.of_value[option.value]
            assert.is_true(kind == nil or is_known(kind), option.value)
         end
      end)

      it("is explained by lpfm NAME --help, with its usage and all options", function()
         local out, status = c.sh(("%s %s --help"):format(program, row.name))
         assert.equal(0, status)
         assert.truthy(out:find("Usage: lpfm " .. row.name, 1, true), out)
         for flag in pairs(options.known) do assert.truthy(out:find(flag, 1, true), flag) end
         assert.truthy((c.sh(program .. " --help")):find(("\n   %-11s %s\n"):format(row.name, row.summary), 1, true))
      end)

      it("has examples that its options understand", function()
         local understood = 0
         for _, example in ipairs(options.examples) do
            local words = words_of(example, row.name)
            if words then
               understood = understood + 1
               local ok, err = pcall(function() return module.options():parse(own(options, words)) end)
               assert.is_true(ok, example .. ": " .. tostring(type(err) == "table" and err.message or err))
            end
         end
         assert.is_true(understood > 0)
      end)

      it("refuses an option that there is not, with status 2 and where help is", function()
         local out, status = c.sh(("%s %s --no-such-option"):format(program, row.name))
         assert.equal(2, status, out)
         assert.truthy(out:find("no-such-option", 1, true), out)
         assert.truthy(out:find(("'lpfm %s --help' says how"):format(row.name), 1, true), out)
      end)

      if row.call then
         it("is a function at the prompt, with help", function()
            assert.is_function(module.call)
            assert.truthy(help.text(row.name):find(row.name .. "(", 1, true), help.text(row.name))
            local out = c.sh(("echo 'print(type(%s) == [[function]] or getmetatable(%s).__call ~= nil)' | %s"):format(
               row.name, row.name, program))
            assert.equal("true\n", out)
         end)
      end
   end)
end

-- --- one meaning for each flag -------------------------------------------------------------------

-- Returns pairs of a flag and its meaning: letter and long name (or value); long name and value.
local function meanings_of(option)
   local letter, long
   for _, flag in ipairs(option.flags) do
      if #flag == 2 then letter = flag else long = flag end
   end
   local value = option.value and option.value:gsub("S$", "") or "nothing"
   return letter, letter and (long or value), long, value
end

-- Flags that mean several things: what they mean, and why they have these meanings.
local EXCEPTIONS = {
   ["-i"] = { "--input --no-inherit", "perf report and perf stat have both" },
   ["-s"] = { "--script --sort --symbol", "perf script, report and annotate have these" },
   ["-F"] = { "--fields --frequency", "perf script and perf record have both" },
   ["-d"] = { "--detailed --refresh", "perf stat and perf top have both" },
   ["-g"] = { "--call-graph nothing", "perf record and perf report have both" },
   ["--call-graph"] = { "HOW ORDER", "perf record and perf report have both" },
}

describe("a flag", function()
   local of, commands_of = {}, {}

   local function note(flag, meaning, name)
      if not flag then return end
      of[flag], commands_of[flag] = of[flag] or {}, commands_of[flag] or {}
      of[flag][meaning] = true
      table.insert(commands_of[flag], name)
   end

   for _, row in ipairs(commands.rows) do
      for _, option in ipairs(commands.module(row.name).options().rows) do
         local letter, meaning, long, value = meanings_of(option)
         note(letter, meaning, row.name)
         note(long, value, row.name)
      end
   end

   it("means the same in all commands, or is an exception with a reason", function()
      local wrong = {}
      for flag, meanings in pairs(of) do
         local list = {}
         for meaning in pairs(meanings) do list[#list + 1] = meaning end
         table.sort(list)
         local text, known = table.concat(list, " "), EXCEPTIONS[flag]
         if #list > 1 and not (known and known[1] == text) then
            wrong[#wrong + 1] = ("%s: %s (%s)"):format(flag, text, table.concat(commands_of[flag], ", "))
         end
         if known and #list == 1 then wrong[#wrong + 1] = flag .. " is no exception any more" end
      end
      table.sort(wrong)
      assert.same({}, wrong)
   end)
end)

-- --- completion in shells ------------------------------------------------------------------------

local function listed(refusal)
   return refusal:match("known: (.*), and")
end

describe("the kinds of words", function()
   it("are those that the module knows: fields of samples, machines, and models", function()
      local ctx = assert(lpfm.create { format = "default" })
      local buffer = ctx:buffer()
      local _, refusal = pcall(buffer.fields, buffer, "nosuch")
      ctx:close()
      assert.equal(listed(refusal), table.concat(kinds.words("sample_field", ""), ", "))
      local before, found = lpfm.machine().name, table.concat(kinds.words("machine", ""), " ")
      assert.truthy(found:find("perf sim sim:itanium2", 1, true), found)
      for name in found:gmatch("sim:[%w_]+") do assert(lpfm.machine(name)) end
      assert(lpfm.machine(before))
   end)

   it("complete the last part of a list", function()
      assert.same({ "cs,page-faults" }, kinds.complete("event", "cs,page-f"))
      assert.same({ "comm,symbol" }, kinds.complete("key", "comm,sym"))
      -- tracepoints follow
      assert.equal("page-faults:10 then", kinds.complete("stages", "page-faults:10 the")[1])
      assert.same({}, kinds.complete("event", "no such thing"))
   end)
end)

-- Typed text, and a word that must be offered for it; `names` is a file in the folder.
local cases = {
   { "lpfm sta", "stat" }, { "lpfm stat --ev", "--event" }, { "lpfm stat -e page-f", "page-faults" },
   { "lpfm stat -e cs,page-f", "cs,page-faults" }, { "lpfm record --with page-f", "page-faults" },
   { "lpfm stat --per-core --event page-f", "page-faults" }, { "lpfm report -s sym", "symbol" },
   { "lpfm report -s comm,sym", "comm,symbol" }, { "lpfm stat -M cp", "cpi" }, { "lpfm list --pmu mont", "montecito" },
   { "lpfm list --pmu itanium2 regi", "registers" }, { "lpfm plot tim", "time" }, { "lpfm plot nam", "names" },
   { "lpfm report nam", "names" }, { "lpfm export --format ppr", "pprof" }, { "lpfm cascade page-f", "page-faults" },
   { "lpfm record --random unif", "uniform" }, { "lpfm stat -e cs -- trunc", "truncate" },
   { "lpfm stat -e cs trunc", "truncate" }, { "lpfm help repo", "report" }, { "lpfm help databa", "databases" },
   { "lpfm completion ba", "bash" },
   { "lpfm script -F sym", "symbol" },
}

local function write_script(shell)
   local out, status = c.sh(("%s completion %s"):format(program, shell))
   assert.equal(0, status, out)
   local path = ("%s/%s"):format(scratch, shell == "zsh" and "_lpfm" or "lpfm." .. shell)
   files.write(path, out)
   files.write(scratch .. "/names", "")
   c.sh(("ln -sf %s %s/lpfm"):format(program, scratch))
   return path
end

-- Runs a shell in the scratch folder, with the program on its PATH as lpfm.
local function in_shell(shell, text)
   local path = scratch .. "/commands"
   files.write(path, text)
   local out, status = c.sh(("cd %s && PATH=%s:$PATH %s commands"):format(scratch, scratch, shell))
   assert.equal(0, status, out)
   return out
end

-- Checks the words that were offered: `out` has a line of them for each case.
local function check_offers(out)
   local i = 0
   for line in out:gmatch("([^\n]*)\n") do
      i = i + 1
      local case = cases[i]
      assert.truthy((" " .. line .. " "):find((" %s "):format(case[2]), 1, true),
         ("'%s' offers '%s', not %s"):format(case[1], line:sub(1, 200), case[2]))
   end
   assert.equal(#cases, i)
end

local function has(shell)
   return select(2, c.sh("command -v " .. shell)) == 0
end

describe("completion", function()
   it("of bash offers what can stand there", function()
      write_script "bash"
      local text = { "source ./lpfm.bash", "complete -p lpfm >/dev/null || exit 1",
         "offers() { COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=(); _lpfm; echo \"${COMPREPLY[*]}\"; }" }
      for _, case in ipairs(cases) do text[#text + 1] = ("offers '%s'"):format(case[1]) end
      check_offers(in_shell("bash", table.concat(text, "\n") .. "\n"))
   end)

   it("of bash replaces what follows the last : or =, where it breaks words", function()
      write_script "bash"
      local out = in_shell("bash", [[source ./lpfm.bash
         offers() { COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=(); _lpfm; echo "${COMPREPLY[*]}"; }
         offers 'lpfm stat --event=page-f'
         offers 'lpfm stat -e cs:u'
         offers 'lpfm list --pmu='
         offers 'lpfm stat -p 1'
         offers 'lpfm stat --timeout '
      ]])
      local lines = {}
      for line in out:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
      assert.equal("page-faults", lines[1])
      assert.equal("u uk", lines[2])
      assert.truthy(lines[3]:find("%f[%w]itanium2%f[%W]"), lines[3])
      assert.same({ "", "" }, { lines[4], lines[5] })
   end)

   it("of fish offers what can stand there", function()
      if not has("fish") then return pending("fish is not installed") end
      write_script "fish"
      local text = { "source ./lpfm.fish" }
      for _, case in ipairs(cases) do
         text[#text + 1] = ("echo (complete -C '%s' | string replace -r '\\t.*' '')"):format(case[1])
      end
      check_offers(in_shell("fish --no-config", table.concat(text, "\n") .. "\n"))
   end)

   it("of zsh offers what can stand there", function()
      if not has("zsh") then return pending("zsh is not installed") end
      write_script "zsh"
      local t = terminal.start(("cd %s; echo begun; PATH=%s:$PATH exec zsh -f"):format(scratch, scratch),
         { columns = 150, first = "begun" })
      t:enter("autoload -U compinit; compinit -D -u; source ./_lpfm; echo rea'dy'")
      t:wait_for("ready")
      for _, case in ipairs(cases) do
         t:type(case[1])
         t:press("Tab")
         t:wait_for(case[1]:gsub("%S+$", "") .. case[2])
         t:press("C-u")
      end
      t:stop()
   end)

   it("is refused for a shell it does not know", function()
      local out, status = c.sh(program .. " completion bsh")
      assert.equal(2, status)
      assert.truthy(out:find("got 'bsh'; did you mean 'bash'?", 1, true), out)
      assert.equal(2, select(2, c.sh(program .. " completion --words nosuch")))
   end)
end)
