-- SPDX-License-Identifier: MIT
--- Writes to a file and flushes it, so that each failure is reported.
-- @module pfm.util.write_all

-- write_all() is not compiled: LuaJIT's compiled code repeats a call of write or flush that fails.
-- The buffer is empty then, the second call succeeds, and the loss is not noticed.
local jit = rawget(_G, "jit")

--- Writes, and empties the file's buffer.
-- @param file as of `io.open`
-- @tparam string ... nothing: the buffer alone is emptied
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @usage
-- local write_all = require "pfm.util.write_all"
-- local file = io.tmpfile()
-- assert(write_all(file, "one", "two"))
-- file:close()
local function write_all(file, ...)
   local ok, err, code = true, nil, nil
   if select("#", ...) > 0 then ok, err, code = file:write(...) end
   if ok then ok, err, code = file:flush() end
   if ok then return true end
   return nil, err, code
end

if jit then jit.off(write_all) end

return write_all
