-- SPDX-License-Identifier: MIT
--- Runs a part of spec/c/calls/shared.c, with a /run and a folder of its own for the table that
-- processes share.
local c = require "support.c"
local pending = require("busted").pending

local OWN = "mount -t tmpfs none /run && mkdir /run/shared && chmod 1777 /run/shared && LPFM_SHARED=/run/shared"

--- Runs the part, which must succeed. The test is pending where that cannot be tried.
return function(part)
   if select(2, c.sh("unshare -m true")) ~= 0 then return pending("only root has a /run of his own") end
   c.must(("timeout 600 unshare -m sh -c '%s exec %s %s'"):format(OWN, c.compile("shared"), part))
end
