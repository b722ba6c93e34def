-- SPDX-License-Identifier: MIT
-- man.lua - writes the manual pages lpfm(1) and lpfm-COMMAND(1), from the commands' rows and
-- options; with PART, only the pages of that part's commands.
--   lpfm repl/man.lua VERSION FOLDER [PART]

local commands = require "repl.command.rows"
local parts = require "repl.parts"
local topics = require "repl.prompt.topics"

local VERSION, FOLDER, PART = ...

local out

local function quote(text)
   return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("\n([.'])", "\n\\&%1"):gsub("^([.'])", "\\&%1"))
end

local function put(...)
   out:write(...)
   out:write("\n")
end

local function section(name)
   put(".SH ", name)
end

local function paragraph(text)
   put(".PP")
   put(quote(text))
end

-- Writes lines without filling them.
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

local function command_row(row)
   item("lpfm-" .. row.name .. "(1)", row.summary)
end

-- Writes text: filled paragraphs, and blocks with lines that begin with blanks as they are.
local function notes(text)
   for block in (text .. "\n\n"):gmatch("(.-)\n\n+") do
      local lines = {}
      for line in (block .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
      if block:find("^%s") or block:find("\n%s") then verbatim(lines) else paragraph(block) end
   end
end

local function files()
   section "FILES"
   item("lpfm.data", "the recording that lpfm record writes and lpfm report reads by default")
   item("lpfm.data.old", "the one before it")
   item("~/.lpfm_history", "the history of the prompt")
end

local function exit_status()
   section "EXIT STATUS"
   paragraph [[
lpfm stat, record, perfex, histogram, cascade and trace exit with the status of the command that they measure: 126 if it
cannot be executed, 127 if there is none of that name, 128 + N if signal N ended it. Otherwise 0: success; 1: failure,
standard error says why; 2: a mistake in the command line; 3: the period is biased (lpfm bias), or progress is missing
or damaged (lpfm lab); 130: interrupted.]]
end

local function environment()
   section "ENVIRONMENT"
   for _, row in ipairs(commands.environment) do item(row[1], row[2]) end
end

-- Lists the pages of all other commands.
local function see_also(but)
   local pages = but and { "lpfm(1)" } or {}
   for _, name in ipairs(commands.names) do
      if name ~= but then pages[#pages + 1] = "lpfm-" .. name .. "(1)" end
   end
   section "SEE ALSO"
   local beyond = but and "." or ", perf(1), perf_event_open(2). At the prompt: help(), lpfm.help(NAME)."
   paragraph(table.concat(pages, ", ") .. beyond)
end

-- page(NAME, WRITE): writes a file into the folder.
local function page(name, write)
   out = assert(io.open(("%s/%s.1"):format(FOLDER, name), "w"))
   put(('.TH %s 1 "" "lpfm %s" "User Commands"'):format(name:upper():gsub("%-", "\\-"), VERSION))
   write()
   assert(out:close())
end

local function command_page(row)
   local options = commands.module(row.name).options()
   section "NAME"
   put("lpfm\\-", row.name, " \\- ", (quote(row.summary)))
   section "SYNOPSIS"
   put(".B ", (quote(options.usage)))
   section "DESCRIPTION"
   paragraph(options.summary)
   section "OPTIONS"
   for _, option in ipairs(options.rows) do item((option[1]:gsub("^%s+", "")), option[2]) end
   local text = options:notes()
   if text then
      section "NOTES"
      notes(text)
   end
   section "EXAMPLES"
   verbatim(options.examples)
   exit_status()
   environment()
   see_also(row.name)
end

local function program_page()
   section "NAME"
   put "lpfm \\- hardware performance counters with perfmon2, from the shell and from Lua"
   section "SYNOPSIS"
   put ".B lpfm\n[\\fB\\-\\-no\\-init\\fR]\n.br"
   put ".B lpfm\n.I FILE\n[\\fIarguments\\fR]\n.br\n.B lpfm \\-e\n.I CODE\n[\\fIarguments\\fR]"
   put ".br\n.B lpfm\n.I COMMAND\n[\\fIoptions\\fR]"
   section "DESCRIPTION"
   paragraph [[
lpfm counts and samples what programs do, with the counters of the processor and of the kernel. Without arguments it
starts a prompt: Lua with the perfmon2 interface, completion and help(). With a file, or - for standard input, it runs
a Lua script. The commands below make the everyday measurements.]]
   paragraph [[
Without hardware counters (as in most virtual machines), the kernel's software counters and sampling by time still
work. LPFM_MACHINE=sim:MODEL is a simulated computer; 'lpfm help machines' lists the models.]]
   section "COMMANDS"
   for _, row in ipairs(commands.rows) do command_row(row) end
   section "TOPICS"
   paragraph "What 'lpfm help TOPIC', and at the prompt ?TOPIC, explain:"
   for _, name in ipairs(topics.names) do item(name, topics.titles[name]) end
   environment()
   files()
   exit_status()
   section "EXAMPLES"
   verbatim(commands.examples)
   see_also()
end

if not PART then page("lpfm", program_page) end
for _, row in ipairs(PART and parts.commands(PART) or commands.rows) do
   page("lpfm-" .. row.name, function() command_page(row) end)
end
