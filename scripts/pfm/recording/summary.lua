-- SPDX-License-Identifier: MIT
--- What to know about a recording before its numbers: what was sampled, when, and how far to trust
-- it.
-- @module pfm.recording.summary

local jitmap = require "pfm.jitmap"
local objects = require "lpfm.symbols"
local render = require "pfm.render"
local shell = require "pfm.util.shell"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local summary = {}

--- Returns the line that the numbers of a simulated machine begin with.
-- @tparam recording self
-- @return string, or nil: this computer was measured
-- @usage print(summary.simulated(assert(recording.open "lpfm.data")))
function summary.simulated(self)
   local name = (self.head.machine or {}).name
   return name and name:find("^sim") and "# " .. render.simulated(name) or nil
end

-- --- warnings ------------------------------------------------------------------------------------

local function changed_objects(self, out)
   if self.symbols then return end
   for path, o in pairs(self.objects) do
      local id = objects.build_id(path)
      if o.build_id and id and id ~= o.build_id then
         out[#out + 1] = path .. " has changed since the recording: its symbols may be wrong"
      end
   end
end

local GENERATED = "no function names in %s: a JIT compiler made it, and no /tmp/perf-PID.map names it; one is "
   .. "written by " .. [==[python3 -X perf (3.12), node --perf-basic-prof, java -XX:+DumpPerfMapAtExit]==]
   .. ", LuaJIT built with LUAJIT_USE_PERFTOOLS, and by lpfm with LPFM_JITMAP=1 for the scripts that it runs itself"

local function build_id_of(self, path)
   local recorded = self.objects and self.objects[path]
   if recorded and recorded.build_id then return recorded.build_id end
   for _, o in pairs(self.symbols or {}) do
      if o.path == path then return o.build_id end
   end
   return objects.build_id(path)
end

-- Returns the Debian package with the debug symbols of a file that a package installed, or nil.
-- dpkg may know files of /usr by their old names in /.
local function debug_package(path)
   for _, name in ipairs { path, (path:gsub("^/usr", "")) } do
      local pipe = io.popen("dpkg-query -S " .. shell.quote(name) .. " 2>/dev/null")
      local package = pipe:read("*a"):match("^([%w.+-]+)[^\n]*: /")
      pipe:close()
      if package then return package == "libc6" and "libc6-dbg" or package .. "-dbgsym" end
   end
end

-- Tells how to get the names of a stripped object; libdw asks servers if libdebuginfod is there.
local function remedy(self, path)
   local id = build_id_of(self, path)
   if not id then return "" end
   local package = path:find("^/") and objects.build_id(path) == id and debug_package(path)
   local from = package and ("Debian's package %s has them, or "):format(package) or ""
   if (os.getenv("DEBUGINFOD_URLS") or "") == "" then
      return ("; %sa debuginfod server may, if DEBUGINFOD_URLS names it, by the build id %s"):format(from, id)
   end
   return ("; %sa debuginfod server other than those of DEBUGINFOD_URLS, by the build id %s (if libdebuginfod1 is "
      .. "installed)"):format(from, id)
end

local function why_nameless(self, object, why)
   if symbols.is_generated(object) then return GENERATED:format(object) end
   return ("no function names in %s: %s%s"):format(object, symbols.reason(object, why),
      why == "no symbols" and remedy(self, object) or "")
end

-- Adds the objects with unreadable debug information.
local function troubled_objects(self, out)
   local said = {}
   for _, o in pairs(self.symbols or {}) do
      if o.trouble then said[("no source lines or inlined functions of %s: %s"):format(o.path, o.trouble)] = true end
   end
   for _, text in ipairs(tables.keys(said)) do out[#out + 1] = text end
end

local MUCH = 0.05 -- a share of the samples

-- Adds the objects without names that have a large part of the samples.
local function nameless_objects(self, result, out)
   local all = summary.samples(result)
   for object, m in pairs(result.missing) do
      if m.samples > all * MUCH and m.why ~= "no symbol at this address" and m.why ~= "no mapping" then
         out[#out + 1] = why_nameless(self, object, m.why)
      end
   end
end

local PYTHON = "of Python, only the interpreter's functions are named: "
local SILENT = PYTHON .. "Python %s does not write its own; 3.12 and later do, as python3 -X perf"
local TELLING = PYTHON .. "Python %s writes its own as python3 -X perf; record -g shows them"

-- Returns true if there are names of Python functions: the interpreter writes them into a map file.
local function has_python(self)
   for _, o in pairs(self.symbols or {}) do
      for _, f in ipairs(jitmap.is_path(o.path) and o.functions or {}) do
         if tostring(f[3]):find("^py::") then return true end
      end
   end
   return false
end

-- Adds the Python interpreters that hide which functions ran in them.
local function interpreters(self, result, out)
   local said, all = {}, summary.samples(result)
   for object, n in pairs(result.objects) do
      local major, minor = object:gsub("/lib", "/"):match("/python(%d+)%.(%d+)[^/]*$")
      local version = n > all * MUCH and major and ("%s.%s"):format(major, minor)
      if version and not said[version] and not has_python(self) then
         local tells = tonumber(major) * 100 + tonumber(minor) >= 312
         said[version], out[#out + 1] = true, (tells and TELLING or SILENT):format(version)
      end
   end
end

--- Returns the warnings about a recording and a table of its samples.
-- @param self recording
-- @tparam table result of `pfm.analyze.by`
-- @treturn table of strings
-- @usage local s = assert(recording.open "lpfm.data")
-- print(require("pfm.recording.summary").warnings(s, analyze.by(s))[1])
function summary.warnings(self, result)
   local out = self:warnings()
   if result.cut > 0 then out[#out + 1] = render.plural(result.cut, "sample") .. " cut off in damaged blocks" end
   for _, unmet in ipairs(result.unmet) do out[#out + 1] = unmet.text end
   changed_objects(self, out)
   troubled_objects(self, out)
   nameless_objects(self, result, out)
   interpreters(self, result, out)
   for i, text in ipairs(out) do out[i] = render.printable(text) end
   return out
end

--- Returns how many samples are in a table of samples.
-- @tparam table result of `pfm.analyze.by`
-- @treturn number
-- @usage local s = assert(recording.open "lpfm.data")
-- print(require("pfm.recording.summary").samples(analyze.by(s)))
function summary.samples(result)
   local n = 0
   for _, t in pairs(result.totals) do n = n + t.samples end
   return n
end

--- Says which events were sampled, and how often.
-- @param self recording
-- @treturn string
-- @usage print(require("pfm.recording.summary").events(assert(recording.open "lpfm.data")))
function summary.events(self)
   local out = {}
   for i, e in ipairs(self.head.events) do
      -- with a frequency, the period was adapted to the rate of the events
      local rate = (e.unit ~= "ns" or not e.period) and (e.frequency or self.head.frequency)
      local period = not e.period and "?" or e.unit == "ns" and render.time(e.period / 1e9) or render.number(e.period)
      out[i] = e.weighted and ("%s each time"):format(e.name)
         or rate and ("%s about %s times a second"):format(e.name, render.number(rate))
         or ("%s every %s"):format(e.name, period)
   end
   local random = self.head.random
   if random then out[#out] = ("%s, randomized %s"):format(out[#out], random.text) end
   return table.concat(out, ", ")
end

--- Says when the recording was made.
-- @param self recording
-- @treturn string "?" where that is not known
-- @usage print(require("pfm.recording.summary").date(assert(recording.open "lpfm.data")))
function summary.date(self)
   return self.head.time and os.date("%Y-%m-%d %H:%M:%S", self.head.time) or "?"
end

return summary
