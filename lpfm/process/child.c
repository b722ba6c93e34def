/* SPDX-License-Identifier: MIT */
/*
 * child.c - child processes that wait for child:go() before they execute their program.
 *
 * Child and parent hold the ends of a socket pair. The child waits for a byte; if the exec fails,
 * it sends back the errno. A successful exec closes its end. The death of the parent closes the
 * other end, and a waiting child then exits. Between fork and exec the child only makes system
 * calls.
 */
/***
Child processes.

@classmod child
*/
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "base/result.h"
#include "base/wait.h"
#include "process/proc.h"
#include "process/process.h"

extern char **environ;

static void release(void *child);

static const struct lpfm_class child_class = { "lpfm.child", release };

struct child {
	struct lpfm_head	head;
	struct lpfm_process	*process;	/* NULL: the object is closed */
	/* socket on which the child waits for child:go(); -1: it was started */
	int			sock;
};

/* What the child will do. Its strings belong to the arguments of spawn(). */
struct plan {
	char		**argv, **envp;
	const char	*cwd;
	bool		group;			/* the child leads a process group */
	bool		bound;			/* the child gets SIGTERM when this process ends */
	int		stdio[3];		/* descriptors; -1: the same as the parent's */
	int		pass;			/* a further descriptor for the child; or -1 */
};

/* --- between fork and exec ------------------------------------------------------------------ */

/*
 * Makes the plan's descriptors stdin, stdout and stderr. They are first duplicated above 2, so that
 * none overwrites another. Returns 0, or -1 with errno.
 */
static int redirect(const struct plan *plan)
{
	int from[3];

	for (int i = 0; i < 3; i++) {
		from[i] = plan->stdio[i] < 0 ? -1 : fcntl(plan->stdio[i], F_DUPFD_CLOEXEC, 3);
		if (plan->stdio[i] >= 0 && from[i] < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (from[i] >= 0 && dup2(from[i], i) < 0)
			return -1;
	return 0;
}

/*
 * Resets the signals that this process handles, as the child must not run its handlers, and sets
 * the mask. Signals that are ignored, or were until this module handled them, are ignored.
 */
static void take_signals(const sigset_t *mask)
{
	struct sigaction action;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &action) || action.sa_handler == SIG_IGN)
			continue;
		action = (struct sigaction){ .sa_handler = lpfm_was_ignored(sig, action.sa_handler) ?
					      SIG_IGN : SIG_DFL };
		sigaction(sig, &action, NULL);
	}
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static _Noreturn void run_child(const struct plan *plan, int sock)
{
	ssize_t got;
	char go;
	int err;

	if (plan->bound)
		/* if the parent has ended, no signal comes, but read() below gets no byte */
		prctl(PR_SET_PDEATHSIG, SIGTERM);

	/*
	 * The parent waits for this byte before it returns from spawn(). So what the child does
	 * until here, such as copying pages after the fork, is not counted for the program.
	 */
	if (send(sock, "", 1, MSG_NOSIGNAL) != 1)
		_exit(errno);
	do
		got = read(sock, &go, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127);
	if (plan->group)
		setpgid(0, 0);
	if (plan->pass >= 0)
		fcntl(plan->pass, F_SETFD, 0);
	if (!redirect(plan) && !(plan->cwd && chdir(plan->cwd))) {
		lpfm_restore_limits();
		execvpe(plan->argv[0], plan->argv, plan->envp);
	}
	err = errno;
	(void)!send(sock, &err, sizeof(err), MSG_NOSIGNAL);
	_exit(127);
}

/* --- spawn ---------------------------------------------------------------------------------- */

/* Makes an argument vector from the list at idx, in a userdata which is pushed. */
static char **read_argv(lua_State *L, int idx)
{
	struct lpfm_site site = { .call = "spawn", .arg = "argv" };
	size_t n = lua_istable(L, idx) ? lua_objlen(L, idx) : 0;
	char **argv;

	if (!n || n > 1000000)
		lpfm_bad_value(L, &site, "list of the program and its arguments", idx);
	argv = lua_newuserdata(L, (n + 1) * sizeof(*argv));
	argv[n] = NULL;
	for (size_t i = 0; i < n; i++) {
		site.element = (int)i + 1;
		lua_rawgeti(L, idx, (int)i + 1);
		argv[i] = (char *)(uintptr_t)lpfm_to_string(L, -1, &site);
		lua_pop(L, 1);
	}
	return argv;
}

/* Returns true if the table at idx has the variable of the entry "NAME=value". */
static bool overridden(lua_State *L, int idx, const char *entry)
{
	const char *end = strchr(entry, '=');
	bool found;

	if (!end)
		return false;
	lua_pushlstring(L, entry, (size_t)(end - entry));
	lua_rawget(L, idx);
	found = !lua_isnil(L, -1);
	lua_pop(L, 1);
	return found;
}

/*
 * Makes "NAME=value" from the pair on top of the stack, and keeps it in the table at keep. Returns
 * NULL if the value is false, which removes the variable.
 */
static char *env_entry(lua_State *L, int keep, const struct lpfm_site *site)
{
	int top = lua_gettop(L);
	const char *name = lpfm_to_string(L, top - 1, site), *value;

	if (!*name || strchr(name, '='))
		lpfm_bad(L, site, "'%s' is no name of a variable", name);
	if (lua_isboolean(L, top) && !lua_toboolean(L, top))
		return NULL;
	value = lpfm_to_string(L, top, site);
	lua_pushfstring(L, "%s=%s", name, value);
	lua_pushvalue(L, -1);
	lua_rawseti(L, keep, (int)lua_objlen(L, keep) + 1);
	lua_pop(L, 1);
	lua_rawgeti(L, keep, (int)lua_objlen(L, keep));
	value = lua_tostring(L, -1);
	lua_pop(L, 1);
	return (char *)(uintptr_t)value;
}

static size_t count_pairs(lua_State *L, int idx)
{
	size_t n = 0;

	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
		n++;
	return n;
}

/*
 * Returns the environment with the changes in the table at idx. Pushes two values that keep it
 * alive.
 */
static char **read_env(lua_State *L, int idx, struct lpfm_site *site)
{
	size_t room = 1, n = 0;
	char **envp;
	int keep;

	if (!lua_istable(L, idx))
		lpfm_bad_value(L, site, "table", idx);
	while (environ[room - 1])
		room++;
	room += count_pairs(L, idx);
	lua_newtable(L);
	keep = lua_gettop(L);
	envp = lua_newuserdata(L, room * sizeof(*envp));
	for (char **e = environ; *e; e++)
		if (!overridden(L, idx, *e))
			envp[n++] = *e;
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		envp[n] = env_entry(L, keep, site);
		n += envp[n] ? 1 : 0;
	}
	envp[n] = NULL;
	return envp;
}

/*
 * Checks stdin, stdout or stderr: the number of a descriptor, false for /dev/null, or a file name.
 */
static void check_stdio(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (lua_type(L, idx) == LUA_TNUMBER)
		lpfm_to_int(L, idx, site, 0, INT32_MAX);
	else if (lua_type(L, idx) == LUA_TSTRING)
		lpfm_to_string(L, idx, site);
	else if (!lua_isboolean(L, idx) || lua_toboolean(L, idx))
		lpfm_bad_value(L, site, "descriptor, file name or false", idx);
}

static const char *const stdio_names[] = { "stdin", "stdout", "stderr" };

static int stdio_index(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(name, stdio_names[i]))
			return i;
	return -1;
}

/*
 * Checks all options before anything is opened or made. If there is an option env, leaves values on
 * the stack that keep the environment alive.
 */
static void read_options(lua_State *L, int idx, struct plan *plan)
{
	struct lpfm_site site = { .call = "spawn" };

	if (lua_isnoneornil(L, idx))
		return;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		site.field = NULL;
		site.field = lpfm_field_name(L, -2, &site);
		if (!strcmp(site.field, "cwd")) {
			plan->cwd = lpfm_to_string(L, -1, &site);
		} else if (!strcmp(site.field, "group")) {
			plan->group = lua_toboolean(L, -1);
		} else if (!strcmp(site.field, "bound")) {
			plan->bound = lua_toboolean(L, -1);
		} else if (!strcmp(site.field, "pass")) {
			plan->pass = (int)lpfm_to_int(L, lua_gettop(L), &site, 0, INT32_MAX);
		} else if (stdio_index(site.field) >= 0) {
			check_stdio(L, lua_gettop(L), &site);
		} else if (strcmp(site.field, "env")) {
			site.field = NULL;
			lpfm_bad(L, &site, "unknown field '%s'", lua_tostring(L, -2));
		}
	}
	site.field = "env";
	lua_pushliteral(L, "env");
	lua_rawget(L, idx);
	if (!lua_isnil(L, -1))
		plan->envp = read_env(L, lua_gettop(L), &site);
}

/*
 * Returns the descriptor for stdin, stdout or stderr (i), or -1 with errno. *mine is true if it was
 * opened here, and must be closed again.
 */
static int open_stdio(lua_State *L, int idx, int i, bool *mine)
{
	const char *name;

	/* tested before lua_tostring() turns the number into a string */
	*mine = lua_type(L, idx) != LUA_TNUMBER;
	if (!*mine)
		return (int)lua_tointeger(L, idx);
	name = lua_isboolean(L, idx) ? "/dev/null" : lua_tostring(L, idx);
	return open(name, O_CLOEXEC | (i ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY), 0666);
}

/* Makes the child, which waits. Returns its pid, or -1 with errno, and in *what what failed. */
static pid_t fork_child(const struct plan *plan, int *sock, const char **what)
{
	sigset_t all, mask;
	int ends[2], err;
	pid_t pid;

	*what = "socketpair";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	*what = "fork";
	lpfm_keep_descriptors();
	sigfillset(&all);
	/* signals stay blocked in the child until take_signals() has removed the handlers */
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pid = fork();
	if (!pid) {
		take_signals(&mask);
		close(ends[0]);
		run_child(plan, ends[1]);
	}
	err = errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	*sock = ends[0];
	errno = err;
	return pid;
}

/*
 * Waits until the child waits for go(). Returns 0, or -1 with errno: the child could not send the
 * byte, and has ended with the errno as its status. If a signal has ended it, go() will report it.
 */
static int await_child(int sock, pid_t pid)
{
	siginfo_t info = { .si_code = 0 };
	ssize_t got;
	char ready;

	do
		got = recv(sock, &ready, 1, 0);
	while (got < 0 && errno == EINTR);
	if (got || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) || info.si_code != CLD_EXITED)
		return 0;
	errno = info.si_status;
	return -1;
}

/* wait() does not report the end of a child while SIGCHLD is ignored. */
static void unignore_sigchld(void)
{
	struct sigaction action;

	if (!sigaction(SIGCHLD, NULL, &action) && action.sa_handler == SIG_IGN)
		lpfm_set_signal(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL });
}

static int start(struct child *c, const struct plan *plan, const char **what)
{
	pid_t pid;
	int err;

	unignore_sigchld();
	pid = fork_child(plan, &c->sock, what);
	if (pid < 0) {
		c->sock = -1;
		return -1;
	}
	*what = "send";
	err = await_child(c->sock, pid) ? errno : 0;
	c->process = err ? NULL : lpfm_process_new(pid);
	if (c->process)
		return 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(c->sock);
	c->sock = -1;
	errno = err ? err : ENOMEM;
	return -1;
}

/*
 * Opens files, forks and closes the files; calls no function of Lua that could raise, so that no
 * file stays open. Returns 0, or -1 with errno.
 */
static int start_with_stdio(lua_State *L, struct child *c, struct plan *plan, const int *values,
			    const char **what)
{
	bool mine[3] = { false };
	int ret = 0, err;

	for (int i = 0; i < 3 && !ret; i++) {
		plan->stdio[i] = -1;
		if (!values[i])
			continue;
		plan->stdio[i] = open_stdio(L, values[i], i, &mine[i]);
		ret = plan->stdio[i] < 0 ? -1 : 0;
		*what = stdio_names[i];
	}
	if (!ret)
		ret = start(c, plan, what);
	err = errno;
	for (int i = 0; i < 3; i++)
		if (mine[i] && plan->stdio[i] >= 0)
			close(plan->stdio[i]);
	errno = err;
	return ret;
}

/*
 * Pushes the options stdin, stdout and stderr, and stores their stack indices in values; 0 if an
 * option is not given.
 */
static void push_stdio(lua_State *L, int options, int *values)
{
	for (int i = 0; i < 3; i++) {
		values[i] = 0;
		if (lua_isnoneornil(L, options))
			continue;
		lua_pushstring(L, stdio_names[i]);
		lua_rawget(L, options);
		values[i] = lua_isnil(L, -1) ? 0 : lua_gettop(L);
	}
}

/***
Makes a process that will run a program. It exists, and can be monitored, but waits for child:go().
Without go() it ends with its object, or with this process. If this process ignores SIGCHLD, it no
longer does, but the program will.
@function lpfm.proc.spawn
@tparam table argv the program, looked for in PATH, and its arguments
@tparam[opt] table options
@string[opt] options.cwd its directory
@tparam[opt] table options.env changes to the environment: {NAME="value", OTHER=false}
@param[opt] options.stdin descriptor, file name, or false for /dev/null
@param[opt] options.stdout the same
@param[opt] options.stderr the same
@int[opt] options.pass another descriptor that the program gets under the same number; others that
were opened after this module was loaded are closed
@bool[opt] options.group it begins a process group, which a terminal's Ctrl-C does not reach
@bool[opt] options.bound it gets SIGTERM when this process ends, for whatever reason
@treturn[1] child
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@raise on wrong types and unknown fields
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn({ "true" }))
assert(child:go())
assert(child:wait().status == 0)
*/
int lpfm_proc_spawn(lua_State *L)
{
	struct plan plan = { .envp = environ, .pass = -1 };
	const char *what = NULL;
	struct child *c;
	int values[3];

	lua_settop(L, 2);
	luaL_checkstack(L, 20, "spawn");
	plan.argv = read_argv(L, 1);
	read_options(L, 2, &plan);
	push_stdio(L, 2, values);
	c = lpfm_object_new(L, sizeof(*c));
	c->sock = -1;
	lpfm_object_arm(L, c, &child_class);
	if (start_with_stdio(L, c, &plan, values, &what))
		return lpfm_fail_errno(L, errno, "spawn: %s: %s", what, strerror(errno));
	lua_createtable(L, 1, 1);
	lpfm_set_text(L, "name", plan.argv[0]);
	lua_setfenv(L, -2);
	return 1;
}

/* --- the child ------------------------------------------------------------------------------ */

static struct child *any_child(lua_State *L)
{
	return lpfm_object_check(L, 1, &child_class);
}

static struct child *open_child(lua_State *L)
{
	struct child *c = any_child(L);

	if (!c->process)
		luaL_error(L, "the child is closed");
	return c;
}

static const char *program_name(lua_State *L)
{
	lua_getfenv(L, 1);
	lua_getfield(L, -1, "name");
	return lua_tostring(L, -1);
}

/*
 * Lets the child run its program. Returns 0 if the program runs, the errno if the exec failed, and
 * -1 if the child had ended before.
 */
static int exec_outcome(int sock)
{
	ssize_t got;
	int err = 0;

	do
		got = send(sock, "g", 1, MSG_NOSIGNAL);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		return -1;
	do
		got = read(sock, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	return got == sizeof(err) ? err : 0;
}

/***
Lets the program run.
@function child:go
@treturn[1] boolean true: the program has been executed
@return[2] nil
@treturn[2] string message: "cannot run PROGRAM: reason"
@treturn[2] int errno: ENOENT, EACCES, ...
@raise if it was called before
@usage
local child = assert(require("lpfm.proc").spawn { "no-such-program" })
local ok, message, errno = child:go()
assert(not ok and errno == require("lpfm").errno.ENOENT)
print(message)
*/
static int child_go(lua_State *L)
{
	struct child *c = open_child(L);
	int sock = c->sock, err;

	if (sock < 0)
		return luaL_error(L, "go: the child has been started already");
	c->sock = -1;
	err = exec_outcome(sock);
	close(sock);
	if (!err)
		return lpfm_true(L);
	err = err < 0 ? ESRCH : err;
	return lpfm_fail_errno(L, err, "cannot run %s: %s", program_name(L), err == ESRCH ?
			       "the process was ended before" : strerror(err));
}

/*
 * Adds the fields status (exit status), or signal and signal_name, for a wait4() status to the
 * table on top.
 */
static void add_status(lua_State *L, int status)
{
	if (WIFEXITED(status)) {
		lpfm_set_number(L, "status", WEXITSTATUS(status));
		return;
	}
	lpfm_set_number(L, "signal", WTERMSIG(status));
	lpfm_set_text(L, "signal_name", lpfm_signal_name(WTERMSIG(status)));
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

static void push_usage(lua_State *L, const struct rusage *u)
{
	const struct {
		const char	*name;
		double		value;
	} fields[] = {
		{ "utime", seconds(u->ru_utime) },
		{ "stime", seconds(u->ru_stime) },
		{ "minflt", (double)u->ru_minflt },
		{ "majflt", (double)u->ru_majflt },
		{ "nvcsw", (double)u->ru_nvcsw },
		{ "nivcsw", (double)u->ru_nivcsw },
		{ "maxrss", (double)u->ru_maxrss },
	};

	lua_createtable(L, 0, LPFM_COUNT(fields));
	for (size_t i = 0; i < LPFM_COUNT(fields); i++)
		lpfm_set_number(L, fields[i].name, fields[i].value);
}

/*
 * Waits for the end of the process, or a few milliseconds if it has no pidfd. Returns 1: check
 * again; 0: the deadline has passed; -1: errno.
 */
static int wait_a_while(lua_State *L, const struct lpfm_process *p, int64_t deadline)
{
	int64_t soon = lpfm_deadline(5000000);

	if (p->pidfd >= 0)
		return lpfm_wait_fd(L, p->pidfd, deadline);
	if (deadline >= 0 && deadline < soon)
		soon = deadline;
	if (lpfm_wait_fds(L, NULL, 0, soon) < 0)
		return -1;
	return deadline < 0 || lpfm_now() < deadline;
}

/***
Waits for the end of the process.
@function child:wait
@number[opt] timeout seconds to wait at most; without, as long as it takes
@treturn[1] table {status=exit status} or {signal=number, signal_name=}, and
rusage={utime=s, stime=s, minflt=, majflt=, nvcsw=, nivcsw=, maxrss=KiB}. Further calls return the
same
@return[2] nil
@treturn[2] string "timeout"
@return[3] nil
@treturn[3] string message
@treturn[3] int errno: EINTR after Ctrl-C, ECHILD if it was reaped by other code, not by this object
@usage
local child = assert(require("lpfm.proc").spawn { "sh", "-c", "exit 3" })
assert(child:go())
local ended = child:wait()
print(ended.status, ended.rusage.utime)
*/
static int child_wait(lua_State *L)
{
	struct lpfm_process *p = open_child(L)->process;
	int64_t deadline = lpfm_deadline(lpfm_arg_timeout(L, 2, "wait"));
	int done, more = 1;

	while (!(done = lpfm_process_poll(p)) && more > 0)
		more = wait_a_while(L, p, deadline);
	if (done < 0 || more < 0)
		return lpfm_fail_errno(L, errno, "wait: %s%s", done < 0 ? "waitid(2) or wait4(2): " : "",
				       strerror(errno));
	if (!done)
		return lpfm_timeout(L);
	lua_createtable(L, 0, 3);
	add_status(L, p->status);
	push_usage(L, &p->usage);
	lua_setfield(L, -2, "rusage");
	return 1;
}

/***
Sends the process a signal.
@function child:kill
@param[opt="TERM"] signal name or number
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH if it has been waited for
@raise on an unknown signal
@usage
local child = assert(require("lpfm.proc").spawn { "sleep", "100" })
assert(child:go())
assert(child:kill("KILL"))
assert(child:wait().signal_name == "KILL")
*/
static int child_kill(lua_State *L)
{
	struct lpfm_process *p = open_child(L)->process;
	int sig = lua_isnoneornil(L, 2) ? SIGTERM : lpfm_to_signal(L, 2, "kill");

	if (lpfm_process_kill(p, sig))
		return lpfm_fail_errno(L, errno, "kill: %s", strerror(errno));
	return lpfm_true(L);
}

/***
Returns a descriptor that is readable once the process has ended, for lpfm.poll.
@function child:fd
@treturn int
@raise where the kernel has no such descriptors (before Linux 5.3)
@usage
local child = assert(require("lpfm.proc").spawn { "true" })
assert(child:go())
assert(require("lpfm").poll({ child }, 60))
assert(child:wait(0).status == 0)
*/
static int child_fd(lua_State *L)
{
	struct lpfm_process *p = open_child(L)->process;

	if (p->pidfd < 0)
		return luaL_error(L, "fd: this kernel has no descriptors for processes");
	lua_pushinteger(L, p->pidfd);
	return 1;
}

/* Releases the child. It is killed if it was never started; if it has ended, it is reaped. */
static void release(void *child)
{
	struct child *c = child;
	struct lpfm_process *p = c->process;
	int sock = c->sock;

	c->process = NULL;
	c->sock = -1;
	if (!p)
		return;
	if (sock >= 0) {
		lpfm_process_kill(p, SIGKILL);
		close(sock);
		while (!lpfm_process_poll(p))
			poll(&(struct pollfd){ .fd = p->pidfd, .events = POLLIN }, 1, 10);
	} else {
		lpfm_process_poll(p);
	}
	lpfm_process_free(p);
}

/***
Releases the process. If it was never started by `child:go`, it ends; otherwise it keeps running.
@function child:close
@treturn boolean true
@usage
local child = assert(require("lpfm.proc").spawn { "true" })
child:close()                              -- was never started: it ends
*/
static int child_close(lua_State *L)
{
	release(any_child(L));
	return lpfm_true(L);
}

/* The upvalue is the table of methods; pid is a field. */
static int child_index(lua_State *L)
{
	const struct child *c = any_child(L);

	if (lua_type(L, 2) == LUA_TSTRING && !strcmp(lua_tostring(L, 2), "pid")) {
		if (c->process)
			lua_pushinteger(L, c->process->pid);
		else
			lua_pushnil(L);
		return 1;
	}
	lua_pushvalue(L, 2);
	lpfm_upvalue_get(L);
	return 1;
}

static int child_tostring(lua_State *L)
{
	const struct child *c = any_child(L);

	if (!c->process)
		lua_pushliteral(L, "lpfm.child (closed)");
	else
		lua_pushfstring(L, "lpfm.child (pid %d, %s)", (int)c->process->pid,
				c->process->done ? "ended" : c->sock >= 0 ? "waiting" : "running");
	return 1;
}

static const luaL_Reg methods[] = {
	{ "close", child_close },
	{ "fd", child_fd },
	{ "go", child_go },
	{ "kill", child_kill },
	{ "wait", child_wait },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__tostring", child_tostring },
	{ NULL, NULL }
};

void lpfm_open_child(lua_State *L)
{
	lpfm_note_descriptors();
	lpfm_class_new(L, &child_class, methods, metas);
	lpfm_class_index(L, &child_class, child_index);
}
