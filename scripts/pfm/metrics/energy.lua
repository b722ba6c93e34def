-- SPDX-License-Identifier: MIT
-- RAPL, Running Average Power Limit: Intel SDM volume 3B, chapter "Power and Thermal Management",
-- "RAPL Interfaces"; the event's scale, from /sys/bus/event_source/devices/power/events, converts
-- counts to J.
local POWER = "/sys/bus/event_source/devices/power"

-- Returns why the energy cannot be measured here, or nil.
local function obstacle()
   local file = io.open(POWER .. "/type")
   if not file then return "it needs RAPL, and this machine has no " .. POWER .. " (virtual machines have none)" end
   file:close()
end

return {
   text = "Energy and power of the processor's package, of all that runs on it.",
   obstacle = obstacle,
   {
      events = { PKG = "power/energy-pkg/" },
      metrics = {
         { "energy", "PKG", "J", "what the package used; of CPUs (-a), not of a program alone" },
         { "power", "PKG / TIME", "W", "the same, per elapsed time" },
      },
   },
}
