-- SPDX-License-Identifier: MIT
--- Former names of modules: `require` finds them once this module is loaded, for one version more.
-- lpfm loads it itself; a script for a plain interpreter requires it first.
-- @module pfm.former
-- @usage
-- require "pfm.former"
-- assert(require "pfm.merge" == require "pfm.jobs.merge")

local former = {
   ["lpfm.blocks"] = "lpfm.samples",
   ["pfm.collector"] = "pfm.fleet.collector", ["pfm.launcher"] = "pfm.util.launcher", ["pfm.merge"] = "pfm.jobs.merge",
   ["pfm.oprofile"] = "pfm.oprofile.oprofile", ["pfm.ranks"] = "pfm.jobs.ranks",
   ["pfm.store"] = "pfm.fleet.store",
}

for name, now in pairs(former) do
   package.preload[name] = package.preload[name] or function() return require(now) end
end

-- Former modules that are functions of pfm.program now. The modules themselves could be called.
for _, name in ipairs { "where", "bucket" } do
   package.preload["pfm." .. name] = function()
      local make = require("pfm.program")[name]
      return setmetatable({ new = make }, { __call = function(_, ...) return make(...) end })
   end
end

return former
