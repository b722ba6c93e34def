-- SPDX-License-Identifier: MIT
--- What the scripts of the shells have in common.
-- @module repl.command.completion.common

local commands = require "repl.command"
local kinds = require "repl.command.kinds"
local slice = require "pfm.util.slice"
local topics = require "repl.prompt.topics"

local common = {}

--- The kind of an option's value.
-- @tparam table option a row of `repl.command.options`
-- @treturn string "any" where nothing is known of it; nil: it has no value
function common.kind_of(option)
   return option.value and (kinds.of_value[option.value] or "any") or nil
end

--- A word for a shell.
-- @string text
-- @treturn string
function common.quoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The names of all commands, and help.
-- @treturn string separated by spaces
function common.names()
   return table.concat(commands.names, " ") .. " help"
end

--- What `lpfm help` explains: the names of all commands, and of the topics that are no commands.
-- @treturn string separated by spaces
function common.explained()
   local out = slice(commands.names)
   for _, name in ipairs(topics.names) do
      if not commands.rows[name] then out[#out + 1] = name end
   end
   return table.concat(out, " ")
end

--- Fills a template.
-- @string template with places as @NAME@
-- @tparam table parts by name
-- @treturn string
function common.fill(template, parts)
   return (template:gsub("@(%u+)@", parts))
end

return common
