-- SPDX-License-Identifier: MIT
-- The two commands of README.md in a minimal installation of another stable Debian than this one.
-- One interpreter: the other release runs the specs under both.
-- Engine: a root by debootstrap, with what the commands install there.

-- The release to test, by this computer's release; where this is another one, bookworm is tested.
local OTHER = { bookworm = "trixie" }

local function release_of(path)
   for line in io.lines(path) do
      local name = line:match("^VERSION_CODENAME=(%w+)$")
      if name then return name end
   end
end

describe("a minimal installation of the other Debian", function()
   it("builds lpfm and passes the specs that depend most on a release", function()
      local pipe = assert(io.popen("spec/distributions " .. (OTHER[release_of("/etc/os-release")] or "bookworm")
         .. " 2>&1; echo \"status $?\""))
      local output = pipe:read("*a")
      pipe:close()
      local status = output:match("status (%d+)\n$")
      if status == "125" then return pending((output:gsub("status %d+\n$", ""))) end
      assert.equal("0", status, output)
      assert.truthy(output:find("\n%w+: passed\nstatus"), output)
   end)
end)
