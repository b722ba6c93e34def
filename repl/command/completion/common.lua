-- SPDX-License-Identifier: MIT
--- Parts of the completion scripts that all shells need.
-- @module repl.command.completion.common

local commands = require "repl.command.rows"
local kinds = require "repl.command.kinds"
local tables = require "pfm.util.tables"
local topics = require "repl.prompt.topics"

local common = {}

--- Returns the kind of an option's value.
-- @tparam table option a row of `repl.command.options`
-- @treturn string "any" if the kind is unknown; nil if the option takes no value
function common.kind_of(option)
   return option.value and (kinds.of_value[option.value] or "any") or nil
end

--- Quotes a word for a shell.
-- @string text
-- @treturn string
function common.quoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Returns the names of all commands, and help.
-- @treturn string separated by spaces
function common.names()
   return table.concat(commands.names, " ") .. " help"
end

--- Returns the names that `lpfm help` explains: all commands, and the topics that are not commands.
-- @treturn string separated by spaces
function common.explained()
   local out = tables.slice(commands.names)
   for _, name in ipairs(topics.names) do
      if not commands.rows[name] then out[#out + 1] = name end
   end
   return table.concat(out, " ")
end

--- Fills a template.
-- @string template with placeholders such as @NAME@
-- @tparam table parts the texts for the placeholders, by name
-- @treturn string
function common.fill(template, parts)
   return (template:gsub("@(%u+)@", parts))
end

return common
