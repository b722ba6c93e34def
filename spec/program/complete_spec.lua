-- SPDX-License-Identifier: MIT
-- What Tab offers, wherever a name can stand; and that everything there is to name is described.

local c = require "support.c"
local files = require "support.files"
local commands = require "repl.command.rows"
local dot_commands = require "repl.prompt.dot_commands"
local complete = require "repl.prompt.complete"
local help = require "repl.prompt.help"
local lpfm = require "lpfm"
local namespace = require "repl.prompt.namespace"
local doc = require "pfm.doc"
local reference = require "repl.prompt.reference"
local tokens = require "repl.prompt.tokens"

-- Returns the words that the line editor would offer at the end of a text.
local function words(text)
   local quote = complete.quote(text)
   local breaks = quote ~= "" and "[ \t\n\"',]" or "[ \t\n\"'+%-*/%%^#=<>~;,(){}%[%]]"
   local at = #text
   while at > 0 and not text:sub(at, at):find(breaks) do at = at - 1 end
   return complete.words(text:sub(at + 1), text:sub(1, at), quote)
end

local function has(text, ...)
   local offered = words(text)
   for _, wanted in ipairs { ... } do
      local found = false
      for _, word in ipairs(offered) do found = found or word == wanted end
      assert.is_true(found, ("'%s' offers %s, not %s"):format(text, table.concat(offered, " "), wanted))
   end
end

local function only(text, ...)
   assert.same({ ... }, words(text), text)
end

local globals = { "ctx", "list_of", "lpfm", "pfm" }
local saved, before = {}, nil

describe("completion", function()
   setup(function()
      before = lpfm.machine().name
      for _, name in ipairs(globals) do saved[name] = rawget(_G, name) end
      assert(lpfm.machine "sim:itanium2")
      rawset(_G, "lpfm", lpfm)
      rawset(_G, "ctx", assert(lpfm.create {}))
      rawset(_G, "list_of", { { abc = 1 }, x = { yy = 2 } })
   end)
   teardown(function()
      _G.ctx:close()
      for _, name in ipairs(globals) do rawset(_G, name, saved[name]) end
      assert(lpfm.machine(before))
   end)

   it("offers what a call of the library takes, registers, and what a module has", function()
      has("export{", "format", "output", "weight")
      has("pfm.export.write(s, 'csv', 'x', { ", "separator")
      has("count.run{", "command", "events")
      has("count.run { command = {}, int", "interval")
      has("profile.prepare{ off", "off_cpu")
      has('require("pfm.', "pfm.count", "pfm.analyze")
      only('require("pfm.count").tim', ".times")
      only("require 'pfm.count'.tim", ".times")
      only('require("no.such").x')
      has("ctx:read_pmds{", "4", "5")
      has("ctx:read_pmds{4, ", "5")
      has("lpfm.pmcs{ 25", "256")
   end)

   it("offers pages and functions where help is asked for, and more with a letter", function()
      local few = words("?")
      assert.is_true(#few > 10 and #few < 60, #few .. " words")
      has("?", "?context", "?record")
      has("?page-f", "?page-faults")
      has("?ctx:read_p", "?ctx:read_pmds")
   end)

   it("offers no name from the tables that a function in Lua uses", function()
      local hidden = { sum = print }
      local lazy = setmetatable({ there = 1 }, { __index = function(_, key) return key == "sum" and hidden[key] end })
      assert.same({ "there" }, namespace.of(lazy), "names that a Lua function looks up are not known")
   end)

   it("offers globals and keywords", function()
      only("tostr", "tostring")
      only("x = functio", "function")
      only("print(tonum", "tonumber")
      only("'it' .. tonum", "tonumber")
   end)

   it("offers fields and methods, through tables, indices, objects and what calls return", function()
      only("lpfm.mach", "lpfm.machine", "lpfm.machines")
      only("ctx:write_", "ctx:write_pmcs", "ctx:write_pmds")
      only("list_of[1].ab", ".abc")
      only("list_of.x.y", "list_of.x.yy")
      has("lpfm.const.PFM_FL_S", "lpfm.const.PFM_FL_SYSTEM_WIDE")
      only("lpfm.errno.EBU", "lpfm.errno.EBUSY")
      has("ctx:buffer():sam", ":sample", ":samples")
      only("lpfm.machine().na", ".name")
      only("nosuch.fi")
      only("ctx..fi")
   end)

   it("offers the fields of tables that calls take, at the depth where they stand", function()
      only("lpfm.create{fla", "flags")
      only("ctx:write_pmds{ {nu", "num")
      only("ctx:write_pmds{ {num=66, long", "long_reset")
      only("ctx:write_pmds({ {num=66},\n {random_m", "random_mask")
      only("ctx:create_evtsets{ {id=1, timeo", "timeout")
      has("stat{comm", "command")
      only("watch(ctx, {inter", "interval")
      only("m:spawn{progr", "program")
      only("ctx:write_pmds{ {smpl_pmds={long")
   end)

   it("offers in strings what is expected there", function()
      only('stat("ls", "page-f', "page-faults")
      only("stat('ls', 'task-clock,page-f", "page-faults")
      only('job{command={"ls"}, events="minor', "minor-faults")
      only('lpfm.create{flags={"SYS', "SYSTEM_WIDE")
      only('lpfm.create{flags={"SYSTEM_WIDE", "AN', "ANY_CPU")
      only('ctx:write_pmds{ {num=4, flags={"OVFL', "OVFL_NOTIFY")
      only('ctx:create_evtsets{ {id=1, flags="TIME', "TIME_SWITCH")
      only('lpfm.create{format="n', "n-way")
      only('lpfm.machine("sim:mont', "sim:montecito")
      only('lpfm.machine "sim:k', "sim:k8")
      only('report("x", "sym', "symbol")
      only('require("pfm.recordin', "pfm.recording")
      only('list("x", "itanium2', "itanium2")
      only('x = "PMC66', "PMC66")
   end)

   it("offers in commands' arguments what their rows say", function()
      only('stat("ls", "cs", "cp', "cpi")
      only('diff("a", "b", "sym', "symbol")
      only('plot("tim', "time")
      only('cascade("ls", "page-faults:10 th', "then")
      only('cascade("ls", "page-faults:10 then page-f', "page-faults")
      only('analyze.by(s, "comm,sym', "symbol")
      only('job("ls", "cs,page-f', "page-faults")
      only('record("ls", "/etc/passw', unpack(words(".load /etc/passw")))
   end)

   it("offers unit masks and levels, whatever the case of the event", function()
      has('stat("ls", "L2_MISSES:', "L2_MISSES:u", "L2_MISSES:k")
      only('list("l3_reads_data_read_h', "L3_READS_DATA_READ_HIT")
      only('x = "itanium2::L2_MIS', "itanium2::L2_MISSES")
      local event
      for _, name in ipairs(lpfm.events(nil, { masks = true, pmu = "snb" })) do
         if name:find(":", 1, true) then event = event or name end
      end
      has(('x = "snb::%s'):format(event:match("^.*:")), "snb::" .. event)
   end)

   it("offers files, directories with a slash", function()
      only('dofile("/etc/passw', unpack(words(".load /etc/passw")))
      has('dofile("/etc/passw', "/etc/passwd")
      only('x = "/etc/defaul', "/etc/default/")
      only('record("./scrip', "./scripts/")
   end)

   it("offers commands and their arguments", function()
      only(".sav", ".save")
      has(".", ".help", ".load", ".quit", ".save", ".jobs")
      has(".help star", "start-up")
      only(".save x nosuch")
   end)

   it("offers behind ? what help explains", function()
      only("?star", "?start-up")
      has("?ctx.read_p", "?ctx.read_pmds")
      has("?lpfm.cre", "?lpfm.create")
      has("?page-f", "?page-faults")
      has("?PMC6", "?PMC66")
   end)

   it("offers nothing in comments, and takes any text", function()
      only("-- tostr")
      only("--[[ tostr")
      only("x = 'it''s' -- tostr")
      math.randomseed(1)
      local pieces = { "lpfm", ".", ":", "(", ")", "{", "}", "[", "]", "[[", "]]", '"', "'", "=", ",", " ", "\n", "ctx",
         "1e", "0x", "\\", "--", "?", "é", "function", "end", ";", "flags", "write_pmds", "stat" }
      for _ = 1, 500 do
         local text = {}
         for i = 1, math.random(12) do text[i] = pieces[math.random(#pieces)] end
         assert.is_table(words(table.concat(text)))
      end
   end)
end)

-- Runs Lua text in a process of its own, as the globals that the text provides would stay here.
local function in_program(text)
   local build = os.getenv("LPFM_BUILD") or "build"
   local path = os.tmpname()
   files.write(path, text)
   local out, status = c.sh(("%s/%s/lpfm %s"):format(build, os.getenv("LPFM_LUA") or "luajit", path))
   os.remove(path)
   assert.equal(0, status, out)
   return out
end

describe("the texts of help", function()
   it("describe every function of lpfm, and every method of contexts, buffers and vectors", function()
      local function described(name) return reference.entry(name) or doc.text(name) end
      for name, value in pairs(lpfm) do
         if type(value) ~= "string" then assert.is_truthy(described("lpfm." .. name), "lpfm." .. name) end
      end
      local sampling = assert(lpfm.create { format = "default" })
      local objects = { context = sampling, vector = lpfm.pmds {}, u64 = lpfm.u64(1) }
      local has_buffer, buffer = pcall(sampling.buffer, sampling)
      if has_buffer then objects.buffer = buffer end
      for class, object in pairs(objects) do
         assert.equal(class, reference.class(object))
         for _, method in ipairs(namespace.of(object)) do
            assert.is_truthy(described(class .. ":" .. method), class .. ":" .. method)
         end
      end
      sampling:close()
   end)

   it("describe every method of the simulated computer and of jobs", function()
      local current = lpfm.machine().name
      local machine = assert(lpfm.machine "sim")
      assert.equal("machine", reference.class(machine))
      for _, method in ipairs(namespace.of(debug.getmetatable(machine).__index)) do
         assert.is_table(reference.entry("machine:" .. method), method)
      end
      assert(lpfm.machine(current))
   end)

   it("have no page, field or method twice, and pages for all they refer to", function()
      for _, key in ipairs(reference.keys()) do
         local entry = reference.entry(key)
         assert.is_string(entry.usage, key)
         assert.is_string(entry.text, key)
         assert.is_true(not entry.topic or reference.topic(entry.topic) ~= nil, key)
      end
      for _, name in ipairs(dot_commands.names()) do
         assert.truthy(reference.topic("commands"):find(name, 1, true), name)
      end
   end)

   it("find every public function, and every function of the prompt by name and by value", function()
      for _, name in ipairs(doc.names()) do assert.falsy(help.text(name):find("no help on", 1, true), name) end
      local functions = {}
      for _, row in ipairs(commands.rows) do
         if row.call then functions[#functions + 1] = row.name end
         assert.truthy(help.text(row.name):find(row.name, 1, true), row.name)
      end
      assert.is_true(#functions > 5)
      local out = in_program([=[
      require("repl.prompt.globals").provide()
      local text = require("repl.prompt.help").text
      for _, name in ipairs { "]=] .. table.concat(functions, '", "') .. [=[", "watch", "job", "quit" } do
         print((text(_G[name]):match("^[^\n]*\n[^\n]*"):gsub("\n", " ")))
      end
      ]=])
      for _, name in ipairs(functions) do
         assert.truthy(("\n" .. out):find("\n" .. name .. "[({][^\n]* [%u][^\n]*%."), name .. "\n" .. out)
      end
      assert.truthy(help.text("top"):find("Usage: lpfm top", 1, true))
   end)

   it("fill lines once, to the width that is asked for", function()
      for _, name in ipairs(reference.topics()) do
         for line in help.text(name, 72):gmatch("[^\n]+") do
            assert(#line <= 72 or line:find("^   "), line)
         end
      end
      assert.truthy(help.text("start-up", 72):find("^When[^\n]* runs\n%$XDG_CONFIG_HOME"))
   end)

   it("answer to anything", function()
      for _, what in ipairs { "stat", "ctx.read_pmds", "c:load", "lpfm.create", "page-faults", "PMC66", "pmd 65",
         "EBUSY", "SYSTEM_WIDE", "long_reset", "pfm.count", "pfm.count.run", "cycles", "nosuch", "", "?", ".",
         "a.b.c" } do
         assert.is_string(help.text(what))
      end
      for _, what in ipairs { 1, true, print, {}, lpfm, lpfm.create, lpfm.u64(7), io.stdout, help.text } do
         assert.is_string(help.text(what))
      end
      assert.truthy(help.text("statt"):find("did you mean 'stat'?", 1, true))
      assert.truthy(help.text("long_reset"):find("context:write_pmds", 1, true))
   end)
end)

describe("tokens", function()
   it("are those of Lua, also where the text is not finished", function()
      local out = {}
      for i, token in ipairs(tokens.of("x = 1e-6 + 0xff 'a\\'b' --[[ c ]] [=[ d ]] ]=] ~= ... y.z")) do
         out[i] = token.kind:sub(1, 1) .. ":" .. token.text
      end
      assert.equal("n:x o:= n:1e-6 o:+ n:0xff s:'a\\'b' c:--[[ c ]] s:[=[ d ]] ]=] o:~= o:... n:y o:. n:z",
         (table.concat(out, " ")))
      for text, open in pairs { ["x = 'a"] = "'", ['"a" .. "b'] = '"', ["[[a"] = "[", ["x -- a"] = "-", ["'a'"] = "",
         ["--[[ a"] = "-", ["-- a\nx"] = "", ["'a\nx"] = "", [""] = "", ["--[[ a ]]"] = "" } do
         assert.equal(open, tokens.open(text), text)
      end
   end)

   it("count how deep blocks are", function()
      for text, depth in pairs { ["for i = 1, 2 do"] = 1, ["if x then y() else"] = 1, ["f(function() {"] = 3,
         ["if a then elseif b then"] = 1, ["do end"] = 0, ["end end"] = 0, ["'do' --do"] = 0 } do
         assert.equal(depth, tokens.depth(text), text)
      end
   end)
end)

describe("a context at the prompt", function()
   it("differs from how it was saved by what was written since", function()
      local programming = require "repl.prompt.programming"
      local ctx = assert(lpfm.create {})
      assert(ctx:write_pmcs { { num = 66, value = 9 } })
      local first = ctx:programming()
      assert.same({}, programming.differences(first, ctx:programming()))
      assert(ctx:write_pmcs { { num = 66, value = 8 }, { num = 67, value = 9 } } and ctx:load())
      assert.same({ "PMC 66 is programmed otherwise", "PMC 67 is programmed, too", "it is loaded" },
         programming.differences(first, ctx:programming()))
      assert.is_true(programming.is_open(ctx))
      ctx:close()
      assert.is_false(programming.is_open(ctx) or programming.is_open(5))
   end)

   it("lets misuse raise where the caller stands", function()
      local out = in_program [=[
      require("repl.prompt.globals").provide()
      local ctx = assert(lpfm.create {})
      print(select(2, pcall(function() ctx:write_pmcs { { nun = 1 } } end)))
      print(ctx:write_pmcs { { num = 999 } })
      print(select(2, pcall(function() ctx.load(5) end)))
      ]=]
      assert.truthy(out:find("^/[^\n]+:3: write_pmcs: element 1: unknown field 'nun'\n"), out)
      assert.truthy(out:find("\nnil\twrite_pmcs: element 1: PMC999 is not available\t22\n", 1, true), out)
   end)
end)

describe("completion of a value in a call's table", function()
   it("offers sort keys for sort", function()
      local found = table.concat(complete.words("", 'report{sort="', '"'), " ")
      assert.truthy(found:find("symbol", 1, true))
      assert.falsy(found:find("page-faults", 1, true))
   end)

   it("offers nothing where a number is to come", function()
      assert.same({}, complete.words("", "c:write_pmcs{ {num=", ""))
   end)
end)

describe("help", function()
   it("describes what a global name stands for, and no method of that name", function()
      local names = { "time", "mean", "count", "caches", "pfm" }
      finally(function() for _, name in ipairs(names) do rawset(_G, name, nil) end end)
      rawset(_G, "count", require "pfm.count")
      rawset(_G, "caches", require "pfm.caches")
      rawset(_G, "pfm", { caches = require "pfm.caches" })
      rawset(_G, "time", function() end)
      rawset(_G, "mean", 3)
      assert.truthy(help.text("time"):find("^function: [^\n]*: a function$"), help.text "time")
      assert.equal("3: a number", help.text "mean")
      assert.truthy(help.text("count"):find("^pfm%.count\n"), help.text "count")
      assert.truthy(help.text("load"):find("context:load(", 1, true), "Lua's load hides none of the methods")
      local caches = help.text "caches"
      assert.truthy(caches:find("^pfm%.caches\n") and caches:find("machine:caches(", 1, true), caches)
   end)

   it("knows the commands that are no functions of the prompt", function()
      local text = help.text "top"
      assert.truthy(text:find("Usage: lpfm top [options]", 1, true), text)
   end)
end)

describe("a global that is not there", function()
   it("is not taken for a keyword", function()
      local message = "stdin:1: attempt to index global 'foo' (a nil value)"
      local text = require("repl.prompt.caret").runtime("foo.bar", message)
      assert.falsy(text:find("'for'", 1, true), text)
   end)
end)
