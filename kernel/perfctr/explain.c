// SPDX-License-Identifier: MIT
/* explain.c - explains in words why a call failed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "object.h"

static __thread char reason[512];

int perfctr_refuse(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return err;
}

int perfctr_failed(void)
{
	int err = errno;

	return perfctr_refuse(-err, "%s", pfm_explain());
}

const char *perfctr_explain(void)
{
	return reason;
}
