-- SPDX-License-Identifier: MIT
--- Checks files against the JSON schema in speedscope's npm package.
local c = require "support.c"

local speedscope = {}

local FOLDER = (os.getenv("LPFM_BUILD") or "build") .. "/spec/speedscope"
local SCHEMA = "package/dist/release/file-format-schema.json"
local FETCH = "mkdir -p %s && cd %s && timeout 600 npm pack --silent speedscope@1.22.2 >/dev/null"
   .. " && tar xzf speedscope-*.tgz %s"
local CHECK = [[/usr/bin/python3 -c '
import json, jsonschema, sys
schema, made = (json.load(open(path)) for path in sys.argv[1:])
for error in jsonschema.Draft7Validator(schema).iter_errors(made):
    print(error.json_path, error.message[:200])
' %s/%s %s]]

--- Fetches the package once. Returns why a test is pending if that fails, or nil.
function speedscope.missing()
   if select(2, c.sh(("test -e %s/%s"):format(FOLDER, SCHEMA))) == 0 then return nil end
   if select(2, c.sh("command -v npm")) ~= 0 then return "npm is not installed" end
   if select(2, c.sh(FETCH:format(FOLDER, FOLDER, SCHEMA))) ~= 0 then return "speedscope's package cannot be got" end
end

--- Returns what is wrong with a file, one fault per line; "" if it meets the schema.
function speedscope.faults(path)
   local out, status = c.sh(CHECK:format(FOLDER, SCHEMA, path))
   assert(status == 0, out)
   return out
end

return speedscope
