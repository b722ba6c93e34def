-- SPDX-License-Identifier: MIT
--- What the commands that read a recording share.
-- @module repl.command.input

local options = require "repl.command.options"
local progress = require "repl.command.progress"
local recording = require "pfm.recording"

local input = {}

--- Opens the recording of a command; raises an error if it cannot be read.
-- @string[opt="lpfm.data"] path
-- @string[opt] who the command whose progress is shown on a terminal, if any
-- @treturn recording
function input.open(path, who)
   local self, err = recording.open(path or "lpfm.data")
   if not self then error(err, 0) end
   if who then self.progress = progress.counter(who, (self.ends or {}).samples or math.huge, "samples") end
   return self
end

--- Ends a command: warnings about the recording go to standard error.
-- @tparam recording self
-- @string who the command
function input.finish(self, who)
   if self.progress then self.progress() end
   io.stdout:flush()
   for _, warning in ipairs(self:warnings()) do io.stderr:write(who, ": ", warning, "\n") end
end

--- Sorts the words of a command line: one of a known kind, and the recording.
-- @tparam table args gets `file`, and `field`
-- @tparam table words
-- @string field
-- @tparam function is_known of a word: is it of that kind?
function input.pick(args, words, field, is_known)
   for _, word in ipairs(words) do
      if not args[field] and is_known(word) then
         args[field] = word
      elseif not args.file then
         args.file = word
      else
         options.fail("unexpected argument '%s': expected one recording", word)
      end
   end
end

return input
