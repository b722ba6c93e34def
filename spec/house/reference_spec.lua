-- SPDX-License-Identifier: MIT
-- The reference: everything public is in it, has an example, and the examples run; help() and the
-- manual page are made from it.

local dirent = require "posix.dirent"
local lpfm = require "lpfm"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local commands = require "repl.command.rows"
local doc = require "pfm.doc"
local files = require "support.files"
local handles = require "support.handles"
local reference = require "pfm.manual"

local descriptors = handles.settled()

-- What is public follows from the path: modules of C, scripts/pfm/NAME.lua, and of parts
-- scripts/pfm/PART/NAME.lua.
local function is_public(name)
   return name:find("^lpfm") ~= nil or name:find("^pfm%.[%w_]+$") ~= nil
      or name:find("^pfm%.jobs%.[%w_]+$") ~= nil or name:find("^pfm%.fleet%.[%w_]+$") ~= nil
      or name == "pfm.oprofile.oprofile"
end

-- Modules without examples to run: pfm.ffi needs LuaJIT; pfm.ffi.samples is in pfm.ffi's examples.
local elsewhere = { ["pfm.ffi"] = not rawget(_G, "jit"), ["pfm.ffi.samples"] = true }

-- Returns the function that the prompt has by this name.
local function of_prompt(name)
   for _, item in ipairs(doc.all()) do
      local module, own = item.name:match("^(.*)%.([%w_]+)$")
      if item.prompt == name then return require(module)[own] end
   end
end

-- The globals of examples: the prompt's, and public modules by their last names. Examples require
-- private modules, except for the examples of these modules.
local environment = setmetatable({}, { __index = function(_, name)
   if _G[name] ~= nil then return _G[name] end
   local function_of_prompt = of_prompt(name)
   if function_of_prompt then return function_of_prompt end
   for _, prefix in ipairs { "pfm.", "pfm.jobs.", "pfm.fleet.", "", "lpfm." } do
      local ok, module = pcall(require, prefix .. name)
      if ok then return module end
   end
end })

environment.print = function() end

-- Loads an example, which is a chunk or an expression.
local function load_example(text, name, module)
   local code = loadstring("return " .. text, "=" .. name) or assert(loadstring(text, "=" .. name))
   local own = module.private and module.name:match("[%w_]+$")
   return setfenv(code, setmetatable({}, { __index = function(_, key)
      local found = environment[key]
      return found == nil and key == own and require(module.name) or found
   end }))
end

-- The examples run in a folder of their own, with a recording in it.
describe("the example of", function()
   local home, folder = unistd.getcwd(), nil
   local path, cpath = package.path, package.cpath

   local function absolute(list)
      return ((";" .. list):gsub(";([^/;])", ";" .. home .. "/%1"):sub(2))
   end

   setup(function()
      package.path, package.cpath = absolute(path), absolute(cpath)
      folder = assert(stdlib.mkdtemp("/tmp/reference.XXXXXX"))
      assert(unistd.chdir(folder))
      assert(lpfm.machine("perf"))
      require("repl.command.record").call { command = { "sh", "-c", "ls -lR /etc >/dev/null 2>&1" }, period = 1e5 }
   end)
   before_each(function() assert(lpfm.machine("perf")) end)
   teardown(function()
      for name in dirent.files(folder) do os.remove(folder .. "/" .. name) end
      assert(unistd.chdir(home))
      assert(unistd.rmdir(folder))
      package.path, package.cpath = path, cpath
   end)

   for _, module in ipairs(reference) do
      for _, item in ipairs(module.items) do
         for _, usage in ipairs(elsewhere[module.name] and {} or item.usages) do
            it(item.name .. " runs", function()
               load_example(usage, item.name, module)()
            end)
         end
      end
   end
end)

describe("the reference", function()
   it("has an example for every public function", function()
      local missing = {}
      for _, module in ipairs(reference) do
         for _, item in ipairs(module.items) do
            if item.kind == "function" and #item.usages == 0 and is_public(module.name) then
               missing[#missing + 1] = item.name
            end
         end
      end
      assert.equal("", table.concat(missing, " "))
   end)

   local function check_documented(place, prefix, missing)
      for name, value in pairs(place) do
         if type(value) == "function" and type(name) == "string" and not name:find("^_") then
            local full = prefix .. name
            if not doc.text(full) then missing[#missing + 1] = full end
         end
      end
   end

   it("has every function of the C modules, and every method", function()
      local missing = {}
      check_documented(lpfm, "lpfm.", missing)
      for _, name in ipairs { "proc", "samples", "symbols" } do
         check_documented(require("lpfm." .. name), "lpfm." .. name .. ".", missing)
      end
      for key, meta in pairs(debug.getregistry()) do
         local class = type(key) == "string" and key:match("^lpfm%.(%w+)$")
         if class and type(meta) == "table" and type(rawget(meta, "__index")) == "table" then
            check_documented(meta.__index, class .. ":", missing)
         end
      end
      table.sort(missing)
      assert.equal("", table.concat(missing, " "))
   end)

   it("names functions as they are called: those of a module by a dot, methods by a colon", function()
      local wrong = {}
      for _, module in ipairs(reference) do
         for _, item in ipairs(is_public(module.name) and not elsewhere[module.name] and module.items or {}) do
            local of, own = item.name:match("^(.*)%.([%w_]+)$")
            local ok, exports = pcall(require, of or "")
            if item.kind == "function" and ok and not exports[own] then wrong[#wrong + 1] = item.name end
         end
      end
      assert.equal("", table.concat(wrong, " "))
      for _, name in ipairs { "lpfm.chunks:next", "pfm.recording:sizes", "lpfm.chunks.open", "pfm.program:create" } do
         assert.equal(1, doc.text(name):find(name .. "(", 1, true), name)
      end
   end)

   -- Returns the names of a function's parameters. A function with checked arguments is in an
   -- upvalue of the function that checks them.
   local function parameters_of(fn, method)
      for i = 1, 9 do
         local name, value = debug.getupvalue(fn, i)
         if name == "fn" then return parameters_of(value, method) end
      end
      local info, out = debug.getinfo(fn, "u"), {}
      for i = 1, info.nparams do out[i] = debug.getlocal(fn, i) end
      if info.isvararg then out[#out + 1] = "..." end
      if method and out[1] == "self" then table.remove(out, 1) end
      return table.concat(out, " ")
   end

   if rawget(_G, "jit") then -- PUC Lua does not tell the names of parameters
      it("names the arguments that functions have", function()
         for _, module in ipairs(reference) do
            local ok, exports = pcall(require, module.name)
            for _, item in ipairs(ok and is_public(module.name) and module.items or {}) do
               local fn = type(exports) == "table" and rawget(exports, item.name:match("[%w_]+$"))
               if type(fn) == "function" and debug.getinfo(fn, "S").what == "Lua" then
                  local names = item.args:gsub("=[^%],)]+", ""):gsub("[^%w_.]+", " "):gsub("^ ", ""):gsub(" $", "")
                  assert.equal(parameters_of(fn, item.name:find ":"), names, item.name)
               end
            end
         end
      end)
   end

   it("has no comment that LDoc would end at an option's two dashes", function()
      for line in io.popen("git grep -nE '^--- .* --[a-z]' -- 'scripts/*.lua' 'repl/*.lua'"):lines() do
         error(line, 0)
      end
   end)

   it("has no module that needs another one to be loaded first", function()
      local support = require "support.c"
      local program = ("%s/%s/lpfm"):format(os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit")
      local names = {}
      for path in io.popen("cd scripts && find pfm -name '*.lua'"):lines() do
         names[#names + 1] = path:gsub("%.lua$", ""):gsub("/", ".")
      end
      for _, module in ipairs(reference) do
         if module.name:find "^lpfm" and pcall(require, module.name) then names[#names + 1] = module.name end
      end
      assert.is_true(#names > 100, #names .. " modules")
      for _, name in ipairs(names) do
         local out = support.sh(("%s -e 'require \"%s\"'"):format(program, name))
         if not (out:find("needs LuaJIT", 1, true) and not rawget(_G, "jit")) then assert.equal("", out, name) end
      end
   end)

   it("has every function that a module of the script library exports", function()
      local missing = {}
      for _, module in ipairs(reference) do
         local short = is_public(module.name) and module.name:find("^pfm%.")
         local ok, exports = pcall(require, module.name)
         if short and ok and type(exports) == "table" and not elsewhere[module.name] then
            check_documented(exports, module.name .. ".", missing)
         end
      end
      table.sort(missing)
      assert.equal("", table.concat(missing, " "))
   end)
end)

describe("lpfm.help", function()
   it("knows functions, methods, objects and modules by name and by value", function()
      local ctx = assert(lpfm.create {})
      local by_name = lpfm.help("context:read_pmds")
      assert.truthy(by_name:find("3.1.4", 1, true))
      assert.equal(by_name, lpfm.help("ctx.read_pmds"))
      assert.equal(by_name, lpfm.help("read_pmds"))
      assert.equal(by_name, lpfm.help(ctx.read_pmds))
      assert.equal(lpfm.help("context"), lpfm.help(ctx))
      assert.equal(lpfm.help("lpfm.create"), lpfm.help(lpfm.create))
      assert.equal(lpfm.help("pfm.count"), lpfm.help(require "pfm.count"))
      ctx:close()
   end)

   it("tells of a public function, where a private module has its name or a function of its own for it", function()
      for _, name in ipairs { "pfm.analyze.phases", "pfm.analyze.keys", "pfm.measure.contexts",
         "pfm.recording.together" } do
         local module, own = name:match("^(.*)%.(.*)$")
         assert.equal(name .. "(", lpfm.help(name):sub(1, #name + 1))
         assert.equal(lpfm.help(name), lpfm.help(require(module)[own]))
      end
      assert.equal("pfm.recording:programs()", lpfm.help("pfm.recording:programs"):match("^[^\n]*"))
   end)

   it("lists public modules, and finds words in them; private ones answer to their full names", function()
      assert.truthy(lpfm.help():find("^Modules:\n   lpfm .*\nObjects:\n   buffer "))
      assert.falsy(lpfm.help():find("repl.", 1, true))
      assert.falsy(lpfm.help():find("pfm.analyze.columns", 1, true))
      assert.truthy(lpfm.help():find("pfm.analyze ", 1, true))
      assert.falsy(lpfm.help("of the"):find("repl.", 1, true))
      assert.truthy(lpfm.help("pfm.analyze.columns.span"):find("pfm.analyze.span", 1, true))
   end)

   it("shows the fields of tables, those of another function by name, lists line by line", function()
      assert.truthy(lpfm.help("lpfm.create"):find("\n      buf_size +int: bytes of its buffer %(65536%)\n"))
      assert.truthy(lpfm.help("pfm.count.prepare"):find("\n      events, cgroup, interval,", 1, true))
      assert.truthy(lpfm.help("lpfm.machine"):find("\n      hw_counters number of hardware counters\n", 1, true))
      assert.truthy(lpfm.help("lpfm.register_format"):find("\n   - init(self): ", 1, true))
   end)

   it("says what a simulated program can have under the name that ?sim and the labs give", function()
      local sim, labs = require("repl.prompt.topics").pages.sim, io.open("scripts/labs/README.md")
      local name = sim:match("%?([%w.]+) has all that a program can have")
      assert.truthy(labs:read("*a"):find(("`?%s` at the prompt says all"):format(name), 1, true), name)
      labs:close()
      for _, word in ipairs { "load=", "chase=", "taken=", "thread=", "call=" } do
         assert.truthy(lpfm.help(name):find(word, 1, true), word)
      end
   end)

   it("fills lines to the width that is asked for", function()
      for line in doc.text("lpfm.register_format", 60):gmatch("[^\n]+") do
         assert(#line <= 60 or line:find("^      "), line)
      end
   end)

   it("lists all modules, finds words, and has a guess for a slip", function()
      assert.truthy(lpfm.help():find("pfm.count", 1, true))
      assert.truthy(lpfm.help("sampling buffer"):find("context:buffer", 1, true))
      assert.truthy(lpfm.help("reed_pmds"):find("read_pmds", 1, true))
      assert.truthy(lpfm.help({}):find("table", 1, true))
      assert.truthy(lpfm.help("no such thing at all"):find("no help on 'no such thing at all'", 1, true))
   end)

   it("has an answer at once for text that is far longer than all names", function()
      local text = ("y"):rep(1e6)
      assert.equal("no help on '" .. text .. "'", lpfm.help(text))
   end)

   it("stays within the width of a terminal of 100 columns, but for examples", function()
      for _, name in ipairs(doc.names()) do
         for line in doc.text(name):gmatch("[^\n]+") do
            assert(#line <= 100 or line:find("^      "), line)
         end
      end
   end)
end)

describe("the pages of topics", function()
   it("have the text of every topic, and what looks like HTML in it as it is", function()
      local c, topics = require "support.c", require "repl.prompt.topics"
      local folder = assert(stdlib.mkdtemp("/tmp/topics.XXXXXX"))
      finally(function() c.sh("rm -rf " .. folder) end)
      local out, status = c.sh(("LUA_PATH='scripts/?.lua;?.lua' %s repl/pages.lua %s"):format(os.getenv "LPFM_LUA",
         folder))
      assert.equal(0, status, out)
      local codes = { lt = "<", gt = ">", amp = "&", ["#96"] = "`", ["#64"] = "@" }
      local function plain(text) return (text:gsub("%s+", " "):gsub("^ ", "")) end
      for _, name in ipairs(topics.names) do
         local text = files.read(("%s/%s.md"):format(folder, name)):gsub("<[^>]+>", " "):gsub("&([^;]+);", codes)
         assert.equal(plain(name .. " " .. topics.titles[name] .. " " .. topics.pages[name] .. " "), plain(text .. " "))
      end
   end)
end)

describe("the manual pages", function()
   local c = require "support.c"
   local folder = c.folder()
   setup(function() c.must(("%s repl/man.lua 3.0 %s"):format(c.program, folder)) end)

   local function page(name)
      local text = files.read(("%s/%s.1"):format(folder, name))
      return (text:gsub("\\%-", "-"))
   end

   it("have no escapes of their source in their text", function()
      for _, name in ipairs(commands.names) do assert.falsy(page("lpfm-" .. name):find("\\e", 1, true), name) end
   end)

   it("are what man accepts", function()
      if select(2, c.sh("command -v man groff")) ~= 0 then return pending("man or groff is not installed") end
      assert.equal("", (c.sh(("for f in %s/*.1; do man --warnings -l $f 2>&1 >/dev/null; done"):format(folder))))
   end)

   it("tell of every command, option and variable", function()
      local program = page("lpfm")
      for _, row in ipairs(commands.rows) do
         local options, text = commands.module(row.name).options(), page("lpfm-" .. row.name)
         assert.truthy(program:find("lpfm-" .. row.name .. "(1)", 1, true), row.name)
         assert.truthy(text:find("NAME\nlpfm-" .. row.name .. " - " .. row.summary, 1, true), row.name)
         assert.truthy(text:find(options.usage, 1, true), row.name)
         for flag in pairs(options.known) do assert.truthy(text:find(flag, 1, true), row.name .. " " .. flag) end
      end
      for _, row in ipairs(commands.environment) do assert.truthy(program:find(row[1], 1, true), row[1]) end
      for name in io.popen("git grep -Eoh 'getenv *\\(? *\"LPFM_[A-Z_]+' -- kernel lpfm scripts repl"):lines() do
         assert.truthy(program:find(name:match("LPFM_%u+[%u_]*"), 1, true), name)
      end
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
