-- SPDX-License-Identifier: MIT
--- The available labs: the files of scripts/labs, and files that a teacher wrote. A lab is the
-- table that such a file returns; scripts/labs/README.md describes its fields.
-- @module repl.lab.catalog

local tables = require "pfm.util.tables"
local namespace = require "repl.prompt.namespace"
local nearest = require "pfm.util.nearest"
local text_file = require "pfm.util.text_file"

local catalog = {}

local loaded = {} -- by path
local variants = {} -- loaded labs, by lab and machine

-- Minutes for a page of each kind; a prediction takes three to read, to think and to look at the
-- result.
local MINUTES = { question = 3, task = 5, script = 12, try = 5, reading = 2 }

local function kind_of(page)
   if page.task then return page.kind == "script" and "script" or "task" end
   return page.ask and "question" or page.vary and "try" or "reading"
end

--- Returns how long a page takes.
-- @tparam table page
-- @treturn int minutes
function catalog.minutes_of(page)
   return MINUTES[kind_of(page)]
end

--- Returns how long a lab takes, counted from its pages.
-- @tparam {table,...} pages
-- @treturn int minutes, a multiple of five
function catalog.minutes(pages)
   local sum = 0
   for _, page in ipairs(pages) do sum = sum + catalog.minutes_of(page) end
   return math.ceil(sum / 5) * 5
end

--- Reads the file of a lab, and keeps what it read. The lab's `minutes` are the sum of its pages'.
-- @string path
-- @treturn[1] table the lab, with its `name` and `path`
-- @return[2] nil
-- @treturn[2] string what is wrong with the file
function catalog.read(path)
   if loaded[path] then return loaded[path] end
   local chunk, err = loadfile(path)
   if not chunk then return nil, err end
   local ok, lab = pcall(chunk)
   if not ok then return nil, (tostring(lab):match("^[^\n]*")) end
   if type(lab) ~= "table" then return nil, path .. ": expected 'return { ... }', the table of a lab" end
   lab.name, lab.path = path:match("([^/]+)%.lua$") or path, path
   if type(lab.pages) == "table" then lab.minutes = lab.minutes or catalog.minutes(lab.pages) end
   loaded[path] = lab
   return lab
end

--- Returns the labs in a folder, by their numbers. A file that returns no `pages` is not a lab.
-- @string dir
-- @treturn {table,...} labs
-- @treturn {string,...} what is wrong with files that cannot be read
function catalog.folder(dir)
   local labs, errors = {}, {}
   for _, file in ipairs(namespace.entries(dir) or {}) do
      if file:find("%.lua$") then
         local lab, err = catalog.read(dir .. "/" .. file)
         if not lab then
            errors[#errors + 1] = err
         elseif lab.pages then
            labs[#labs + 1] = lab
         elseif lab.title then
            errors[#errors + 1] = lab.path .. ": field 'pages' is missing"
         end
      end
   end
   table.sort(labs, function(a, b)
      local i, j = tonumber(a.number) or 0, tonumber(b.number) or 0
      return i < j or (i == j and a.name < b.name)
   end)
   return labs, errors
end

-- --- labs on real machines -----------------------------------------------------------------------

--- The real machines that labs can run on; all other labs run on "sim".
catalog.real = { "perf", "linux" }

-- Returns the file of a lab's pages for real machines.
local function real_path(lab)
   return (lab.path:gsub("([^/]+)$", "real/%1"))
end

--- Returns true if a lab has pages for real machines.
-- @tparam table lab
-- @treturn boolean
function catalog.is_real(lab)
   return text_file.all(real_path(lab)) ~= nil
end

--- Returns a lab for a machine. For a real machine its pages and parameters come from
-- `real/NAME.lua` beside its file, and its name is NAME-MACHINE.
-- @tparam table lab
-- @string machine "sim", "perf" or "linux"
-- @treturn[1] table a lab
-- @return[2] nil
-- @treturn[2] string why there is none
-- @treturn[2] ?boolean true if the reason is that its file cannot be read
function catalog.on(lab, machine)
   if machine == (lab.machine or "sim") then return lab end
   if lab.machine then return nil, ("lab %s runs on %s, and not on %s"):format(lab.name, lab.machine, machine) end
   local name = lab.name .. "-" .. machine
   if variants[lab] and variants[lab][name] then return variants[lab][name] end
   if not catalog.is_real(lab) then
      return nil, ("lab %s runs on the simulated computer alone"):format(lab.name)
   end
   local real, err = catalog.read(real_path(lab))
   if not real then return nil, err, true end
   if real.machines and not real.machines[machine] then
      local where = { "sim" }
      for _, one in ipairs(catalog.real) do where[#where + 1] = real.machines[one] and one or nil end
      return nil, ("lab %s does not run on %s, but on %s"):format(lab.name, machine, table.concat(where, " and "))
   end
   local out = setmetatable({ name = name, machine = machine, params = { machine = machine } }, { __index =
   function(_, k)
      if real[k] ~= nil then return real[k] end
      return lab[k]
   end })
   for _, params in ipairs { real.params, (real.on or {})[machine] } do
      for k, v in pairs(params) do out.params[k] = v end
   end
   variants[lab] = variants[lab] or {}
   variants[lab][name] = out
   return out
end

--- Says how to continue with a lab on a real machine after the simulated one.
-- @tparam table lab
-- @treturn ?string a sentence
function catalog.more_of(lab)
   if lab.machine or not catalog.is_real(lab) then return nil end
   for _, machine in ipairs(io.open("/dev/perfmon") and { "linux", "perf" } or { "perf" }) do
      if catalog.on(lab, machine) then
         return ("'lpfm lab %s --machine %s' goes on with real programs on this computer."):format(lab.name, machine)
      end
   end
   return ("It has a second part in a real kernel: 'make vm LAB=%s' in lpfm's source tree."):format(lab.name)
end

-- --- all labs ------------------------------------------------------------------------------------

-- Returns the folder of lpfm's labs, which is beside the library, wherever that is installed.
local function home()
   for dir in package.path:gmatch("([^;]*)%?%.lua") do
      if namespace.entries(dir .. "labs") then return dir .. "labs" end
   end
   error("the labs are not installed: there is no folder 'labs' beside the library", 0)
end

--- Returns the labs that come with lpfm.
-- @treturn {table,...}
function catalog.all()
   local labs, errors = catalog.folder(home())
   if errors[1] then error(errors[1], 0) end
   return labs
end

--- Returns the names of all labs.
-- @treturn {string,...} in the order of their numbers
function catalog.names()
   return tables.map(catalog.all(), "name")
end

-- Returns the lab for a real machine that a name such as "bias-perf" stands for.
local function real_of(name)
   local base, machine = name:match("^(.+)%-(%a+)$")
   for _, real in ipairs(catalog.real) do
      local lab = machine == real and catalog.find(base)
      if lab then return catalog.on(lab, machine) end
   end
end

--- Finds a lab by its name, number or file; a name that ends with "-perf" or "-linux" is a lab on
-- that machine.
-- @string name
-- @treturn[1] table
-- @return[2] nil
-- @treturn[2] string what is wrong
function catalog.find(name)
   if name:find("[/.]") then return catalog.read(name) end
   local list = catalog.all()
   for _, lab in ipairs(list) do
      if lab.name == name or tostring(lab.number) == name then return lab end
   end
   local real = real_of(name)
   if real then return real end
   return nil, ("there is no lab '%s'%s; 'lpfm lab' lists them"):format(name, nearest.hint(name, catalog.names()))
end

return catalog
