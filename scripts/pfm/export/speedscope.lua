-- SPDX-License-Identifier: MIT
--- Profiles for speedscope.app: all threads together, then each thread in the order of time.
-- @module pfm.export.speedscope

local chain = require "pfm.recording.chain"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local render = require "pfm.render"
local lpfm = require "lpfm"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local tables = require "pfm.util.tables"

local speedscope = { summary = "for www.speedscope.app: flame graphs and time lines",
   extensions = { "speedscope.json", "speedscope" } }

local SCHEMA = "https://www.speedscope.app/file-format-schema.json"

-- Returns a list of frames and a function that numbers frames from 0; equal frames share a number.
local function numbering()
   local list, numbers = {}, {}
   return list, function(frame)
      local id = frame.kind .. "\0" .. frame.name .. "\0" .. (frame.file or "")
      if not numbers[id] then
         list[#list + 1] = { name = frame.name, file = frame.file }
         numbers[id] = #list - 1
      end
      return numbers[id]
   end
end

local function new_profile(name, event, options)
   local timed = event.unit == "ns" and options.weight ~= "samples"
   return { type = "sampled", name = name, unit = timed and "nanoseconds" or "none",
      startValue = 0, endValue = 0, samples = {}, weights = {} }
end

local function append(profile, stack, weight)
   local n = #profile.samples
   if profile.samples[n] == stack then
      profile.weights[n] = profile.weights[n] + weight
   else
      profile.samples[n + 1], profile.weights[n + 1] = stack, weight
   end
   profile.endValue = profile.endValue + weight
end

local function whole(self, event, options, number)
   local profile = new_profile(event.name .. ", all threads", event, options)
   local list = stacks.collect(self, { event = event.name, ids = options.ids, inlined = options.inlined,
      weight = options.weight or "events" })
   for _, stack in ipairs(list) do append(profile, tables.map(stack.frames, number), stack.weight) end
   return profile
end

local function places_of(self, resolver, s)
   return chain.places(self, resolver, s.life, s.address, s.stack)
end

-- Makes a profile for each thread. Samples at the same place share a stack.
local function by_thread(self, event, options, number)
   local out, by_number, known, resolver = {}, {}, {}, embedded_symbols.resolver(self)
   for s in samples.each(self, resolver, event.name) do
      local profile = by_number[s.thread] or tables.enter(by_number, s.thread,
         new_profile(("%s, %s (%d)"):format(event.name, s.comm, s.tid), event, options), out)
      local id = s.stack and s.stack .. " " .. s.life .. " " .. s.address or s.where
      known[id] = known[id]
         or tables.map(stacks.code(places_of(self, resolver, s), self:has_stacks(), options), number)
      local stack = known[id]
      append(profile, stack, options.weight == "samples" and 1 or s.period)
   end
   return out
end

--- Writes the profiles of every event, or of one.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options of `stacks.collect`; the weight is "events" by default
function speedscope.write(self, out, options)
   options = options or {}
   local frames, number = numbering()
   local profiles = {}
   local wanted = options.event and { stacks.event(self, options.event) } or self.head.events
   for _, event in ipairs(wanted) do
      local all = whole(self, event, options, number)
      if #all.samples > 0 then
         profiles[#profiles + 1] = all
         for _, profile in ipairs(by_thread(self, event, options, number)) do profiles[#profiles + 1] = profile end
      end
   end
   out:write(render.json {
      ["$schema"] = SCHEMA, exporter = lpfm._VERSION, name = render.printable(self.head.what), activeProfileIndex = 0,
      shared = { frames = frames }, profiles = profiles,
   }, "\n")
end

return speedscope
