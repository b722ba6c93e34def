-- SPDX-License-Identifier: MIT
-- spec/tasks.md and README.md, typed into a terminal: the output that they show appears.
-- One interpreter: the subject is the program as a process.

local terminal = require "support.terminal"

-- A path from this folder, as a user types it: the terminal would break a long one.
local build = os.getenv("LPFM_BUILD") or "build"
local here = os.getenv("PWD") .. "/"
if build:sub(1, #here) == here then build = build:sub(#here + 1) end
local lua = os.getenv("LPFM_LUA") or "luajit"

-- --- the file ------------------------------------------------------------------------------------

local function lines_of(path)
   local out = {}
   for line in io.lines(path) do out[#out + 1] = line end
   return out
end

-- Splits "$ ls", "lpfm> 1 + 1" or "lab> next" into the prompt and what is typed; "<q>" is a key.
local function typed(line)
   for _, prompt in ipairs { "$", "lpfm>", "lab>" } do
      if line:sub(1, #prompt + 1) == prompt .. " " then return prompt, line:sub(#prompt + 2) end
   end
   if line:find("^<[%w-]+>$") then return "", line end
end

-- Returns the steps of a block: what is typed, and the lines that are to appear behind it.
local function steps_of(block)
   local steps = {}
   for _, line in ipairs(block) do
      local prompt, text = typed(line)
      if prompt then
         steps[#steps + 1] = { prompt = prompt, text = text, expected = {} }
      elseif #steps > 0 then
         table.insert(steps[#steps].expected, line)
      end
   end
   return steps
end

-- Returns the transcripts of a document, each with a title and blocks, a block with `exact` and
-- `steps`; leaves out blocks without steps.
local function read_tasks(path)
   local tasks, block = {}, nil
   for _, line in ipairs(lines_of(path)) do
      local title, fence = line:match("^## (.+)$"), line:match("^```(%a*)$")
      if title then
         tasks[#tasks + 1] = { title = title, blocks = {} }
      elseif fence and not block then
         block = { exact = fence == "exact" }
      elseif fence then
         block.steps = steps_of(block)
         if #block.steps > 0 then table.insert(tasks[#tasks].blocks, block) end
         block = nil
      elseif block then
         block[#block + 1] = line
      end
   end
   return tasks
end

-- --- comparing -----------------------------------------------------------------------------------

-- Returns what is compared of a line: white space does not count, nor, unless `exact` is true,
-- numbers with their units, and bars.
local function plain(line, exact)
   if not exact then
      line = line:gsub("[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏▕]+", "~"):gsub("%d[%d.,]*", "#")
      line = line:gsub("# [mun]?s%f[%W]", "# s")
      line = line:gsub("# [KMG]/s", "# /s"):gsub("# [KM]?i?[Bb]y?t?e?s?%)", "# bytes)")
   end
   return (line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- Returns the first of the expected lines that the text lacks in their order, or nil. "..." stands
-- for any lines, or for the rest of one. A line behind "..." may come later, and with `later` the
-- first line, too; others follow at once.
local function missing(text, expected, exact, later)
   local shown, at, anywhere = {}, 1, later
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      local p = plain(line, exact)
      if p ~= "" then shown[#shown + 1] = p end
   end
   for _, line in ipairs(expected) do
      local p = plain(line, exact)
      if p == "..." then
         anywhere = true
      elseif p ~= "" then
         local start = p:match("^(.*) ?%.%.%.$")
         local found
         for i = at, anywhere and #shown or math.min(at, #shown) do
            found = (start and shown[i]:sub(1, #start) == start or shown[i] == p) and i
            if found then break end
         end
         if not found then return line end
         at, anywhere = found + 1, false
      end
   end
end

-- --- typing --------------------------------------------------------------------------------------

-- Returns whether the screen's last line begins with a prompt, and what stands behind the prompt.
local function last_prompt(screen, prompt)
   local last, rest
   for line in screen:gmatch("[^\n]+") do
      local behind = line:sub(1, #prompt) == prompt and line:sub(#prompt + 1)
      if line:find("%S") then last, rest = behind and prompt or nil, behind end
   end
   return last ~= nil, rest
end

local function await_prompt(t, prompt)
   t:wait_until(function(screen)
      local is, rest = last_prompt(screen, prompt)
      return is and rest:find("^%s*$") ~= nil
   end, "the prompt " .. prompt)
end

local special = { ["Tab"] = "Tab" }

-- Types text with keys in it. A key is pressed when the screen shows the text before the key.
local function type_keys(t, text)
   local rest = text
   while rest ~= "" do
      local before, key, after = rest:match("^(.-)<(%u[%w-]*)>(.*)$")
      t:type(before or rest)
      if key then
         t:wait_until(function(screen) return screen:gsub("\n", ""):find(before, 1, true) end, before)
         t:press(special[key] or key)
      end
      rest = after or ""
   end
end

-- Returns what is on the screen behind the last line that begins with the prompt and the first
-- letters of what was typed.
local function behind(screen, step)
   local letters = step.text:match("^[^<]*"):sub(1, 20)
   local from = 1
   for at in ("\n" .. screen):gmatch("()\n" .. (step.prompt .. " " .. letters):gsub("%p", "%%%0")) do from = at end
   local text = screen:sub(from)
   return text:match("^[^\n]*\n(.*)$") or ""
end

local function play(t, step, exact, keys_of)
   if step.prompt == "" then
      t:press((step.text:gsub("[<>]", "")))
   else
      await_prompt(t, step.prompt)
      type_keys(t, step.text)
      t:press("Enter")
   end
   local anchor = step.prompt == "" and keys_of or step
   local lacking
   local ok = pcall(t.wait_until, t, function(screen)
      lacking = missing(behind(screen, anchor), step.expected, exact, step.prompt == "")
      return lacking == nil
   end, "")
   local shown = ok or t:screen():gsub("%s+$", "")
   assert(ok, ("after '%s', '%s' is not what follows on:\n%s"):format(step.text, tostring(lacking), tostring(shown)))
end

local function transcripts_of(path)
   local out = {}
   for _, task in ipairs(read_tasks(path)) do
      if #task.blocks > 0 then out[#out + 1] = task end
   end
   return out
end

describe("the transcripts:", function()
   local t
   local real = not require("lpfm").machine().name:find("^sim")

   after_each(function()
      t:stop()
      os.remove("build/transcript.lua")
   end)

   local tasks, readme = transcripts_of("spec/tasks.md"), transcripts_of("README.md")
   for _, task in ipairs { readme[1], readme[2], unpack(tasks) } do
      it(task.title, function()
         for _, block in ipairs(task.blocks) do
            if not (real or block.exact) then return pending("this machine is simulated") end
            t = terminal.start(("env -u LPFM_SCRIPTS TERM=screen LC_ALL=C.UTF-8 LPFM_INIT= XDG_STATE_HOME=/dev/null "
               .. "PS1='$ ' bash --norc --noprofile +m"), { first = "$", rows = 200 })
            local program = ("%s/%s/lpfm"):format(build, lua)
            local before
            for _, step in ipairs(block.steps) do
               step.text = step.text:gsub("build/lpfm", program)
               play(t, step, block.exact, before)
               before = step
            end
            await_prompt(t, "$")
         end
      end)
   end

   it("are twenty-two tasks, and two of the README", function()
      t = terminal.start("cat", { first = "" })
      assert.same({ 22, 2 }, { #tasks, #readme })
   end)
end)
