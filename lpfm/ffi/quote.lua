-- SPDX-License-Identifier: MIT
-- A text on the standard input, the same as C string literals on the standard output.
for line in io.lines() do
   io.write(("%q"):format((line:gsub("%s+$", ""))):sub(1, -2), "\\n\"\n")
end
