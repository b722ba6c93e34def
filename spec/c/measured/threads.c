/* SPDX-License-Identifier: MIT */
/*
 * threads.c - creates N threads that wait for ever, and ends, perhaps before some have begun.
 *
 *   threads N
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL))
			return 1;
	return 0;
}
