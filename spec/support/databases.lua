-- SPDX-License-Identifier: MIT
--- A PostgreSQL or a ClickHouse on this computer's loopback, started for a test and stopped after
-- it. Debian: postgresql; clickhouse-server, clickhouse-client.
local databases = {}
databases.__index = databases

local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local unistd = require "posix.unistd"
local PATIENCE = require "support.patience"


databases.kinds = { "postgresql", "clickhouse" }

local CONFIG = [[
<yandex>
<logger><level>warning</level><log>DIR/log</log><errorlog>DIR/errors</errorlog></logger>
<tcp_port>PORT</tcp_port><listen_host>127.0.0.1</listen_host>
<path>DIR/data/</path><tmp_path>DIR/tmp/</tmp_path><mark_cache_size>67108864</mark_cache_size>
<users_config>DIR/users.xml</users_config>
</yandex>
]]
local USERS = [[
<yandex><profiles><default></default></profiles><quotas><default></default></quotas><users><default>
<password>PASSWORD</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</default></users></yandex>
]]
local PASSWORD = "p&<w/ @d"

local programs = { postgresql = { "psql", "initdb", "postgres" },
   clickhouse = { "clickhouse-server", "clickhouse-client" } }
local PATH = "PATH=$PATH:/usr/sbin:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)"

--- Returns why a kind of database cannot be started here; nil if it can.
function databases.missing(kind)
   for _, name in ipairs(programs[kind]) do
      if select(2, c.sh(("%s; command -v %s"):format(PATH, name))) ~= 0 then return name .. " is not installed" end
   end
end

local function must(command)
   local out, status = c.sh(("%s; %s"):format(PATH, command))
   assert(status == 0, out)
   return out
end

-- Returns a command that runs as the user postgres, since PostgreSQL refuses to run as root.
local function as_other(command)
   if unistd.geteuid() ~= 0 then return command end
   return "setpriv --reuid=postgres --regid=postgres --clear-groups " .. command
end

local make, launch = {}, {}

function make.postgresql(self)
   must("mkdir " .. self.dir)
   if unistd.geteuid() == 0 then must("chown postgres " .. self.dir) end
   must(as_other(("initdb -N -A trust -U lpfm -D %s/data"):format(self.dir)))
   self.url = ("postgresql://lpfm@127.0.0.1:%d/postgres"):format(self.port)
   self.client = ("psql -X -q -At -h 127.0.0.1 -p %d -U lpfm postgres -c"):format(self.port)
end

function launch.postgresql(self)
   return as_other(("$(command -v postgres) -D %s/data -F -h 127.0.0.1 -p %d -k %s"):format(self.dir, self.port,
      self.dir))
end

function make.clickhouse(self)
   must(("mkdir -p %s/data %s/tmp"):format(self.dir, self.dir))
   local values = { DIR = self.dir, PORT = tostring(self.port),
      PASSWORD = PASSWORD:gsub("&", "&amp;"):gsub("<", "&lt;") }
   files.write(self.dir .. "/config.xml", (CONFIG:gsub("%u%u+", values)))
   files.write(self.dir .. "/users.xml", (USERS:gsub("%u%u+", values)))
   local word = PASSWORD:gsub(".", function(letter)
      return letter:find("%w") and letter or ("%%%02x"):format(letter:byte())
   end)
   self.url = ("clickhouse://default:%s@127.0.0.1:%d"):format(word, self.port)
   self.client = ("clickhouse-client --host 127.0.0.1 --port %d --password '%s' --query"):format(self.port, PASSWORD)
end

function launch.clickhouse(self)
   return ("clickhouse-server --config-file=%s/config.xml"):format(self.dir)
end

-- Returns a command that runs with its data folder on a separate tmpfs, if a disk was asked for.
local function on_disk(self, command)
   if not self.disk then return command end
   local data = self.dir .. "/data"
   local make_disk = ("cp -a %s %s/first && mount -t tmpfs -o size=%s lpfm %s && cp -a %s/first/. %s/"):format(data,
      self.dir, self.disk, data, self.dir, data)
   return ("unshare -m sh -c '%s && exec %s'"):format(make_disk, command)
end

local function await(is, what)
   local deadline = proc.clock() + PATIENCE
   while not is() do
      assert(proc.clock() < deadline, what)
      lpfm.poll({}, 0.1)
   end
end

local function is_gone(pid)
   return select(2, c.sh(("kill -0 %d"):format(pid))) ~= 0
end

--- Starts the server, again if it was killed, and waits until it answers.
function databases:restart()
   local command = on_disk(self, launch[self.kind](self))
   await(function()
      if not self.pid or is_gone(self.pid) then
         self.pid = tonumber(must(("cd /; setsid %s >%s/out 2>&1 </dev/null & echo $!"):format(command, self.dir)))
      end
      return select(2, c.sh(("%s; timeout 600 %s 'SELECT 1'"):format(PATH, self.client))) == 0
   end, self.kind .. " does not start")
end

--- Returns why a database cannot have a disk of its own here; nil if it can.
function databases.no_disk()
   if unistd.geteuid() ~= 0 or select(2, c.sh("unshare -m mount -t tmpfs lpfm /mnt")) ~= 0 then
      return "there are no mounts of one's own here"
   end
end

local started = 0

--- Starts a database.
-- @string kind
-- @string[opt] disk size of a disk of its own ("100M"); it does not outlive a restart
-- @return table `url`, `pid`, `dir`; `ask(sql)`, `kill()`, `restart()`, `stop()`; with a disk
-- `fill()`, `clear()`
function databases.start(kind, disk)
   local self = setmetatable({ kind = kind, dir = os.tmpname() .. "." .. kind, disk = disk,
      port = 20000 + unistd.getpid() % 2500 * 4 + started % 4 }, databases)
   started = started + 1
   make[kind](self)
   self:restart()
   return self
end

--- Returns what a SELECT prints, without the newline at the end.
function databases:ask(sql)
   return (must(("%s \"%s\""):format(self.client, sql)):gsub("\n$", ""))
end

local function filler(self)
   return ("/proc/%d/root%s/data/other"):format(self.pid, self.dir)
end

--- Fills the disk, except for some bytes.
-- @string left "256K"
function databases:fill(left)
   must(("head -c 10G /dev/zero >%s 2>/dev/null; truncate -s -%s %s"):format(filler(self), left, filler(self)))
end

--- Makes room on the disk again.
function databases:clear()
   must("rm " .. filler(self))
end

local function finish(self, signal)
   must(("kill -%s %d"):format(signal, self.pid))
   await(function() return is_gone(self.pid) end, self.kind .. " does not stop")
   self.pid = nil
end

--- Kills the server, as a crash of the machine would.
function databases:kill()
   finish(self, "KILL")
end

--- Stops the server, and removes what it has written.
function databases:stop()
   if self.pid then finish(self, self.kind == "postgresql" and "INT" or "TERM") end
   c.sh(("rm -rf %s %s"):format(self.dir, (self.dir:gsub("%.%a+$", ""))))
end

return databases
