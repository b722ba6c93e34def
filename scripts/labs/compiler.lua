-- SPDX-License-Identifier: MIT
--- C programs of labs: built by the compiler of this computer, and measured without a clock.
-- valgrind's lackey writes down what such a program executes, and the simulated computer replays it
-- through its caches.
-- @module labs.compiler
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local text_file = require "pfm.util.text_file"
local unistd = require "posix.unistd"

local compiler = {}

local PATIENCE = 60 -- s that the compiler may take
local LONGEST = 65536 -- bytes of a source
local WAYS_AND_LINE = ":8:64" -- the simulated cache has 8 ways, and lines of 64 bytes

--- Returns the command that runs `command` confined; `repl.lab.judge` replaces this function.
-- @tparam {string,...} command
-- @treturn {string,...}
function compiler.confined(command)
   return command
end

local function write(path, text)
   local file = assert(io.open(path, "wb"))
   file:write(text)
   assert(file:close())
end

local function missing(name, package, message, errno)
   error(errno == lpfm.errno.ENOENT and ("%s is missing (Debian: apt install %s)"):format(name, package) or message, 0)
end

--- Builds a program.
-- @string path of the file to be made
-- @string source C
-- @tparam {string,...} flags of the compiler
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string what the compiler says
-- @raise where there is no compiler
function compiler.build(path, source, flags)
   local file, messages = path .. ".c", path .. ".err"
   write(file, source)
   local argv = { "cc", unpack(flags) }
   for _, word in ipairs { "-o", path, file } do argv[#argv + 1] = word end
   local child = assert(proc.spawn(argv, { stderr = messages, stdin = false, bound = true }))
   local ok, message, errno = child:go()
   local outcome = ok and child:wait(PATIENCE)
   child:close()
   local said = text_file.all(messages) or ""
   os.remove(file)
   os.remove(messages)
   if not ok then missing("cc", "gcc libc6-dev", message, errno) end
   if outcome and outcome.status == 0 then return true end
   return nil, (said:gsub(file:gsub("%p", "%%%0"), "program.c"))
end

-- --- programs without a library ------------------------------------------------------------------

-- The code around a student's functions has no library, and few instructions of its own. @names get
-- a random ending in each program, so that no source can call what they name.
local AROUND = [[
typedef unsigned long @size;
static long @call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}
#if defined(__x86_64__)
enum { @READ = 0, @WRITE = 1, @EXIT = 231 };
__asm__(".globl _start\n_start: xor %ebp, %ebp\n\tand $-16, %rsp\n\tcall @start\n");
#elif defined(__aarch64__)
enum { @READ = 63, @WRITE = 64, @EXIT = 94 };
__asm__(".globl _start\n_start: mov x29, 0\n\tbl @start\n");
#else
#error "programs of this lab are for x86_64 and aarch64"
#endif
static void @in(void *to, @size n)
{
	for (@size done = 0; done < n;) {
		long got = @call(@READ, 0, (long)to + done, n - done);

		if (got <= 0)
			@call(@EXIT, 3, 0, 0);
		done += got;
	}
}
static void @out(const void *from, @size n)
{
	for (@size done = 0; done < n;) {
		long put = @call(@WRITE, 1, (long)from + done, n - done);

		if (put <= 0)
			@call(@EXIT, 3, 0, 0);
		done += put;
	}
}
#define @BYTES __attribute__((optimize("no-tree-loop-distribute-patterns")))
@BYTES void *memset(void *to, int byte, @size n)
{
	for (@size i = 0; i < n; i++)
		((char *)to)[i] = byte;
	return to;
}
@BYTES void *memcpy(void *to, const void *from, @size n)
{
	for (@size i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}
@MAIN
void @start(void)
{
	char called;

	@in(&called, 1);
	@main(called);
	@call(@EXIT, 0, 0, 0);
}
]]

-- Arguments FD LENGTH FLAG...: builds the first LENGTH bytes of its input, and runs the program,
-- traced to FD, with the rest. The program cannot start processes, which the trace would lack.
local BUILD_AND_RUN = [[
fd=$1 length=$2
shift 2
dir=$(mktemp -d) || exit 9
trap 'rm -rf "$dir"' EXIT
cd "$dir" && head -c "$length" >program.c || exit 9
command -v cc >/dev/null || exit 6
command -v valgrind >/dev/null || exit 7
cc "$@" -o program program.c </dev/null || exit 8
(
	ulimit -p 1 2>/dev/null || ulimit -u 1
	exec env -i PATH="$PATH" valgrind -q --tool=lackey --trace-mem=yes --basic-counts=no --vgdb=no \
		--log-fd="$fd" ./program
)]]

local FLAGS = { "-O1", "-w", "-std=gnu11", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
   "-fno-pie", "-no-pie" }

-- Returns why a source is refused, or nil: the compiler also accepts code outside of functions.
local function refusal(source)
   if #source > LONGEST then return ("the source has more than %d bytes"):format(LONGEST) end
   if source:find("\0", 1, true) then return "the source has a byte 0" end
   if source:find("\\%s*\n") or source:find("??", 1, true) or source:find("%:", 1, true) then
      return "a line that ends with a backslash, '??' or '%:' is not allowed here"
   end
   if source:find("asm") or source:find("_Pragma") then return "'asm' and '_Pragma' are not allowed here" end
   for line in source:gmatch("[^\n]+") do
      if line:gsub("^%s*#%s*pragma%s+GCC%s", ""):find("#", 1, true) then
         return ("'%s' is not allowed here: # may begin a line of #pragma GCC, and be nowhere else"):format(
            line:sub(1, 40))
      end
   end
end

local function program_of(source, main)
   local file = assert(io.open("/dev/urandom", "rb"))
   local suffix = file:read(8):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
   file:close()
   return source .. "\n" .. AROUND:gsub("@MAIN", function() return main end):gsub("@(%a+)", "%1_" .. suffix)
end

-- Returns the first error of a compiler or linker, without the random endings of names.
local function first_error(said)
   local line = said:match("undefined reference[^\n]*") or said:match("[^\n]*error[^\n]*") or said
   return (line:gsub("_" .. ("%x"):rep(16), ""):gsub("^program%.c:", "line "):sub(1, 300))
end

-- Says how a program that failed ended. From a shell, the status may stand for a signal.
local function ended(outcome)
   local status = outcome.status
   local signal = outcome.signal or status and status > 128 and status - 128
   return ("The program ended with %s."):format(signal and "signal " .. signal or "status " .. tostring(status))
end

-- Runs the shell program above; returns the bytes of the trace, and what the program wrote.
local function traced(program, input, files)
   local from, to = unistd.pipe()
   assert(from, to)
   write(files.input, program .. input)
   local argv = { "sh", "-c", BUILD_AND_RUN, "sh", ("%d"):format(to), ("%d"):format(#program), unpack(FLAGS) }
   local child = assert(proc.spawn(compiler.confined(argv), { stdin = files.input, stdout = files.output,
      stderr = files.messages, pass = to, cwd = "/", bound = true }))
   assert(child:go())
   unistd.close(to)
   local bytes, message = lpfm.lackey_trace(from)
   unistd.close(from)
   local outcome = child:wait(PATIENCE)
   child:close()
   local said = (text_file.all(files.messages) or ""):gsub("%s+$", "")
   if not outcome then error("the program did not end", 0) end
   if outcome.status == 7 then error("valgrind is missing (Debian: apt install valgrind)", 0) end
   if outcome.status == 6 then missing("cc", "gcc libc6-dev", nil, lpfm.errno.ENOENT) end
   if outcome.status == 8 then return nil, "The compiler says: " .. first_error(said) end
   if outcome.status ~= 0 then return nil, ended(outcome) end
   if not bytes then error(message, 0) end
   return bytes, text_file.all(files.output) or ""
end

-- Replays a trace on the simulated computer.
local function replayed(kit, p, bytes, files)
   write(files.trace, bytes)
   local m = kit.machine(p, { l1d = p.cache .. WAYS_AND_LINE, l2 = 0, itlb = 0, dtlb = 0 })
   local truth = kit.run(m, { { trace = files.trace } })
   local l1d = m:caches().L1D
   return { instructions = truth.instructions.total, cycles = truth.cycles.total,
      accesses = l1d.loads + l1d.stores, misses = l1d.load_misses + l1d.store_misses }
end

--- Measures a function in C: the program is run twice, with and without the call, and the
-- difference is what counts.
-- @tparam table kit
-- @tparam table p parameters: `model`; `cache`, bytes of its only cache, 512 or a power of two
-- times that
-- @string source the function, without a library and without preprocessor
-- @string main C: a function `static void @main(char called)`, which gets its input by
-- `@in(to, bytes)`, calls the function if `called`, and gives its result by `@out(from, bytes)`
-- @string input bytes
-- @treturn[1] table `instructions`, `cycles`, `accesses`, `misses` (of the L1D) of the call, and
-- `output`, bytes
-- @return[2] nil
-- @treturn[2] string what is wrong with the source
-- @raise where there is no compiler or no valgrind
function compiler.measure(kit, p, source, main, input)
   local why = refusal(source)
   if why then return nil, why:gsub("^%l", string.upper) .. "." end
   local name = os.tmpname()
   local files = { input = name, output = name .. ".out", messages = name .. ".err", trace = name .. ".trace" }
   local program = program_of(source, main)
   local ok, out, message = pcall(function()
      local all = {}
      for called = 0, 1 do
         local bytes, output = traced(program, string.char(called) .. input, files)
         if not bytes then return nil, output end
         all[called] = replayed(kit, p, bytes, files)
         all[called].output = output
      end
      local difference = { output = all[1].output }
      for what, value in pairs(all[1]) do
         if type(value) == "number" then difference[what] = value - all[0][what] end
      end
      return difference
   end)
   for _, file in pairs(files) do os.remove(file) end
   if not ok then error(out, 0) end
   return out, message
end

return compiler
