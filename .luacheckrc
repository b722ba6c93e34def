std = "lua51+luajit"
max_line_length = 120
exclude_files = { "build" }
files["spec/"] = { std = "+busted" }
