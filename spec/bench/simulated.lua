-- SPDX-License-Identifier: MIT
-- Records a program on the simulated computer; its functions call each other on many paths.
--   simulated.lua OUT [g]	with call stacks
local lpfm = require "lpfm"
local record = require "pfm.record"

local FUNCTIONS, DEPTH, NS = 40, 14, 100

-- Returns the body of a function, which calls one or two others above DEPTH.
local function body(depth, path)
   local ip = 0x10000 * (1 + (path * 7 + depth) % FUNCTIONS)
   if depth == DEPTH then return { loop = 8, { ip = ip, ns = NS }, { ip = ip + 4, ns = NS } } end
   local near = depth < 11 or path % 3 == 0
   local second = near and body(depth + 1, path * 2 + 1) or nil
   return { call = ip + 16, { ip = ip, ns = NS }, body(depth + 1, path * 2), second }
end

local m = assert(lpfm.machine "sim:itanium2")
local tid = assert(m:spawn { program = { { loop = 4, body(1, 1) } } })
local r = record.begin({ tids = { tid }, events = "IA64_INST_RETIRED", period = 1, g = arg[2] == "g" and "fp" or nil },
   arg[1])
print(record.finish(r, require("pfm.profile").run(r.profile, r.sink)).samples)
