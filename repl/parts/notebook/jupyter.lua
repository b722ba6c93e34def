-- SPDX-License-Identifier: MIT
--- lpfm jupyter: installs or removes the description of lpfm's kernel, the kernelspec, in Jupyter's
-- folder.
-- @module repl.parts.notebook.jupyter

local cjson = require "cjson"
local libgen = require "posix.libgen"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local stat = require "posix.sys.stat"
local unistd = require "posix.unistd"
local expect = require "pfm.util.expect"

local jupyter = {}

local SYSTEM = "/usr/local"
local PYTHONS = { "python3", "/usr/bin/python3" } -- the one in PATH may lack ipykernel

--- Makes the parser of the command line.
function jupyter.options()
   local c = options.command("jupyter", "Makes lpfm a kernel of Jupyter's notebooks.",
      "lpfm jupyter [options] install|remove")
   c.mixed = true
   c:flag("--user", "For this user, in ~/.local/share/jupyter; the default, but for root.")
   c:option("--prefix", "DIR", "For all who use Jupyter from DIR, in DIR/share/jupyter (root's default: /usr/local).")
   c:epilog([[
A cell is what one types at the prompt: tables are shown as tables, plots as pictures. Tab completes, Shift-Tab
explains, and the stop button is Ctrl-C. The kernel needs Debian's python3-ipykernel, plots need gnuplot.]], {
      "lpfm jupyter install", "lpfm jupyter remove",
   })
   return c
end

-- --- what is written -----------------------------------------------------------------------------

local function kernel_file()
   local here = debug.getinfo(1, "S").source:match("^@(.*)/jupyter%.lua$")
   return assert(require("posix.stdlib").realpath(here .. "/kernel.py"))
end

-- Returns the path of a Python that has ipykernel.
local function python()
   for _, name in ipairs(PYTHONS) do
      local pipe = io.popen(("%s -c 'import ipykernel, sys; print(sys.executable)' 2>/dev/null"):format(name))
      local path = pipe:read("*l")
      pipe:close()
      if path then return path end
   end
   error("Python's ipykernel is missing (Debian: apt install python3-ipykernel)", 0)
end

local function description()
   return cjson.encode {
      argv = { python(), "-Xfrozen_modules=off", kernel_file(), "-f", "{connection_file}" },
      display_name = "lpfm", language = "lua", interrupt_mode = "signal",
      env = { LPFM_PROGRAM = assert(unistd.readlink("/proc/self/exe")) },
   }
end

-- --- the folder ----------------------------------------------------------------------------------

local function data_folder(args)
   if args.prefix then return args.prefix .. "/share/jupyter" end
   if not args.user and unistd.geteuid() == 0 then return SYSTEM .. "/share/jupyter" end
   local home = os.getenv("HOME")
   local own = os.getenv("JUPYTER_DATA_DIR")
   if own and own ~= "" then return own end
   if not home or home == "" then error("HOME is not set, and --prefix not given", 0) end
   return home .. "/.local/share/jupyter"
end

local function make_folder(path)
   if stat.stat(path) then return end
   make_folder(libgen.dirname(path))
   expect.value(stat.mkdir(path))
end

local actions = {}

function actions.install(folder)
   local text = description()
   make_folder(folder)
   local file, err = io.open(folder .. "/kernel.json", "w")
   if not file then error(err, 0) end
   local ok
   ok, err = file:write(text, "\n")
   if not (ok and file:close()) then error(("%s/kernel.json: %s"):format(folder, err or "cannot be written"), 0) end
   io.stdout:write(("installed %s: jupyter notebook, jupyter lab or jupyter console --kernel lpfm\n"):format(folder))
end

function actions.remove(folder)
   expect.value(os.remove(folder .. "/kernel.json"))
   os.remove(folder)
   io.stdout:write("removed ", folder, "\n")
end

--- Returns the names of the command's actions.
-- @treturn {string,...}
function jupyter.actions()
   return { "install", "remove" }
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function jupyter.main(argv)
   local args, words = jupyter.options():parse(argv)
   if args.user and args.prefix then options.fail("--user and --prefix exclude each other") end
   local action = options.only_word(words, "action")
   if not actions[action] then
      options.fail("expected install or remove, got %s",
         action and ("'%s'%s"):format(action, nearest.hint(action, jupyter.actions())) or "none")
   end
   actions[action](data_folder(args) .. "/kernels/lpfm")
   return 0
end

return jupyter
