-- SPDX-License-Identifier: MIT
--- The tracepoints that a file of perf describes, and what their samples say.
--
-- perf copies the descriptions out of tracefs: the fields of each event, where they lie in the raw
-- data of a sample, and `print fmt`, the printf() with which the kernel would print them.
-- @module pfm.recording.perfdata.tracepoints

local print_format = require "pfm.recording.perfdata.print_format"
local values = require "pfm.recording.perfdata.field_values"

local tracepoints = {}
tracepoints.__index = tracepoints

local MAGIC = "\23\8\68tracing"

-- --- the descriptions ----------------------------------------------------------------------------

-- Reads bytes one after the other; raises an error if too few are left.
local cursor = {}
cursor.__index = cursor

function cursor:take(n)
   local at = self.at
   if not n or at + n - 1 > #self.bytes then error("short", 0) end
   self.at = at + n
   return self.bytes:sub(at, at + n - 1)
end

function cursor:number(n)
   return values.number(self:take(n), self.big)
end

function cursor:text()
   local stop = self.bytes:find("\0", self.at, true)
   if not stop then error("short", 0) end
   return self:take(stop - self.at + 1):sub(1, -2)
end

-- Reads a "field:" line; the last word of a declaration is the name.
local function read_field(line)
   local declared, offset, size, signed = line:match("^%s*field:(.-);%s*offset:(%d+);%s*size:(%d+);%s*signed:(%d)")
   if not declared then return nil end
   local kind, name, count = declared:match("^(.*[%s%*])([%w_]+)%s*%[?([%w_]*)[^%]]*%]?$")
   if not name then return nil end
   local is_array = declared:find("%]$") ~= nil
   return { name = name, kind = kind, offset = tonumber(offset), size = tonumber(size), signed = signed == "1",
      is_array = is_array, count = is_array and tonumber(count) or nil,
      where = kind:find("^__data_loc") and "start" or kind:find("^__rel_loc") and "here" or nil,
      is_text = kind:find("char") ~= nil and (is_array or kind:find("^__") ~= nil) }
end

local function read_format(text)
   local out = { name = text:match("name: ([^\n]+)"), id = tonumber(text:match("\nID: (%d+)")), fields = {} }
   for line in text:gmatch("[^\n]+") do
      local field = read_field(line)
      if field then out.fields[#out.fields + 1], out.fields[field.name] = field, field end
   end
   out.print = text:match("\nprint fmt: (.*)$")
   return out.id and out
end

local function read_all(self, at)
   at:text() -- the version
   at.big = at:take(1) == "\1"
   self.big, self.long = at.big, at:number(1)
   at:number(4) -- the size of pages
   for _ = 1, 2 do -- the formats of pages and of events in ftrace's buffer
      at:text()
      at:take(at:number(8))
   end
   for _ = 1, at:number(4) do at:take(at:number(8)) end -- events of ftrace itself
   for _ = 1, at:number(4) do
      at:text() -- the system
      for _ = 1, at:number(4) do
         local format = read_format(at:take(at:number(8)))
         if format then self.formats[format.id] = format end
      end
   end
   at:take(at:number(4)) -- the kernel's symbols, which perf leaves out
   for address, text in at:take(at:number(4)):gmatch('(0x%x+) : "([^\n]*)"') do
      self.constants[values.u64(address):hex()] = text:gsub("\\(.)", { n = "\n", t = "\t", ['"'] = '"' })
   end
end

--- Reads the descriptions.
-- @string[opt] bytes of the file's feature 1, or of a pipe's record
-- @treturn ?tracepoints nil: there are none. What follows a damaged place is missing
-- @usage assert(require("pfm.recording.perfdata.tracepoints").read("") == nil)
function tracepoints.read(bytes)
   if not bytes or bytes:sub(1, #MAGIC) ~= MAGIC then return nil end
   local self = setmetatable({ formats = {}, constants = {}, ids = {}, raws = {}, printers = {} }, tracepoints)
   pcall(read_all, self, setmetatable({ bytes = bytes, at = #MAGIC + 1 }, cursor))
   return self
end

-- --- functions and texts of the kernel -----------------------------------------------------------

--- Finds the kernel's function at an address.
-- @tparam u64 address
-- @treturn ?string its name; nil: it is not known
-- @treturn ?int how far the address is in it
-- @usage local t = require("pfm.recording.perfdata.tracepoints").read(""); print(t and t:symbol(lpfm.u64(4096)))
function tracepoints:symbol(address)
   local place = tonumber(address:signed())
   local where = place < 0 and self.resolver and self.resolver:resolve(0, place)
   if not where or where.missing then return nil end
   return where.func, where.offset
end

--- Returns the kernel's text at an address.
-- @tparam u64 address
-- @treturn ?string nil: it is not known
-- @usage local t = require("pfm.recording.perfdata.tracepoints").read(""); print(t and t:constant(lpfm.u64(4096)))
function tracepoints:constant(address)
   return self.constants[address:hex()]
end

-- --- samples -------------------------------------------------------------------------------------

-- Shows each field by itself, for an event without a printf() that is understood.
local function plain(self, format, raw)
   local out = {}
   for _, field in ipairs(format.fields) do
      if not field.name:find("^common_") then
         out[#out + 1] = field.name .. "=" .. values.shown(self, field, raw)
      end
   end
   return table.concat(out, " ")
end

local function printer_of(self, id)
   local format = self.formats[id]
   if self.printers[id] == nil then
      local compiled = format.print and print_format.compile(format.print, format)
      self.printers[id] = compiled or false
   end
   return self.printers[id]
end

--- Adds a sample.
-- @int id of the event: its `config`
-- @string raw the raw data
-- @treturn int its number, from 1
-- @usage local t = require("pfm.recording.perfdata.tracepoints").read(""); print(t and t:add(316, ""))
function tracepoints:add(id, raw)
   self.ids[#self.ids + 1], self.raws[#self.raws + 1] = id, raw
   return #self.ids
end

--- Returns what a sample of a tracepoint says.
-- @int number of `tracepoints:add`
-- @tparam[opt] resolver resolver of `pfm.symbols`, for the kernel's functions
-- @treturn ?string nil: there is no such sample; "": the file does not describe its event
-- @usage local t = require("pfm.recording.perfdata.tracepoints").read(""); print(t and t:text(1))
function tracepoints:text(number, resolver)
   self.resolver = resolver
   local id, raw = self.ids[number], self.raws[number]
   if not id then return nil end
   local format = self.formats[id]
   if not format then return "" end
   local printer = printer_of(self, id)
   local ok, text = pcall(printer or plain, self, format, raw)
   if not ok and printer then ok, text = pcall(plain, self, format, raw) end
   return ok and text or ""
end

return tracepoints
