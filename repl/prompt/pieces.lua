-- SPDX-License-Identifier: MIT
--- Writes texts in pieces at the prompt: a single write of a long text would be one C call, which
-- Ctrl-C cannot interrupt.
-- @module repl.prompt.pieces

local pieces = {}

local PIECE = 2 ^ 14 -- bytes, which even a slow terminal takes quickly
local jit = rawget(_G, "jit")

local function is_long(value)
   return type(value) == "string" and #value > PIECE
end

local function any_long(...)
   for i = 1, select("#", ...) do
      if is_long((select(i, ...))) then return true end
   end
   return false
end

-- Returns a write method for files that writes in pieces. The JIT is off for it, so that Ctrl-C can
-- interrupt it between two pieces.
local function in_pieces(write)
   local function write_pieces(file, ...)
      if not any_long(...) then return write(file, ...) end
      for i = 1, select("#", ...) do
         local value = select(i, ...)
         for at = 1, is_long(value) and #value or 1, PIECE do
            local ok, err, errno = write(file, is_long(value) and value:sub(at, at + PIECE - 1) or value)
            if not ok then return ok, err, errno end
         end
      end
      return write(file)
   end
   if jit then jit.off(write_pieces) end
   return write_pieces
end

local function print_in_pieces(...)
   for i = 1, select("#", ...) do io.stdout:write(i > 1 and "\t" or "", tostring((select(i, ...)))) end
   io.stdout:write("\n")
end

--- Makes print, io.write and the write method of files write in pieces.
function pieces.install()
   if print == print_in_pieces then return end
   local methods = getmetatable(io.stdout).__index
   methods.write = in_pieces(methods.write)
   rawset(io, "write", function(...) return io.output():write(...) end)
   rawset(_G, "print", print_in_pieces)
end

return pieces
