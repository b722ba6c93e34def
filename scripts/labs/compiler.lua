-- SPDX-License-Identifier: MIT
--- C programs of labs, built by the compiler of this computer.
-- @module labs.compiler
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local text_file = require "pfm.util.text_file"

local compiler = {}

local PATIENCE = 60 -- s that the compiler may take

local function write(path, source)
   local file = assert(io.open(path, "w"))
   file:write(source)
   assert(file:close())
end

--- Builds a program.
-- @string path of the file to be made
-- @string source C
-- @tparam {string,...} flags of the compiler
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string what the compiler says, its first lines
-- @raise where there is no compiler
function compiler.build(path, source, flags)
   local file, messages = path .. ".c", path .. ".err"
   write(file, source)
   local argv = { "cc", unpack(flags) }
   for _, word in ipairs { "-o", path, file } do argv[#argv + 1] = word end
   local child = assert(proc.spawn(argv, { stderr = messages, stdin = false, bound = true }))
   local ok, message, errno = child:go()
   local outcome = ok and child:wait(PATIENCE)
   child:close()
   local said = text_file.all(messages) or ""
   os.remove(file)
   os.remove(messages)
   if not ok then
      error(errno == lpfm.errno.ENOENT and "cc is missing (Debian: apt install gcc libc6-dev)" or message, 0)
   end
   if outcome and outcome.status == 0 then return true end
   return nil, (said:gsub(file:gsub("%p", "%%%0"), "program.c"))
end

return compiler
