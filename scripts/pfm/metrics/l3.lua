-- SPDX-License-Identifier: MIT
-- Intel SDM volume 3B, chapter "Performance Monitoring": the architectural events
-- LONGEST_LAT_CACHE, and L2_LINES_IN for lines of 64 bytes that came from the third level or from
-- beyond. AMD's Processor Programming References, family 19h: fills of the data cache by where they
-- come from. Arm Architecture Reference Manual, "PMU events".
local RATIO = { "L3 miss ratio", "MISS / REQ", "of requests", "requests that the third level did not have" }
local MISSES = { "L3 misses per 1000 instructions", "1000 * MISS / INS", "/1000 instructions", "each waits for memory" }
local BANDWIDTH = { "L2 fill bandwidth", "64 * LINES / RAN", "GB/s",
   "bytes filled into the second level per second of CPU time" }
local VOLUME = { "L2 fill volume", "64 * LINES / 1e9", "GB", "bytes filled into the second level" }

local function filled(lines, request, miss)
   return {
      events = { INS = "instructions", RAN = "task-clock", LINES = lines, REQ = request, MISS = miss },
      metrics = { RATIO, MISSES, BANDWIDTH, VOLUME },
   }
end

local function plain(pmu, request, miss)
   return { pmu = pmu, events = { INS = "instructions", REQ = request, MISS = miss }, metrics = { RATIO, MISSES } }
end

-- Takes fills after second-level misses of data: from the core complex itself, and from beyond it.
local function zen(pmu, near, beyond)
   local fills = "ANY_DATA_CACHE_FILLS_FROM_SYSTEM"
   return {
      pmu = pmu,
      events = { INS = "instructions", NEAR = fills .. ":" .. near, MISS = fills .. ":" .. beyond },
      metrics = {
         { "L3 miss ratio", "MISS / (NEAR + MISS)", "of fills", "lines that the third level did not have" },
         MISSES,
      },
   }
end

return {
   text = "How often requests are found in the third-level cache, and what comes into the second.",
   plain("^itanium2$", "L3_REFERENCES", "L3_MISSES"),
   zen("zen3$", "INT_CACHE", "EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT"),
   zen("zen4$", "LOCAL_CCX", "NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR"),
   filled("L2_LINES_IN:ALL", "LONGEST_LAT_CACHE:REFERENCE", "LONGEST_LAT_CACHE:MISS"),
   -- Ice Lake has another name for the references.
   filled("L2_LINES_IN:ALL", "LONGEST_LAT_CACHE:REFERENCES", "LONGEST_LAT_CACHE:MISS"),
   -- Sandy Bridge has other names for the lines and the references.
   filled("L2_LINES_IN:ANY", "L3_LAT_CACHE:REFERENCE", "L3_LAT_CACHE:MISS"),
   filled("L2_LINES_IN:ANY", "LONGEST_LAT_CACHE:REFERENCE", "LONGEST_LAT_CACHE:MISS"),
   plain("^amd64_fam10h", "READ_REQUEST_TO_L3_CACHE:ANY_READ:ALL_CORES", "L3_CACHE_MISSES:ANY_READ:ALL_CORES"),
   plain("^arm", "L3D_CACHE", "L3D_CACHE_REFILL"),
   plain("^arm", "LL_CACHE_RD", "LL_CACHE_MISS_RD"),
}
