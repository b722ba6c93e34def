-- SPDX-License-Identifier: MIT
--- Serves the prompt to another program, the Jupyter kernel. Each request and each answer is a line
-- of JSON, on two descriptors; the output of statements goes to stdout and stderr.
--
--    {"run": TEXT}         -> {"data": by MIME type}, {"quit": true},
--                             or {"message": TEXT, "failed": BOOL}
--    {"complete": TEXT}    -> {"words": [...], "from": where the word begins, in bytes}
--    {"inspect": NAME}     -> {"text": TEXT}, without `text` if no help was found
--    {"is_complete": TEXT} -> {"status": "complete" | "incomplete" | "invalid", "indent": BLANKS}
--
-- @module repl.parts.notebook.serve

local cjson = require "cjson.safe"
local host = require "repl.host"
local poll = require "posix.poll"
local unistd = require "posix.unistd"
local bundle = require "repl.parts.notebook.bundle"
local caret = require "repl.prompt.caret"
local chunk = require "repl.prompt.chunk"
local environment = require "repl.environment"
local globals = require "repl.prompt.globals"
local statement = require "repl.prompt.statement"
local tokens = require "repl.prompt.tokens"

local serve = {}

local INDENT = 3
local BLOCK = 65536
-- These are kept in locals, as a statement may replace them.
local loaded, try, restore, part_of = package.loaded, host.try, environment.restore, string.sub

-- --- answers -------------------------------------------------------------------------------------

local answers = {}

function answers.run(text)
   local compiled, err = statement.compile(text)
   if not compiled then return { failed = true, message = caret.syntax(text, err) } end
   local outcome = statement.run(compiled, text)
   if outcome.quit then return { quit = true } end
   if outcome.message then return { failed = outcome.failed or false, message = outcome.message } end
   local ok, data = pcall(bundle.of, outcome.results)
   if not ok then return { failed = true, message = statement.message_of(data) } end
   return { data = data }
end

function answers.complete(text)
   local complete = require "repl.prompt.complete"
   local quote = complete.quote(text)
   local word = text:match(quote == "" and "[%w_.:?]*$" or "[^%s\"'{}(),=]*$")
   return { words = complete.words(word, text:sub(1, #text - #word), quote), from = #text - #word }
end

function answers.inspect(name)
   return { text = require("repl.prompt.help").of_name(name) }
end

function answers.is_complete(text)
   local compiled, err = statement.compile(text)
   if compiled then return { status = "complete" } end
   if not chunk.incomplete(err) then return { status = "invalid" } end
   return { status = "incomplete", indent = (" "):rep(INDENT * tokens.depth(text)) }
end

-- Answers a line. If the line is not a request, the answer is an error.
local function answer(line)
   local request, err = cjson.decode(line)
   if type(request) ~= "table" then return { failed = true, message = "no request: " .. tostring(err) } end
   local what, text = next(request)
   if not answers[what] then return { failed = true, message = "unknown request " .. tostring(what) } end
   local ok, out = pcall(answers[what], tostring(text))
   host.calm()
   return ok and out or { failed = true, message = statement.message_of(out) }
end

-- --- the loop ------------------------------------------------------------------------------------

-- Serves background jobs, then waits for them or for input. Returns true if there is input.
local function wait(fd)
   local background = loaded["repl.prompt.jobs"]
   local fds, seconds, notices = {}, nil, nil
   if background then fds, seconds, notices = background.idle() end
   if notices then io.stdout:write(notices, "\n") end
   io.stdout:flush()
   local set = { [fd] = { events = { IN = true } } }
   for _, other in ipairs(fds or {}) do set[other] = { events = { IN = true } } end
   poll.poll(set, seconds and math.ceil(seconds * 1000) or -1)
   host.calm()
   return set[fd].revents and (set[fd].revents.IN or set[fd].revents.HUP)
end

local function write_all(fd, text)
   while text ~= "" do
      local n = unistd.write(fd, text)
      if n then text = part_of(text, n + 1) end
   end
end

-- Returns a function that reads the next line from a descriptor; nil at end of file.
local function lines(fd)
   local rest = ""
   return function()
      while true do
         local line, after = rest:match("^([^\n]*)\n(.*)$")
         if line then
            rest = after
            return line
         end
         local block = wait(fd) and unistd.read(fd, BLOCK)
         if block == "" then return nil end
         rest = rest .. (block or "")
      end
   end
end

local function send(output, out)
   io.stdout:flush()
   io.stderr:flush()
   write_all(output, (cjson.encode(out) or '{"failed":true,"message":"the result is no text"}') .. "\n")
end

-- Answers a request, also where a statement has taken away what that needs; returns true if it is
-- the last one.
local function serve_one(line, output)
   local ok, out = try(answer, line)
   if not ok then
      restore()
      out = { failed = true, message = tostring(out) }
   end
   if not try(send, output, out) then
      restore()
      send(output, out)
   end
   return out.quit
end

--- Answers requests until the other program closes the descriptor.
-- @int input descriptor of the requests
-- @int output descriptor of the answers
-- @treturn number exit status
function serve.main(input, output)
   globals.provide()
   host.keep(true)
   io.stdout:setvbuf("line")
   local next_line = lines(input)
   while true do
      -- Ctrl-C may raise here, or a statement has taken away what is needed
      local ok, line = try(next_line)
      if not ok then
         restore()
      elseif not line or serve_one(line, output) then
         break
      end
   end
   local background = loaded["repl.prompt.jobs"]
   if background then background.stop_all() end
   host.keep(false)
   return 0
end

return serve
