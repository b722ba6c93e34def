/* SPDX-License-Identifier: MIT */
/* chunks.h - reads parts of a file of chunks without loading the whole file. */
#ifndef LPFM_CHUNKS_H
#define LPFM_CHUNKS_H

#include "base/module.h"

/* A part of an open file. */
struct chunk_part {
	int fd;
	uint64_t at, left;	/* offset of the next byte, and number of bytes left */
};

/* Returns the part at..at+length of the file at idx; raises an error if the file is closed. */
struct chunk_part lpfm_chunks_part(lua_State *L, int idx, uint64_t at, uint64_t length);
/*
 * Reads n bytes, or as many as the part has left. Returns how many were read: fewer if the file
 * ends or cannot be read.
 */
size_t chunk_read(struct chunk_part *part, void *to, size_t n);

#endif
