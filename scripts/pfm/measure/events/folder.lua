-- SPDX-License-Identifier: MIT
--- Folders of tracefs and sysfs: what is in them, or why that cannot be read.
-- @module pfm.measure.events.folder

local folder = {}

--- Returns the names in a folder.
-- @string path
-- @treturn[1] {string,...} sorted, without those that begin with a dot
-- @return[2] nil
-- @treturn[2] string "missing", "denied", or another reason in the system's words
function folder.names(path)
   local ok, list, err = pcall(function() return require("posix.dirent").dir(path) end)
   if not ok then list, err = nil, list end
   if not list then
      err = tostring(err)
      if err:find("No such file", 1, true) or err:find("Not a directory", 1, true) then return nil, "missing" end
      return nil, err:find("denied", 1, true) and "denied" or err
   end
   local out = {}
   for _, name in ipairs(list) do
      if name:sub(1, 1) ~= "." then out[#out + 1] = name end
   end
   table.sort(out)
   return out
end

return folder
