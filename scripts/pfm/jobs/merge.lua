-- SPDX-License-Identifier: MIT
--- Many recordings in one file.
--
-- What is merged stays as it was recorded, source after source in the order of their ids; only the
-- symbols of objects that several have in common are put together. So it does not matter in which
-- order recordings are merged, or in how many steps: the file is the same to the byte, and a
-- recording that comes twice is there once. Memory is needed for the distinct symbols alone.
-- recording/format.md describes the file.
-- @module pfm.jobs.merge

local chunks = require "lpfm.chunks"
local errno = require "posix.errno"
local fileno = require("posix.stdio").fileno
local identity = require "pfm.recording.identity"
local layout = require "pfm.recording.layout"
local lock = require "pfm.util.lock"
local objects = require "pfm.jobs.merge.objects"
local text_file = require "pfm.util.text_file"
local reader = require "pfm.recording.reader"
local render = require "pfm.render"
local expect = require "pfm.util.expect"
local stat = require "posix.sys.stat"
local unistd = require "posix.unistd"

local merge = {}

local HEAD_SIZE = identity.HEAD_SIZE

-- --- finding the recordings in files -------------------------------------------------------------

-- Returns the value in a chunk; nil if a chunk with this tag may not hold it.
local function value_at(file, place, tag)
   local value = render.from_json(file:body(place.at, place.length))
   return layout.checks[tag](value) and value or nil
end

-- Returns the sources (recordings) of a merged file; each ends where the next begins.
local function merged_sources(path, file, found)
   if not found.done then return nil, "is cut off: its end is missing" end
   local out = {}
   for i, place in ipairs(found.sources) do
      local value, after = value_at(file, place, "SRCE"), found.sources[i + 1]
      if not value then return identity.damaged("damaged", place.at) end
      out[i] = { id = value.id, objects = value.objects, path = path, from = place.at + place.length,
         to = after and after.at - HEAD_SIZE or found.done, left_out = {} }
   end
   return out
end

local function plain_source(path, file, found, head)
   return { { id = identity.id(file, found, head), objects = {}, path = path,
      from = 0, to = math.huge, left_out = {}, unended = not found.ended } }
end

-- Marks symbols of a recording as shared: they are not copied with it.
local function share(source, key, place)
   source.objects[#source.objects + 1] = key
   source.left_out[place.at] = true
end

-- Returns the shared symbols of a file with their keys, or nil and what is wrong. In a merged file,
-- those that belong to one source are not among them.
local function shared_symbols(file, found, sources, merged)
   local out = {}
   for _, place in ipairs(found.syms) do
      local value = value_at(file, place, "SYMS")
      if not value then return identity.damaged("damaged", place.at) end
      local key
      if merged then key = value.key else key = objects.key(value) end
      if key then
         out[#out + 1] = { key = key, value = value }
         if not merged then share(sources[1], key, place) end
      end
   end
   if not merged then table.sort(sources[1].objects) end
   return out
end

-- Returns the sources in a file and its shared symbols, or nil and why the file is left out.
local function sources_of(path, file)
   local found, err = identity.look_over(file)
   if not found then return nil, err end
   local head = identity.head_at(file, found.head)
   local sound, why = reader.check { path = path, head = head }
   if not sound then return nil, why end
   local sources
   if head.merged then
      sources, err = merged_sources(path, file, found)
   else
      sources = plain_source(path, file, found, head)
   end
   if not sources then return nil, err end
   local symbols
   symbols, err = shared_symbols(file, found, sources, head.merged)
   return symbols and sources, err or symbols
end

-- --- gathering the recordings --------------------------------------------------------------------

local function leave_out(gathered, path, why)
   local known = why:sub(1, #path) == path
   gathered.problems[#gathered.problems + 1] = known and why or path .. " " .. why
end

local function take(gathered, sources, symbols)
   for _, s in ipairs(symbols) do gathered.objects:add(s.key, s.value) end
   for _, source in ipairs(sources) do
      if gathered.by_id[source.id] then
         gathered.twice = gathered.twice + 1
      else
         gathered.by_id[source.id] = true
         gathered.sources[#gathered.sources + 1] = source
         if source.unended then gathered.unended[#gathered.unended + 1] = source.path end
      end
   end
end

local function gather(paths)
   local gathered = { objects = objects.new(), by_id = {}, sources = {}, problems = {}, unended = {}, twice = 0 }
   for _, path in ipairs(paths) do
      local file, err = chunks.open(path)
      if file then
         local sources, symbols = sources_of(path, file)
         file:close()
         if sources then take(gathered, sources, symbols) else leave_out(gathered, path, symbols) end
      else
         leave_out(gathered, path, err)
      end
      collectgarbage() -- frees what is not needed any more of a file
   end
   table.sort(gathered.sources, function(a, b) return a.id < b.id end)
   return gathered
end

-- --- writing -------------------------------------------------------------------------------------

local function append(out, tag, body)
   expect.value(text_file.write(out, chunks.head(tag, body), body))
end

-- Copies a chunk as it is; returns false if the file has become too short for it.
local function copy_chunk(file, at, length, out)
   expect.value(text_file.write(out)) -- file:copy() writes to the descriptor, past the buffer
   return expect.value(file:copy(at - HEAD_SIZE, HEAD_SIZE + length, fileno(out))) == HEAD_SIZE + length
end

local function copy_source(source, out)
   local file = expect.value(chunks.open(source.path))
   file:go(source.from)
   local at = source.from
   while at < source.to do
      local tag, body, length = file:next()
      if not tag and body == "end" and source.to == math.huge then break end
      local whole = tag and (source.left_out[body] or copy_chunk(file, body, length, out))
      if not whole then error(("%s was changed while it was merged"):format(source.path), 0) end
      at = body + length
   end
   file:close()
end

local function write_file(gathered, out)
   append(out, "HEAD", ('{"version":%d,"merged":true,"byte_order":"%s"}'):format(layout.MERGED, chunks.byte_order))
   for body in gathered.objects:bodies() do append(out, "SYMS", body) end
   for _, source in ipairs(gathered.sources) do
      append(out, "SRCE", ('{"id":"%s","objects":%s}'):format(source.id, render.json(source.objects, true)))
      copy_source(source, out)
   end
   append(out, "DONE", ('{"sources":%d}'):format(#gathered.sources))
end

-- Returns the device and inode of the file at a path, or nil; and its bytes.
local function file_at(path)
   local found = stat.stat(path)
   if found then return ("%.0f %.0f"):format(found.st_dev, found.st_ino), found.st_size end
end

-- Opens a file without emptying it, and makes it if there is none.
local function open_or_make(path)
   local made, why = io.open(path, "ab")
   if not made then error("cannot write " .. why, 0) end
   made:close()
   local out, err, code = io.open(path, "r+b") -- file:copy() cannot append
   if not out and code ~= errno.ENOENT then error("cannot write " .. err, 0) end
   return out -- nil if another process has just removed it
end

-- Opens the file beside the result that becomes it: the result may be one of the inputs, and no
-- reader sees a part. It is locked, as of two processes that merge into one file the later would
-- replace what the other has written.
local function claim(path)
   local there = stat.stat(path)
   if there and stat.S_ISREG(there.st_mode) == 0 then error(("cannot write %s: it is no file"):format(path), 0) end
   if not stat.stat "/proc/self/fd" then error(("cannot write %s: /proc is not mounted"):format(path), 0) end
   local part = path .. ".part"
   while true do
      local out = open_or_make(part)
      local free, unlocked = true, nil
      if out then free, unlocked = lock(out) end
      if not free then
         out:close()
         error(("cannot write %s: another process is merging into it"):format(path), 0)
      end
      local id, bytes = file_at(part)
      local own = out and id == file_at(("/proc/self/fd/%d"):format(fileno(out)))
      if own and bytes == 0 then return out, part, unlocked end
      if own then expect.value(os.remove(part)) end -- a process that was killed left it
      if out then out:close() end
   end
end

-- Writes the recordings, and puts the file in its place; returns what was gathered, and the bytes.
local function make(paths, out, part, path)
   local gathered = gather(paths)
   if #gathered.sources == 0 then
      error("there is nothing to merge: " .. table.concat(gathered.problems, "; "), 0)
   end
   local ok, why = pcall(write_file, gathered, out)
   local bytes = out:seek()
   if ok then ok, why = unistd.fsync(fileno(out)) end
   if ok then ok, why = os.rename(part, path) end
   if not ok then error(("cannot write %s: %s"):format(path, tostring(why):gsub("^.*: ", "")), 0) end
   return gathered, bytes
end

--- Returns a recording's id, which merging keeps: files with the same chunks are one recording.
-- @function merge.id
-- @string path
-- @treturn ?string 32 hexadecimal digits; nil for a file that is damaged or not one recording
-- @usage assert(#require("pfm.jobs.merge").id("lpfm.data") == 32)
merge.id = identity.of

--- Removes duplicates from recordings.
-- @function merge.distinct
-- @tparam {recording,...} recordings of `recording.open`, or the `sources` of one
-- @treturn {recording,...} without duplicates
-- @treturn {table,...} pairs: a duplicate, and the recording that stays
-- @usage local a, b = assert(recording.open "lpfm.data"), assert(recording.open "lpfm.data")
-- print(#require("pfm.jobs.merge").distinct { a, b }) --> 1
merge.distinct = identity.distinct

--- Merges recordings, and files that were merged, into one file. Those that are damaged, cut or no
-- recordings are left out.
-- @tparam {string,...} paths
-- @string out the file; it may be one of them
-- @treturn table `sources` (how many recordings are in the file), `twice` (how many came again),
-- `bytes`, `problems` (in words: what was left out, and why), `unended` (recordings in the file
-- without a proper end), `unlocked` (why the file could not be locked: another process that merged
-- into it would not have been noticed)
-- @raise where there is nothing to merge, the file cannot be written, or another process is merging
-- into it
-- @usage
-- local record, merge = require "pfm.record", require "pfm.jobs.merge"
-- record.run({ command = { "true" }, events = "page-faults", period = 1 }, "one.data")
-- print(merge.files({ "one.data", "one.data" }, "all.data").sources) --> 1
function merge.files(paths, out)
   local file, part, unlocked = claim(out)
   local ok, gathered, bytes = pcall(make, paths, file, part, out)
   if not ok then os.remove(part) end
   file:close()
   if not ok then error(gathered, 0) end
   return { sources = #gathered.sources, twice = gathered.twice, problems = gathered.problems,
      unended = gathered.unended, bytes = bytes, unlocked = unlocked }
end

expect.signatures("merge", merge, {
   id = "path: path",
   distinct = "recordings: [{head}]",
   files = "paths: [path]; out: path",
})

return merge
