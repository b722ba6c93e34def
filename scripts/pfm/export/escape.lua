-- SPDX-License-Identifier: MIT
--- Text in SVG and HTML.
-- @module pfm.export.escape

local render = require "pfm.render"

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- Escapes a text for SVG and HTML, also for attributes in double quotes.
-- @string text
-- @treturn string
-- @usage print(require("pfm.export.escape")("operator<"))
return function(text)
   return (render.printable(text):gsub('[&<>"]', entities))
end
