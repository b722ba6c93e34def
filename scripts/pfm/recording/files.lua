-- SPDX-License-Identifier: MIT
--- The files that processes have mapped. Each is held open from the first record of it on: when its
-- symbols are read, it may have been deleted or replaced, or its path may be another file's here.
--
-- A file is identified by its path and its identity: the build id; where it has none, "inode
-- DEVICE:INODE SIZE TIME". The inode is not enough: a program that is rebuilt often gets the one
-- that its predecessor had, or is written into the same file.
-- @module pfm.recording.files

local jitmap = require "pfm.jitmap"
local mappings = require "pfm.recording.mappings"
local objects = require "lpfm.symbols"
local fileno = require("posix.stdio").fileno
local readlink = require("posix.unistd").readlink
local resource = require "posix.sys.resource"
local stat = require("posix.sys.stat").stat

local files = {}
files.__index = files

local SHARE = 8 -- files still at their paths are held with at most 1/SHARE of the descriptors

--- Makes an object that holds no files yet.
-- @treturn files
-- @usage print(require("pfm.recording.files").new():file "/bin/sh") --> nil
function files.new()
   local limit = resource.getrlimit(resource.RLIMIT_NOFILE) -- nil where a seccomp filter denies it
   return setmetatable({ held = {}, made = {}, awaited = {}, examined = {}, places = {}, identities = {},
      own = readlink "/proc/self/ns/mnt",
      room = math.min(math.max(limit and limit.rlim_cur or 0, 0), 4096) / SHARE }, files)
end

local function key(path, id)
   return id and path .. "\0" .. id or path
end

local function inode(file)
   local s = stat(file)
   return s and ("inode %d:%d %d %d"):format(s.st_dev, s.st_ino, s.st_size, s.st_mtime)
end

--- Returns what identifies a file.
-- @string file
-- @return identity, or nil: it cannot be read
-- @usage print(require("pfm.recording.files").identity "/bin/sh")
function files.identity(file)
   return objects.build_id(file) or inode(file)
end

--- Tells whether a file is another than one that was identified.
-- @string file
-- @string id the identity; that of a file without a build id has no size and time in early
-- recordings
-- @treturn bool false, too, if the file cannot be read
-- @usage print(require("pfm.recording.files").is_another("/bin/sh", "8f00"))
function files.is_another(file, id)
   local now = files.identity(file)
   return now ~= nil and (now .. " "):sub(1, #id + 1) ~= id .. " "
end

-- --- looking for files ---------------------------------------------------------------------------

-- Returns the root of a process in another mount namespace, nil if it is in this one. The root is
-- held open, so that files in the namespace can be opened even when the process has ended.
local function root_of(self, pid)
   local namespace = readlink(("/proc/%d/ns/mnt"):format(pid))
   if not namespace or namespace == self.own then return nil end
   if not self.places[namespace] then
      local root = io.open(("/proc/%d/root"):format(pid), "re")
      if not root then return nil end
      self.places[namespace] = root
      self.places[#self.places + 1] = ("/proc/self/fd/%d"):format(fileno(root))
   end
   return ("/proc/%d/root"):format(pid)
end

local function exe_of(pid, path)
   local exe = ("/proc/%d/exe"):format(pid)
   local target = readlink(exe)
   return target and target:gsub(" %(deleted%)$", "") == path:gsub(" %(deleted%)$", "") and exe or nil
end

-- Returns the paths by which the file of a mapping may be opened, the surest first.
local function candidates(self, pid, start, stop, path)
   local root, out = root_of(self, pid), {}
   local function add(file) out[#out + 1] = file end
   add(("/proc/%d/map_files/%x-%x"):format(pid, start, stop))
   add(exe_of(pid, path))
   add(root and root .. path or not path:find(" %(deleted%)$") and path or nil)
   return out
end

-- Finds a file with the build id that a record gave, wherever it is.
local function find_build(self, pid, start, stop, path, id)
   if objects.build_id(path) == id then return path end
   local list = candidates(self, pid, start, stop, path)
   for _, place in ipairs(self.places) do list[#list + 1] = place .. path end
   for _, file in ipairs(list) do
      if objects.build_id(file) == id then return file end
   end
end

local function find(self, pid, start, stop, path)
   for _, file in ipairs(candidates(self, pid, start, stop, path)) do
      local number = inode(file)
      if number then
         self.identities[number] = self.identities[number] or files.identity(file)
         return file, self.identities[number]
      end
   end
end

-- Holds a file open; one that is still at its path only while `room` for such files is left.
local function hold(self, path, id, file)
   if file == path then
      if self.room < 1 then return end
      self.room = self.room - 1
   end
   self.held[key(path, id)] = io.open(file, "re") or nil
end

-- Notes the path of the map file that a JIT compiler in a container will write: it leads through
-- the process's root, so that the file can no longer be opened when the process has ended. JIT
-- compilers map memory often: a process is examined once between two calls of look().
local function await_map(self, pid)
   if self.made[pid] or self.examined[pid] then return end
   self.awaited[pid], self.examined[pid] = jitmap.inner_path(pid), true
end

--- Opens the map files that JIT compilers in containers have written by now.
function files:look()
   self.examined = {}
   for pid, path in pairs(self.awaited) do
      self.made[pid] = io.open(path, "re") or nil
      if self.made[pid] then self.awaited[pid] = nil end
   end
end

--- Notes a mapping.
-- @number pid
-- @tparam table m `{start, stop, offset, path, identity}`, without the last where it is not known
-- @treturn ?string the identity of its file, nil if it cannot be read
-- @usage
-- local pid, files = require("lpfm.proc").getpid(), require("pfm.recording.files").new()
-- for _, m in ipairs(require("pfm.symbols").read_maps(pid)) do print(m[4], files:note(pid, m)) end
function files:note(pid, m)
   local start, stop, path, id = m[1], m[2], m[4], m[5]
   if mappings.is_anonymous(path) then await_map(self, pid) end
   if mappings.is_anonymous(path) or path:sub(1, 1) ~= "/" then return nil end
   if id and self.held[key(path, id)] ~= nil then return id end
   local file
   if id then
      file = find_build(self, pid, start, stop, path, id)
      self.held[key(path, id)] = false
   else
      file, id = find(self, pid, start, stop, path)
   end
   if file and not self.held[key(path, id)] then hold(self, path, id, file) end
   return id
end

-- --- opening held files --------------------------------------------------------------------------

local function name_of(held)
   return held and ("/proc/self/fd/%d"):format(fileno(held)) or nil
end

--- Returns the path by which a file that is held can be opened.
-- @string path
-- @string[opt] id its identity
-- @treturn ?string nil: it is not held
function files:file(path, id)
   return name_of(self.held[key(path, id)])
end

--- Returns the path by which the map file of a process in a container can be opened.
-- @number pid
-- @treturn ?string
function files:map_file(pid)
   return name_of(self.made[pid])
end

return files
