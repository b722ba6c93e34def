-- SPDX-License-Identifier: MIT
local c = require "support.c"

describe("the C interfaces", function()
   it("have the structures of perfmon2 2.x", function()
      local out, status = c.sh(c.compile("abi"))
      assert.are.equal(0, status, out)
   end)

   for _, name in ipairs { "count_pfm", "count_perfmonctl" } do
      it("let a program count its own page faults: " .. name, function()
         local program = c.compile(name)
         for _, pages in ipairs { 100, 5000 } do
            local out, status = c.sh("LPFM_MACHINE=" .. require "support.real" .. " " .. program .. " " .. pages)
            assert.are.equal(0, status, out)
            local counted = tonumber(out:match("counted (%d+)"))
            assert.is_true(counted >= pages and counted <= pages + 16, out)
         end
      end)
   end

   it("export what the version script lists, and nothing else", function()
      if select(2, c.sh("command -v nm")) ~= 0 then return pending("there is no nm here") end
      local library = os.getenv("LPFM_BUILD") .. "/libperfmon.so"
      local out = c.sh("nm -D --defined-only " .. library .. " | awk '$2 ~ /[TDBRW]/ {print $3}'")
      local map = io.open("kernel/user/libperfmon.map"):read("*a")
      for symbol in out:gmatch("[^\n]+") do
         local name = symbol:gsub("@.*", "")
         assert.is_truthy(map:find("\t" .. name .. ";", 1, true), "exported: " .. name)
      end
      for name in map:gmatch("\t(pfm_[%w_]+);") do
         assert.is_truthy(out:find(name .. "@", 1, true), "not exported: " .. name)
      end
   end)
end)
