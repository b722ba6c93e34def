-- SPDX-License-Identifier: MIT
-- Compares kernel/linux/abi/perfmon.syz.txt, the ioctls as syzkaller knows them, with the headers:
-- ioctls and their numbers, the order and sizes of the structures' fields, and flags.
-- One interpreter: headers are read.

local c = require "support.c"
local files = require "support.files"
local headers = require "support.headers"

local read = files.read

local SCALARS = { int8 = 1, int16 = 2, int32 = 4, int64 = 8, pid = 4 }

-- Returns "flags" and { "x", "int32" } of "flags[x, int32]"; commas in inner brackets do not split.
local function parse_type(text)
   local name, inside = text:match("^([%w_]+)(%b[])$")
   local parts = {}
   for part in (inside and inside:sub(2, -2) .. "," or ""):gsub("(%b[])", function(b) return (b:gsub(",", "\1")) end)
      :gmatch("%s*([^,]+),") do
      parts[#parts + 1] = (part:gsub("\1", ","))
   end
   return name or text, parts
end

-- Returns the size of a type of syzkaller's language, of which it knows what the description uses.
local function size_of(text)
   local name, parts = parse_type(text)
   if name == "array" then
      return size_of(parts[1]) * tonumber(parts[2])
   elseif name == "string" then
      return tonumber(parts[2])
   elseif name == "ptr64" then
      return 8
   elseif name == "flags" or name == "const" or name == "bytesize" then
      return size_of(parts[2])
   end
   return assert(SCALARS[name], "a type unknown to this spec: " .. text)
end

-- Returns structures: lists of { name, size }; ioctls: { name, number, argument }; names of flags.
local function parse(text)
   local found, body = { structures = {}, ioctls = {}, flags = {} }, nil
   for line in text:gmatch("[^\n]+") do
      local field, kind = line:match("^\t([%w_]+)\t(.+)$")
      local opened = line:match("^([%w_]+) {$")
      local call, number, argument = line:match("^ioctl%$PFM_([%w_]+)%(fd [%w_]+, cmd const%[(0x%x+)%], arg (.*)%)")
      if opened then
         body = {}
         found.structures[opened] = body
      elseif field then
         body[#body + 1] = { name = field, size = size_of(kind) }
      elseif call then
         found.ioctls[#found.ioctls + 1] = { name = call, number = number, argument = argument }
      end
      for flag in (line:match("^pfm_[%w_]+ = (.*)") or ""):gmatch("PFM_[%w_]+") do
         found.flags[flag] = true
      end
   end
   return found
end

-- Returns the claims, constant expressions of C, that the compiler finds false; "" if none is.
local function wrong(claims)
   local program = { "#include <stddef.h>\n#include \"perfmon/perfmon.h\"\n#include \"perfmon/perfmon_dfl_smpl.h\"\n",
      "#include \"perfmon_ioctl.h\"\n",
      "typedef struct pfm_ioc_create pfm_ioc_create;\ntypedef struct pfm_ioc_why pfm_ioc_why;\n" }
   for _, claim in ipairs(claims) do
      program[#program + 1] = ('_Static_assert(%s, "wrong");\n'):format(claim)
   end
   local base = os.tmpname()
   files.write(base .. ".c", table.concat(program))
   local out = c.sh(("LD_PRELOAD= gcc -Ikernel/include -Ikernel/linux/abi -fsyntax-only %s.c 2>&1"):format(base))
   os.remove(base)
   os.remove(base .. ".c")
   local list = {}
   for line in out:gmatch("error:[^\n]*\n[^\n]*") do
      list[#list + 1] = line:match("_Static_assert%((.-), \"wrong\"%)") or line
   end
   return table.concat(list, "\n")
end

describe("the description of the ioctls for syzkaller", function()
   local description = parse(read("kernel/linux/abi/perfmon.syz.txt"))

   it("has every ioctl, and no other", function()
      local nrs = read("kernel/linux/abi/perfmon_ioctl.h"):match("enum pfm_ioc_nr (%b{})"):gsub("/%*.-%*/", "")
      local declared, described = {}, {}
      for name in nrs:gmatch("PFM_NR_([%w_]+)") do
         declared[name] = true
      end
      for _, ioctl in ipairs(description.ioctls) do
         described[(ioctl.name:gsub("_4$", ""))] = true
      end
      assert.is_true(next(declared) ~= nil)
      assert.same(declared, described)
   end)

   it("has their numbers, with the number of elements", function()
      local claims = {}
      for _, ioctl in ipairs(description.ioctls) do
         local elements = ioctl.argument:match("array%[[%w_]+, (%d+)%]") or "0"
         local name = ioctl.name:gsub("_4$", "")
         claims[#claims + 1] = ("%s == PFM_IOC(PFM_NR_%s, %s)"):format(ioctl.number, name, elements)
      end
      assert.equal("", wrong(claims))
      -- a false claim is found
      assert.not_equal("", wrong { "0xc001b700 == PFM_IOC(PFM_NR_WRITE_PMCS, 2)" })
   end)

   it("has the structures, field by field", function()
      local claims = {}
      for name, fields in pairs(description.structures) do
         local at = 0
         for _, field in ipairs(fields) do
            claims[#claims + 1] = ("offsetof(%s, %s) == %d"):format(name, field.name, at)
            claims[#claims + 1] = ("sizeof(((%s *)0)->%s) == %d"):format(name, field.name, field.size)
            at = at + field.size
         end
         claims[#claims + 1] = ("sizeof(%s) == %d"):format(name, at)
      end
      assert.is_true(#claims > 150)
      assert.equal("", wrong(claims))
      assert.not_equal("", wrong { "offsetof(pfarg_pmd_t, reg_value) == 4" })
   end)

   it("has every structure that an ioctl takes", function()
      for _, ioctl in ipairs(description.ioctls) do
         local structure = ioctl.argument:match("(pf[%w_]+)")
         assert.is_true(structure == nil or description.structures[structure] ~= nil, ioctl.name)
      end
   end)

   it("knows every flag of contexts, registers and sets, and no other", function()
      local constants, missing = headers.read("perfmon.h", { mmap = true, munmap = true }).constants, {}
      constants.PFM_IOC_BY_NAME = 1
      for name in pairs(constants) do
         -- flags of one processor (PFM_ITA_FL_) and old spellings are not wanted
         local wanted = name:match("^PFM_FL_") or name:match("^PFM_REGFL_") or name:match("^PFM_SETFL_")
         if wanted and name ~= "PFM_REGFL_NO_64BIT_EMUL" and not description.flags[name] then
            missing[#missing + 1] = name
         end
      end
      assert.equal("", table.concat(missing, " "))
      for name in pairs(description.flags) do
         assert.is_number(constants[name], name)
      end
   end)
end)
