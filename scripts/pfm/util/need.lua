-- SPDX-License-Identifier: MIT
--- Modules of other packages.
-- @module pfm.util.need

--- Loads a module of another package, or names the Debian package to install.
-- @function need
-- @string module
-- @string package the Debian package that has it
-- @return what `require` returns
-- @raise why the module cannot be loaded; if no file can be opened at all, that reason
-- @usage require("pfm.util.need")("cjson", "lua-cjson")
return function(module, package)
   local ok, found = pcall(require, module)
   if ok then return found end
   if not found:find(("module '%s' not found"):format(module), 1, true) then error(found, 0) end
   local file, why = io.open("/dev/null")
   if not file then error(("the Lua module %s cannot be loaded: %s"):format(module, why:match(": (.*)")), 0) end
   file:close()
   error(("the Lua module %s is missing (Debian: apt install %s)"):format(module, package), 0)
end
