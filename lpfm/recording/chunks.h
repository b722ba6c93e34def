/* SPDX-License-Identifier: MIT */
/* chunks.h - a file of chunks, for code that reads parts of one without having it in memory. */
#ifndef LPFM_CHUNKS_H
#define LPFM_CHUNKS_H

#include "base/module.h"

/* A part of an open file. */
struct chunk_part {
	int fd;
	uint64_t at, left;	/* bytes */
};

/* The part at..at+length of the file at idx, or a raise if it is closed. */
struct chunk_part lpfm_chunks_part(lua_State *L, int idx, uint64_t at, uint64_t length);
/* Reads up to n bytes of what is left, fewer where the file ends or cannot be read. */
size_t chunk_read(struct chunk_part *part, void *to, size_t n);

#endif
