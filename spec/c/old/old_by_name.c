// SPDX-License-Identifier: MIT
/*
 * old_by_name.c - finds libpfm 3 at run time, like tools that work with and without it:
 *
 *   old_by_name LIBRARY
 *
 * It includes no header of the library.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define P6 32
#define NOTFOUND -4

static void *library;

static void *find(const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return symbol;
}

int main(int argc, char **argv)
{
	int (*initialize)(void), (*force_pmu)(int), (*get_version)(unsigned int *);
	int (*find_event)(const char *, unsigned int *), (*get_num_events)(unsigned int *);
	int (*get_event_code)(unsigned int, int *);
	char *(*strerror_of)(int);
	unsigned int version, n, event;
	int code;

	library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	initialize = find("pfm_initialize");
	force_pmu = find("pfm_force_pmu");
	get_version = find("pfm_get_version");
	find_event = find("pfm_find_event");
	get_num_events = find("pfm_get_num_events");
	get_event_code = find("pfm_get_event_code");
	strerror_of = find("pfm_strerror");
	find("pfm_create_context");
	if (get_version(&version) || force_pmu(P6) || initialize() || get_num_events(&n) ||
	    find_event("L2_RQSTS", &event) || get_event_code(event, &code))
		return 2;
	if (find_event("NO_SUCH_EVENT", &event) != NOTFOUND || !strstr(strerror_of(NOTFOUND), "event"))
		return 3;
	printf("libpfm %u.%u, %u events of p6, L2_RQSTS is 0x%x\n", version >> 16, version & 0xffff, n, code);
	return 0;
}
