-- SPDX-License-Identifier: MIT
-- A udev rule, installed with the module, lets only root and the group perfmon open /dev/perfmon.

local c = require "support.c"
local files = require "support.files"

local contents = files.read

describe("access to /dev/perfmon", function()
   local root = os.tmpname()
   local rule = root .. "/usr/lib/udev/rules.d/60-perfmon.rules"

   setup(function() os.remove(root) end)
   teardown(function() c.sh("rm -rf " .. root) end)

   it("is installed for a group, and removed", function()
      assert.are.equal(0, select(2, c.sh("kernel/linux/device/access install " .. root)))
      local line = contents(rule):match("\n([^#\n]+)\n")
      assert.are.equal('SUBSYSTEM=="misc", KERNEL=="perfmon", GROUP="perfmon", MODE="0660"', line)
      assert.are.equal("g perfmon -\n", contents(root .. "/usr/lib/sysusers.d/perfmon.conf"))
      assert.are.equal(0, select(2, c.sh("kernel/linux/device/access remove " .. root)))
      assert.is_nil(io.open(rule))
      assert.are.equal(64, select(2, c.sh("kernel/linux/device/access")))
   end)

   it("comes with the modules, by hand and by DKMS", function()
      assert.is_truthy(contents("kernel/linux/build.mk"):find("device/access install $(DESTDIR)", 1, true))
      local dkms = contents("kernel/dkms.conf")
      assert.is_truthy(dkms:find('POST_INSTALL="linux/device/access install"', 1, true))
      assert.is_truthy(dkms:find('POST_REMOVE="linux/device/access remove"', 1, true))
   end)
end)
