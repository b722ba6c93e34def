-- SPDX-License-Identifier: MIT
--- A Slurm of four nodes on this computer, started for a test and stopped after it. Debian:
-- slurmctld, slurmd, slurm-client.
local slurm = {}
slurm.__index = slurm

local c = require "support.c"
local files = require "support.files"
local terminal = require "support.terminal"
local unistd = require "posix.unistd"
local PATIENCE = require "support.patience"

local NODES = 4
local PROGRAMS = { "slurmctld", "slurmd", "srun", "scontrol" }

local CONFIG = [[
ClusterName=spec
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=USER
SlurmdUser=USER
AuthType=auth/none
CredType=cred/none
SlurmctldPort=PORT
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd-%n.pid
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool-%n
SlurmctldLogFile=DIR/slurmctld.log
SlurmdLogFile=DIR/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdParameters=config_overrides
NodeName=n[1-4] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[FROM-TO] CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
]]

-- Returns true if the host's name has an address, as srun needs; minimal installations have none.
local function has_address()
   return select(2, c.sh('getent hosts "$(hostname -s)"')) == 0
end

--- Returns why Slurm cannot be started here; nil if it can.
function slurm.missing()
   local path = "PATH=$PATH:/usr/sbin"
   for _, name in ipairs(PROGRAMS) do
      if select(2, c.sh(("%s command -v %s"):format(path, name))) ~= 0 then return name .. " is not installed" end
   end
   if not has_address() and unistd.geteuid() ~= 0 then
      return "the name of this host has no address, and only root can give Slurm another"
   end
end

-- Runs a command with this Slurm's configuration, and with the host name that it has for this host.
function slurm:sh(command)
   local line = ("export PATH=$PATH:/usr/sbin SLURM_CONF=%s/slurm.conf; cd %s; %s"):format(self.dir, self.dir, command)
   if self.renamed then line = "unshare --uts sh -c " .. terminal.quote("hostname localhost; " .. line) end
   return c.sh(line)
end

local function must(self, command)
   local out, status = self:sh(command)
   assert(status == 0, out)
   return out
end

-- Waits until all nodes have registered, since no job begins before that.
local function wait_for_nodes(self)
   must(self, ("timeout %d srun -N%d -n%d true"):format(PATIENCE, NODES, NODES))
end

--- Starts a Slurm.
-- @return table `dir`, its folder; `sh(command)`; `stop()`
function slurm.start()
   local self = setmetatable({ dir = os.tmpname() .. ".slurm", renamed = not has_address() }, slurm)
   local first = 20000 + unistd.getpid() % 4000 * 8
   local values = { DIR = self.dir, HOST = self.renamed and "localhost" or (c.sh("hostname -s"):gsub("%s", "")),
      PORT = tostring(first), USER = (c.sh("id -un"):gsub("%s", "")), FROM = tostring(first + 1),
      TO = tostring(first + NODES) }
   assert(select(2, c.sh(("mkdir -p %s/state"):format(self.dir))) == 0)
   files.write(self.dir .. "/slurm.conf", (CONFIG:gsub("%u%u+", values)))
   must(self, "slurmctld")
   for n = 1, NODES do must(self, ("mkdir -p spool-n%d && slurmd -N n%d"):format(n, n)) end
   wait_for_nodes(self)
   return self
end

--- Stops the daemons, and waits for their end.
function slurm:stop()
   self:sh([[for f in slurmd-*.pid slurmctld.pid; do
      [ -s $f ] || continue
      pid=$(cat $f)
      kill $pid && tail --pid=$pid -f /dev/null
   done]])
   c.sh("rm -rf " .. self.dir .. " " .. (self.dir:gsub("%.slurm$", "")))
end

return slurm
