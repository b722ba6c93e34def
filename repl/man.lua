-- SPDX-License-Identifier: MIT
-- man.lua - writes the manual page lpfm(1), of what the program says about itself.
--   lpfm repl/man.lua VERSION >lpfm.1

local commands = require "repl.command"

local VERSION = ...

local function quote(text)
   return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("\n([.'])", "\n\\&%1"):gsub("^([.'])", "\\&%1"))
end

local function put(...)
   io.stdout:write(...)
   io.stdout:write("\n")
end

local function section(name)
   put(".SH ", name)
end

local function paragraph(text)
   put(".PP")
   put(quote(text))
end

-- Lines as they are.
local function verbatim(lines)
   put(".PP\n.RS 4\n.nf")
   for _, line in ipairs(lines) do put(quote(line)) end
   put(".fi\n.RE")
end

local function item(label, text)
   put(".TP")
   put(".B ", (quote(label):gsub('"', "\\(dq")))
   put(quote(text))
end

local function command(name)
   local options = commands.module(name).options()
   put(".SS ", (quote(options.usage)))
   paragraph(options.summary)
   for _, row in ipairs(options.rows) do item((row[1]:gsub("^%s+", "")), row[2]) end
   if options.notes then
      local lines = {}
      for line in (options.notes .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
      verbatim(lines)
   end
   paragraph("Examples:")
   verbatim(options.examples)
end

put('.TH LPFM 1 "" "lpfm ', VERSION, '" "User Commands"')
section "NAME"
put "lpfm \\- hardware performance counters with perfmon2, from the shell and from Lua"
section "SYNOPSIS"
put ".B lpfm\n.br\n.B lpfm\n.I FILE\n[\\fIarguments\\fR]\n.br\n.B lpfm \\-e\n.I CODE\n[\\fIarguments\\fR]"
put ".br\n.B lpfm\n.I COMMAND\n[\\fIoptions\\fR]"
section "DESCRIPTION"
paragraph [[
lpfm counts and samples what programs do, with the counters of the processor and of the kernel. Without arguments it
starts a prompt: Lua with the perfmon2 interface, completion and help(). With a file, or - for standard input, it runs
a Lua script. The commands below make the everyday measurements.]]
paragraph [[
Without hardware counters (as in most virtual machines), the kernel's software counters and sampling by time still
work. LPFM_MACHINE=sim is a simulated computer with four processor models.]]
section "COMMANDS"
for _, name in ipairs(commands.names) do command(name) end
section "ENVIRONMENT"
for _, row in ipairs(commands.environment) do item(row[1], row[2]) end
section "FILES"
item("lpfm.data", "the recording that lpfm record writes and lpfm report reads by default")
item("~/.lpfm_history", "the history of the prompt")
section "EXIT STATUS"
paragraph [[
That of the measured command, if there is one; otherwise 0: success; 1: failure, standard error says why; 2: a mistake
in the command line; 130: interrupted.]]
section "EXAMPLES"
verbatim(commands.examples)
section "SEE ALSO"
paragraph "perf(1), perf_event_open(2). At the prompt: help(), lpfm.help(NAME)."
