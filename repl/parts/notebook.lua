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
   topics = {
{ "notebook", "use lpfm as a kernel of Jupyter's notebooks", [==[
   lpfm jupyter install                  make lpfm a kernel of Jupyter's; --help has more

A notebook has tables, plots, completion and the stop button. It needs Debian's packages lpfm-notebook and
jupyter-notebook.]==] },
   },
}
