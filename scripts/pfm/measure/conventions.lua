-- SPDX-License-Identifier: MIT
--- Whether frame pointers suffice to find the callers of samples: all sampled code has to keep
-- frame pointers. Only the C library need not: its callers are found otherwise, and it seldom calls
-- back.
-- @module pfm.measure.conventions

local host = require "pfm.measure.host"
local objects = require "lpfm.symbols"
local symbols = require "pfm.symbols"
local unistd = require "posix.unistd"

local conventions = {}

local SCRIPTS = 5              -- scripts that are interpreters in turn: the kernel's limit
local HEAD = 4096              -- bytes of a script that are looked at
local C_LIBRARY = { ["libc"] = true, ["libm"] = true, ["libpthread"] = true, ["librt"] = true, ["libdl"] = true,
   ["ld-linux"] = true, ["ld-linux-x86-64"] = true, ["ld-linux-aarch64"] = true, ["libgcc_s"] = true, ["ld"] = true }
local FOLDERS = { "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/lib/x86_64-linux-gnu",
   "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/i386-linux-gnu",
   "/usr/lib/i386-linux-gnu" }

local function base_name(path)
   return path:match("([^/]+)$") or path
end

local function is_c_library(name)
   return C_LIBRARY[base_name(name):match("^(.-)[.-]%d*%.?so") or base_name(name):match("^(.-)%.so") or ""]
end

-- --- libraries -----------------------------------------------------------------------------------

local function find_library(name, paths, of)
   if name:find("/", 1, true) then return name end
   local list, own = {}, (of:match("^(.*)/[^/]*$") or "."):gsub("%%", "%%%%")
   for _, text in ipairs { os.getenv("LD_LIBRARY_PATH") or "", unpack(paths) } do
      for folder in text:gmatch("[^:]+") do
         list[#list + 1] = (folder:gsub("%${?ORIGIN}?", own))
      end
   end
   for _, folder in ipairs(FOLDERS) do list[#list + 1] = folder end
   for _, folder in ipairs(list) do
      if unistd.access(folder .. "/" .. name, "r") then return folder .. "/" .. name end
   end
end

-- Returns why frame pointers do not suffice in an ELF file or its libraries, or nil.
local function of_file(path, seen)
   if seen[path] or is_c_library(path) then return nil end
   seen[path] = true
   local has = objects.frame_pointers(path)
   if has == false then return base_name(path) .. " has no frame pointers" end
   if has == nil then return base_name(path) .. " does not say whether it has frame pointers" end
   local needs = objects.needs(path) or { libraries = {} }
   for _, name in ipairs(needs.libraries) do
      if not is_c_library(name) then
         local library = find_library(name, needs.paths, path)
         local obstacle = library and of_file(library, seen) or not library and name .. " was not found"
         if obstacle then return obstacle end
      end
   end
end

-- --- programs ------------------------------------------------------------------------------------

-- Returns the interpreter of a script, which may be a script, too; nil if the file is no script.
local function interpreter_of(path)
   local file = io.open(path, "rb")
   local line = file and (file:read(HEAD) or ""):match("^#!([^\n]*)")
   if file then file:close() end
   if not line then return nil end
   local program, rest = line:match("^%s*(%S+)%s*(.*)$")
   if program and base_name(program) == "env" then
      return host.find(rest:gsub("^%-S%s*", ""):match("^[^%s=]+") or "") or program
   end
   return program
end

-- Returns the program that a command executes first: PROGRAM for `sh -c "exec PROGRAM ..."`.
local function program_of(command)
   local line = command[2] == "-c" and command[3] or ""
   local word = not line:find("[|;&`$()\n]") and line:match("^exec ([^%s'\"]+)")
   local name = line:find('^exec "$@"') and command[5] or word or command[1]
   return host.find(name), name
end

local function of_command(command)
   local path, name = program_of(command)
   for _ = 1, SCRIPTS do
      local interpreter = path and interpreter_of(path)
      if not interpreter then break end
      path = interpreter
   end
   local needs = path and objects.needs(path)
   if not needs then return base_name(path or name) .. " cannot be looked into" end
   path = unistd.readlink(path) and unistd.readlink(path):find("^/") and unistd.readlink(path) or path
   local obstacle = of_file(path, {})
   if obstacle then return obstacle end
   return needs.starts and base_name(path) .. " may start programs without frame pointers" or nil
end

-- Returns why frame pointers do not suffice in a running process, by the files that it has mapped.
local function of_process(pid)
   for _, m in ipairs(symbols.read_maps(pid) or {}) do
      local obstacle = m[4]:find("^/") and not is_c_library(m[4]) and of_file(m[4], {})
      if obstacle then return obstacle end
   end
end

--- Says why frame pointers do not suffice.
-- @tparam table spec of `profile.prepare`
-- @treturn string the obstacle, in words; nil: they suffice
-- @usage print(require("pfm.measure.conventions").obstacle { command = { "/bin/sh" } })
function conventions.obstacle(spec)
   if spec.cpus then return "any program may run on the CPUs" end
   if spec.command then return of_command(spec.command) end
   for _, pid in ipairs(spec.tids or { unistd.getpid() }) do
      local obstacle = of_process(pid)
      if obstacle then return obstacle end
   end
end

return conventions
