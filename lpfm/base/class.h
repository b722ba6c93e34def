/* SPDX-License-Identifier: MIT */
/*
 * class.h - the first members of every userdata of this module. It is plain C, because LuaJIT's ffi
 * reads it, too.
 */
#ifndef LPFM_CLASS_H
#define LPFM_CLASS_H

/* A class of userdata. It is identified by its address; messages use its name. */
struct lpfm_class {
	const char *name;
	/* releases what an object holds when it is collected; NULL: it holds nothing */
	void (*release)(void *object);
};

/*
 * The class is set as long as the object is alive: __gc clears it, so that memory which is used
 * again cannot be mistaken for an object.
 */
struct lpfm_head {
	const struct lpfm_class	*class;
};

#endif
