/* SPDX-License-Identifier: MIT */
/* module.h - included by every file of the module: Lua 5.1's C API, and a few macros. */
#ifndef LPFM_MODULE_H
#define LPFM_MODULE_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LPFM_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LPFM_EXPORT	__attribute__((visibility("default")))
#define LPFM_PRINTF(f, a) __attribute__((format(printf, f, a)))

#endif
