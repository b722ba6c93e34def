/* SPDX-License-Identifier: MIT */
/*
 * cdef.h - the declarations for LuaJIT's ffi.cdef(): the public headers, and the objects of the Lua
 * module. The structures of perfmonctl.h have names that do not clash with those of perfmon.h.
 */
#include "ffi/objects.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"
