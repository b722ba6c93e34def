-- SPDX-License-Identifier: MIT
--- The part for Jupyter's notebooks: `lpfm jupyter`.
-- @module repl.parts.notebook

return {
   commands = {
      { name = "jupyter", module = "repl.parts.notebook.jupyter", summary = "make lpfm a kernel of Jupyter's notebooks",
         words = { "jupyter" }, offline = true },
   },
   kinds = { jupyter = { "install", "remove" } },
   extend = {},
}
