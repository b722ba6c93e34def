-- SPDX-License-Identifier: MIT
--- Starts a student's interpreter so that its script can reach little: it has an environment of its
-- own and limits of CPU time, memory, processes and files. Where the system permits it, namespaces
-- hide the network, other processes, home folders and the files of the labs.
-- @module repl.lab.confine

local namespace = require "repl.prompt.namespace"
local dirent = require "posix.dirent"
local stat = require "posix.sys.stat"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"

local confine = {}

local MEMORY, FILE, DESCRIPTORS, PROCESSES = 2 ^ 30, 2 ^ 20, 64, 32 -- bytes, bytes, numbers
local NOBODY = "65534"
local VARIABLES = { "LD_LIBRARY_PATH", "LPFM_SCRIPTS", "LPFM_CPATH" }
local KIT = { "kit.lua", "here.lua", "native.lua" } -- the files of the labs that scripts may load
local PARTS = { "pfm", "repl" } -- folders of a source tree that scripts may see
local SCRIPT = "repl/lab/script.lua" -- what the interpreter runs
-- Folders of labs that another installation of lpfm may have.
local INSTALLED = { "/usr/share/lpfm/scripts/labs", "/usr/local/share/lpfm/scripts/labs" }

-- The shell script with the arguments ROOT [PATH | hide:PATH]... -- COMMAND...: it runs a command
-- in a file system that has /usr and the given paths, read only, and an empty /tmp; hide:PATH
-- mounts an empty folder over PATH. The shell is root in its own namespaces, and leaves nothing
-- mounted outside of them. One mount(8) makes many mounts, since its start takes longer than the
-- mounts do.
local IN_NAMESPACES = [=[
set -e
root=$1
shift
mount -t tmpfs -o size=16m,mode=755 none "$root"
cd "$root"
mkdir old proc tmp
chmod 1777 tmp

# add SOURCE PATH TYPE OPTIONS: adds a line to the table of mounts, in the format of fstab(5)
add() {
	table="$table
$1 $at$2 $3 $4"
}
mount_all() {
	printf '%s\n' "$table" >table
	mount -a -T "$root/table"
	table=
}

# quote PATH: sets quoted to the path, escaped for the table
quote() {
	quoted=$1
	case $1 in
	*[[:cntrl:]]*) exit 1;;
	*[\ \\]*) quoted=$(printf %s "$1" | sed 's/\\/\\134/g; s/ /\\040/g');;
	esac
}

# show PATH: adds a mount of the path, read only, at the same place below the root
show() {
	quote "$1"
	if [ -d "$1" ]; then
		add "$quoted" "$quoted" none rbind,ro,X-mount.mkdir
		return
	fi
	[ -d ".${1%/*}" ] || mkdir -p ".${1%/*}"
	[ -e ".$1" ] || : >".$1"
	add "$quoted" "$quoted" none bind,ro
}

quote "$root"
at=$quoted table=
add none /proc proc defaults
for path in /bin /lib /lib64 /sbin; do
	if [ -L $path ]; then cp -P $path .; elif [ -d $path ]; then show $path; fi
done
for path in /usr /etc/alternatives /etc/ld.so.cache /dev/null /dev/urandom; do
	[ ! -e $path ] || show $path
done
while [ "$1" != -- ]; do
	case $1 in
	hide:*)
		quote "${1#hide:}"
		add none "$quoted" tmpfs size=1m,mode=755
		mount_all;;
	*) show "$1";;
	esac
	shift
done
shift
mount_all
rm table
pivot_root . old
umount -l /old
cd /tmp
"$@"
]=]

local function absolute(path)
   local full = path:sub(1, 1) == "/" and path or unistd.getcwd() .. "/" .. path
   return stdlib.realpath(full) or full
end

local function exists(path)
   return stat.stat(path) ~= nil
end

-- Returns the templates of package.path or package.cpath that are for existing folders, with
-- symbolic links resolved. "." is kept only if it is the source tree; any other current folder has
-- nothing to do with modules.
local function search_path(text)
   local out = {}
   for template in text:gmatch("[^;]+") do
      local folder, name = template:match("^(.-)/([^/]*%?.*)$")
      local is_chance = folder == "." and not exists("repl/lab")
      if folder and not is_chance and stdlib.realpath(folder) then out[#out + 1] = absolute(folder) .. "/" .. name end
   end
   return table.concat(out, ";")
end

-- Returns the folders in which modules are looked for, each once.
local function module_folders()
   local out, seen = {}, {}
   for folder in (search_path(package.path) .. ";" .. search_path(package.cpath)):gmatch("([^;]-)/[^;/]*%?[^;]*") do
      if not seen[folder] then out[#out + 1] = folder end
      seen[folder] = true
   end
   return out
end

local function is_of_system(path)
   return path:find("^/usr/") ~= nil
end

-- Returns the path of script.lua, which a student's interpreter runs.
local function script_file()
   for _, folder in ipairs(module_folders()) do
      if exists(folder .. "/" .. SCRIPT) then return folder .. "/" .. SCRIPT end
   end
   error(SCRIPT .. " is not installed", 0)
end

local function add(list, ...)
   for _, word in ipairs { ... } do list[#list + 1] = tostring(word) end
   return list
end

-- Returns the arguments of IN_NAMESPACES: the paths that the interpreter needs, and the folders of
-- labs that it must not see.
local function view(program)
   local out, hidden = {}, {}
   local function show(path)
      if exists(path) and not is_of_system(path) then out[#out + 1] = path end
   end
   show(program)
   for _, labs in ipairs(INSTALLED) do
      if exists(labs) then hidden[#hidden + 1] = "hide:" .. labs end
   end
   for _, folder in ipairs(module_folders()) do
      local is_tree = false
      for _, part in ipairs { "labs", unpack(PARTS) } do is_tree = is_tree or exists(folder .. "/" .. part) end
      for _, part in ipairs(is_tree and PARTS or { "" }) do show(((folder .. "/" .. part):gsub("/$", ""))) end
      if exists(folder .. "/lpfm.so") then
         show(folder)
         local libraries = folder:match("^(.*)/")
         for _, name in ipairs(namespace.entries(libraries) or {}) do
            if name:find("^lib.*%.so") then show(libraries .. "/" .. name) end
         end
      end
      local labs = folder .. "/labs"
      if exists(labs) then
         if not is_of_system(labs) then out[#out + 1] = labs end
         hidden[#hidden + 1] = "hide:" .. labs
         for _, file in ipairs(KIT) do
            if exists(labs .. "/" .. file) then hidden[#hidden + 1] = labs .. "/" .. file end
         end
      end
   end
   return add(out, unpack(hidden))
end

-- Returns the number of tasks of the user that the script runs as. Without a user namespace
-- RLIMIT_NPROC counts all of them, so the limit must allow for them.
local function tasks_of_user()
   local n, uid = 0, unistd.geteuid()
   if uid == 0 then uid = tonumber(NOBODY) end
   for pid in dirent.files("/proc") do
      local info = pid:find("^%d+$") and stat.stat("/proc/" .. pid)
      if info and info.st_uid == uid then n = n + #(namespace.entries(("/proc/%s/task"):format(pid)) or {}) end
   end
   return n
end

-- The shell script with the arguments SECONDS KIB BLOCKS DESCRIPTORS PROCESSES COMMAND...: it runs
-- a command with these limits. The option of ulimit for processes is -p in dash and -u in bash.
local LIMITED = [[
ulimit -c 0 && ulimit -t "$1" && ulimit -v "$2" && ulimit -f "$3" && ulimit -n "$4" || exit 1
ulimit -p "$5" 2>/dev/null || ulimit -u "$5" || exit 1
shift 5
exec "$@"]]

local function limited(out, way, cpu)
   local processes = PROCESSES + (way == "namespaces" and 0 or tasks_of_user())
   return add(out, "sh", "-c", LIMITED, "sh", cpu, ("%d"):format(MEMORY / 1024), ("%d"):format(FILE / 512),
      DESCRIPTORS, processes)
end

-- Appends the command that drops the privileges which the interpreter must not have.
local function unprivileged(out, way)
   local is_root = unistd.geteuid() == 0
   add(out, "setpriv", "--no-new-privs", "--inh-caps=-all")
   if is_root or way == "namespaces" then add(out, "--bounding-set=-all") end
   if is_root then add(out, "--reuid=" .. NOBODY, "--regid=" .. NOBODY, "--clear-groups") end
   return out
end

local function environment(out)
   add(out, "env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent",
      "LUA_PATH=" .. search_path(package.path), "LUA_CPATH=" .. search_path(package.cpath))
   for _, name in ipairs(VARIABLES) do
      local value = os.getenv(name)
      if value then add(out, name .. "=" .. absolute(value)) end
   end
   return out
end

-- Returns the beginning of a command that creates the namespaces; the command that runs in them
-- follows it. root_dir is an empty folder.
local function unshared(program, root_dir)
   local out = { "unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child" }
   if unistd.geteuid() ~= 0 then add(out, "--user", "--map-root-user") end
   add(out, "sh", "-c", IN_NAMESPACES, "sh", root_dir)
   return add(add(out, unpack(view(program))), "--")
end

--- The ways to confine a script, the strongest first.
confine.ways = { "namespaces", "privileges", "limits" }

--- Returns the command line that runs a program confined.
-- @string way one of `confine.ways`
-- @int cpu seconds of CPU time, 1 or more
-- @string root_dir an empty folder, over which the namespaces' file system is mounted
-- @tparam[opt] {string,...} command program and arguments; by default a student's interpreter,
-- which reads its requests from a socket at descriptor 0
-- @treturn {string,...} program and arguments
function confine.command(way, cpu, root_dir, command)
   local program = assert(unistd.readlink("/proc/self/exe"))
   local out = environment(way == "namespaces" and unshared(program, root_dir) or {})
   if way ~= "limits" then unprivileged(out, way) end
   return add(limited(out, way, cpu), unpack(command or { program, script_file() }))
end

return confine
