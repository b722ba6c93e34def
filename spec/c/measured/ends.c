// SPDX-License-Identifier: MIT
/*
 * ends.c - works in burn() on a stack that does not end at main(), or that is long, by argv[1]:
 *   recursion	main > deep > ... > deep > burn, argv[2] deep
 *   coroutine	co > burn, on a stack of makecontext()
 *   made	made > burn, on a stack where the first function returns to 0
 *   signal	handler > burn, on a signal stack of its own, which interrupts main > loop
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOIPA	__attribute__((noipa))
#define KEEP()	__asm__ volatile("" : : : "memory")

enum { STACK = 65536, MS = 150 };

static volatile unsigned long sum;
static ucontext_t here, there;
static jmp_buf back;
static char stack[STACK] __attribute__((aligned(16)));

static NOIPA void burn(void)
{
	for (int i = 0; i < 200000; i++)
		sum += (unsigned long)i;
	KEEP();
}

static NOIPA int deep(int n)
{
	int more = 0;

	if (n > 1)
		more = deep(n - 1);
	else
		burn();
	KEEP();
	return more + 1;
}

static NOIPA void co(void)
{
	for (;;) {
		burn();
		swapcontext(&there, &here);
	}
}

static NOIPA void made(void)
{
	burn();
	longjmp(back, 1);
}

static NOIPA void handler(int sig)
{
	(void)sig;
	burn();
	KEEP();
}

/* Calls made() on the other stack. */
static NOIPA void make(void)
{
	if (setjmp(back))
		return;
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tpush $0\n\tjmp *%1"
			 : : "r"(stack + STACK), "r"(made) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0\n\tmov x29, #0\n\tmov x30, #0\n\tbr %1"
			 : : "r"(stack + STACK), "r"(made) : "memory");
#endif
}

static NOIPA void loop(void)
{
	raise(SIGUSR1);
	KEEP();
}

static void prepare(void)
{
	stack_t own = { .ss_sp = stack, .ss_size = STACK };
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &act, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK;
	makecontext(&there, co, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	prepare();
	while (clock() < MS * (CLOCKS_PER_SEC / 1000)) {
		if (!strcmp(what, "recursion"))
			deep(atoi(argv[2]));
		else if (!strcmp(what, "coroutine"))
			swapcontext(&here, &there);
		else if (!strcmp(what, "made"))
			make();
		else if (!strcmp(what, "signal"))
			loop();
	}
	return 0;
}
