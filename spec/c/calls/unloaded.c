// SPDX-License-Identifier: MIT
/*
 * unloaded.c - a program that is not linked with libperfmon loads it by dlopen(3), unloads it by
 * dlclose(3), and closes its context afterwards. The library's thread must still be able to serve
 * that.
 *
 *   unloaded LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#undef pfm_create_context

static int sockets(void)
{
	struct stat st;
	int n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += !fstat(fd, &st) && S_ISSOCK(st.st_mode);
	return n;
}

int main(int argc, char **argv)
{
	int (*create)(pfarg_ctx_t *ctx, char *fmt_name, void *fmt_arg, size_t arg_size);
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	struct timespec ms = { .tv_nsec = 1000000 };
	pfarg_ctx_t ctx = { 0 };
	int before = sockets();

	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&create = dlsym(library, "pfm_create_context");
	create(&ctx, NULL, NULL, 0);
	if (ctx.ctx_fd <= 0 || dlclose(library) || close(ctx.ctx_fd))
		return 1;
	while (sockets() > before)	/* the library's end of the descriptor */
		nanosleep(&ms, NULL);
	return 0;
}
