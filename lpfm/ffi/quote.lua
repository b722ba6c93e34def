-- SPDX-License-Identifier: MIT
-- Writes the text of the standard input as C string literals, one for each line.
for line in io.lines() do
   io.write(("%q"):format((line:gsub("%s+$", ""))):sub(1, -2), "\\n\"\n")
end
