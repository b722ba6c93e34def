-- SPDX-License-Identifier: MIT
-- Loads the recordings of a made-up fleet into a store: recordings of the simulated computer, as if
-- each host had made one each hour, in the hours around midnight.
--   fleet.lua URL HOSTS HOURS FOLDER	prints samples, bytes of the files, seconds
local chunks = require "lpfm.chunks"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local profile = require "pfm.profile"
local record = require "pfm.record"
local recording = require "pfm.recording"
local store = require "pfm.fleet.store"

local url, hosts, hours, folder = arg[1], tonumber(arg[2]), tonumber(arg[3]), arg[4]
local VERSIONS, VARIANTS, FUNCTIONS, DEPTH, NS, PERIOD = 3, 8, 400, 9, 100, 40
local MIDNIGHT = math.floor(os.time() / 86400) * 86400

-- Returns the body of a function, which calls two others above DEPTH. Which it is, and how long it
-- runs, depends on path and seed.
local function body(depth, path, seed)
   local ip = 0x10000 + 0x100 * ((path * 7 + depth * 31 + seed * path) % FUNCTIONS)
   local loop = { loop = 1 + (path * seed) % 9, { ip = ip, ns = NS }, { ip = ip + 4, ns = NS } }
   if depth == DEPTH then return loop end
   return { call = ip + 16, loop, body(depth + 1, path * 2, seed), body(depth + 1, path * 2 + 1, seed) }
end

local function simulate(path, seed)
   local m = assert(lpfm.machine "sim:itanium2")
   local tid = assert(m:spawn { program = { { loop = 6, body(1, 1, seed) } } })
   local r = record.begin({ tids = { tid }, events = "IA64_INST_RETIRED", period = PERIOD, g = "fp" }, path)
   return record.finish(r, profile.run(r.profile, r.sink)).samples
end

-- Returns the parts of a recording that are the same on every host: samples, stacks, the process.
local function contents(path)
   local self, file, out = assert(recording.open(path)), assert(chunks.open(path)), {}
   local tag, at, length = file:next()
   while tag do
      if tag == "STKS" or tag == "SMPL" then out[#out + 1] = { tag, file:body(at, length) } end
      tag, at, length = file:next()
   end
   file:close()
   for pid in self:group_by({ keys = { "pid" } }):rows() do out.pid = pid end
   out.head, out.samples = self.head, self.ends.samples
   return out
end

local functions = {}
for i = 0, FUNCTIONS - 1 do functions[i + 1] = { 0x10000 + 0x100 * i, 0x100, ("function_%03d"):format(i) } end
local named = { path = "/srv/service", build_id = "5e41", count = FUNCTIONS, segments = { { 0, 0x100000, 0 } },
   functions = functions, files = {}, lines = {}, frames = {} }

local function write(path, from, host, time)
   from.head.time, from.head.machine.host, from.head.command = time, host, { "service" }
   local w = assert(recording.create(path, from.head, true))
   w:json("MAPS", { pid = from.pid, maps = { { 0, 0x1000000, 0, "/srv/service" } } })
   w:json("COMM", { { tid = from.pid, pid = from.pid, comm = "service" } })
   for _, chunk in ipairs(from) do w:chunk(chunk[1], chunk[2]) end
   w.samples = from.samples
   w:json("SYMS", named)
   w:begin()
   w:close { lost = 0, full = 0, missed = 0 }
   return w.bytes
end

local variants = {}
for i = 1, VERSIONS * VARIANTS do
   simulate(folder .. "/base.data", i)
   variants[i] = contents(folder .. "/base.data")
end

-- For each hour, loads the recordings of the hosts that have the same version.
local s, samples, bytes, seconds = store.open(url), 0, 0, 0
for hour = 0, hours - 1 do
   for version = 1, VERSIONS do
      local paths = {}
      for host = version, hosts, VERSIONS do
         local path = ("%s/%d.data"):format(folder, host)
         local from = variants[(version - 1) * VARIANTS + 1 + (host * 7 + hour * 5) % VARIANTS]
         bytes = bytes + write(path, from, "host" .. host, MIDNIGHT + (hour - hours / 2) * 3600 + host)
         paths[#paths + 1] = path
      end
      local began = proc.clock()
      local result = s:load(paths, { version = "1." .. version })
      assert(result.left == 0 and #result.refused == 0, result.why)
      samples, seconds = samples + result.samples, seconds + proc.clock() - began
   end
end
print(("%.0f %.0f %.3f"):format(samples, bytes, seconds))
