/* SPDX-License-Identifier: MIT */
/*
 * memory.c - calls a Lua function with 0, 1, 2, ... allocations permitted, until it succeeds.
 *
 * argv[1]: a file that returns the function. Each try has a Lua state of its own, and may only fail
 * for want of memory. With argv[2], "all", all allocations of this thread count, also those of
 * libraries and of other Lua states. Prints how many allocations the function took; exits with 1 if
 * it failed otherwise, or left a descriptor.
 */
#include <string.h>
#include <dirent.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "permitted.h"

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* libperfmon closes its end of a context's descriptor a moment after ours. */
static int settle(int want)
{
	int n = open_descriptors();

	for (int i = 0; i < 500 && n != want; i++) {
		usleep(10000);
		n = open_descriptors();
	}
	return n;
}

/* Returns true for Lua's memory error and, with "all", for other results that name memory. */
static bool is_memory_error(lua_State *L, int ret)
{
	const char *text = lua_tostring(L, -1);

	return ret == LUA_ERRMEM || (count_all && text && strstr(text, "memory"));
}

/* Runs the file's function once: returns 0, or not 0 for want of memory; exits on other errors. */
static int attempt(const char *file, long allocations)
{
	lua_State *L = lua_newstate(allocate, NULL);
	int ret;

	luaL_openlibs(L);
	if (luaL_loadfile(L, file) || lua_pcall(L, 0, 1, 0)) {
		puts(lua_tostring(L, -1));
		exit(1);
	}
	permitted = allocations;
	ret = lua_pcall(L, 0, 0, 0);
	permitted = -1;
	if (ret && !is_memory_error(L, ret)) {
		printf("with %ld allocations: %s\n", allocations, lua_tostring(L, -1));
		exit(1);
	}
	lua_close(L);
	return ret;
}

int main(int argc, char **argv)
{
	int before, after;
	long n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	count_all = argc == 3 && !strcmp(argv[2], "all");
	if (argc < 2 || attempt(argv[1], -1))
		return 1;
	usleep(100000);
	before = open_descriptors();
	while (attempt(argv[1], n))
		n++;
	after = settle(before);
	printf("%ld allocations, %d descriptors before, %d after\n", n, before, after);
	return before != after;
}
