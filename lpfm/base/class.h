/* SPDX-License-Identifier: MIT */
/* class.h - the start of every userdata of this module. Plain C: LuaJIT's ffi reads it, too. */
#ifndef LPFM_CLASS_H
#define LPFM_CLASS_H

/* A kind of userdata; its address is its identity, its name what messages call it. */
struct lpfm_class {
	const char *name;
};

/*
 * The class is set as long as the object is alive: __gc clears it, so that memory which is used again
 * does not pass for an object.
 */
struct lpfm_head {
	const struct lpfm_class	*class;
};

#endif
