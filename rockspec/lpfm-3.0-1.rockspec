rockspec_format = "3.0"
package = "lpfm"
version = "3.0-1"
source = {
   url = "git+https://github.com/lpfm/lpfm.git",
}
description = {
   summary = "perfmon2 for today's Linux, scriptable from Lua",
   detailed = [[
      Counters, sampling, event sets and messages of the perfmon2 interface, for PUC Lua 5.1 and LuaJIT,
      over perf_event_open(2), a kernel module, or a simulated computer.
   ]],
   license = "MIT",
}
dependencies = {
   "lua >= 5.1, < 5.2",
}
supported_platforms = { "linux" }
build = {
   type = "make",
   build_target = "all",
   build_variables = {
      CFLAGS = "$(CFLAGS)",
   },
   install_target = "install-rock",
   install_variables = {
      ROCK_LIBDIR = "$(LIBDIR)",
      ROCK_LUADIR = "$(LUADIR)",
   },
}
