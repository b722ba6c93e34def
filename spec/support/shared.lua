-- SPDX-License-Identifier: MIT
--- What processes share: a part of spec/c/calls/shared.c, with a /run and a folder for the table of its own.
local c = require "support.c"

local OWN = "mount -t tmpfs none /run && mkdir /run/shared && chmod 1777 /run/shared && LPFM_SHARED=/run/shared"

--- Runs it; fails unless it succeeds. Returns why it could not be tried, or nil.
return function(part)
   if select(2, c.sh("unshare -m true")) ~= 0 then return "only root has a /run of his own" end
   local out, status = c.sh(("timeout 600 unshare -m sh -c '%s exec %s %s'"):format(OWN, c.compile("shared"), part))
   assert(status == 0, out)
end
