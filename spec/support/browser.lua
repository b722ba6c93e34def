-- SPDX-License-Identifier: MIT
--- Loads pages in a browser.
local c = require "support.c"

local browser = {}

local COMMAND = "env -u LD_PRELOAD HOME=%s timeout 600 chromium --headless --no-sandbox --disable-gpu --disable-quic "
   .. "--no-first-run --disable-background-networking --disable-component-update --disable-sync "
   .. "--user-data-dir=%s/browser --dump-dom file://%s 2>/dev/null"

--- Returns why a test is pending if there is no browser; nil if there is one.
function browser.missing()
   return select(2, c.sh("command -v chromium")) ~= 0 and "chromium is not installed" or nil
end

--- Returns the elements of a page, as HTML, after its scripts have run.
-- @param path of the page
-- @param scratch a folder for what the browser keeps
function browser.dom(path, scratch)
   local dom, status = c.sh(COMMAND:format(scratch, scratch, path))
   assert(status == 0, "chromium: " .. dom)
   return dom
end

return browser
