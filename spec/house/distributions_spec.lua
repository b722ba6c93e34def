-- SPDX-License-Identifier: MIT
-- The two commands of README.md in minimal roots of Debian, with the packages that each release has. Those of sid
-- change from day to day: spec/distributions sid is run by hand.
-- Engine: debootstrap, apt and root.
-- One interpreter: the suite runs under both in the roots.

local c = require "support.c"

describe("the two commands of README.md", function()
   for _, release in ipairs { "bookworm", "trixie" } do
      it("do their job on a minimal " .. release, function()
         if c.sh("id -u") ~= "0\n" then return pending("only root can make roots, mounts and namespaces") end
         local out, status = c.sh("spec/distributions " .. release)
         assert.equal(0, status, out)
      end)
   end
end)
