/* SPDX-License-Identifier: MIT */
/*
 * file.h - a perf.data file: its header, its events, and its records, read one after the other and
 * unpacked.
 */
#ifndef LPFM_PERFDATA_FILE_H
#define LPFM_PERFDATA_FILE_H

#include <linux/perf_event.h>

#include "base/module.h"
#include "ffi/objects.h"

enum { PERF_FEATURES = 256 };	/* number of feature bits in the header */

/* Constants of newer perf and kernels that these headers may lack. */
enum {
	PERF_ATTR_RECORD = 64, PERF_TRACING_RECORD = 66, PERF_AUXTRACE_RECORD = 71, PERF_COMPRESSED_RECORD = 81,
	PERF_COMPRESSED2_RECORD = 83
};

struct perf_section {
	uint64_t at, size;
};

struct perf_id {
	uint64_t id;
	uint32_t attr;		/* index of the event, from 0 */
};

/* A file with records, or a part of one. */
struct perf_part {
	int		fd;
	uint64_t	at, end;
	bool		is_cut;		/* the file ends before its records should end */
};

/* Bytes that were read or unpacked; those between `from` and `to` are still unused. */
struct perf_window {
	unsigned char *bytes;
	size_t from, to, room;
};

struct perf_file {
	struct lpfm_head	head;
	int			fd;		/* -1: the file is closed */
	bool			pipe;		/* perf wrote the file to a pipe */
	uint64_t		size;		/* size of the file */
	struct perf_section	data;
	struct perf_section	features[PERF_FEATURES];
	struct perf_event_attr	*attrs;
	uint32_t		num_attrs;
	struct perf_id		*ids;
	size_t			num_ids, room_ids;
	bool			sorted;		/* the ids are sorted */
	/* the records were read once, so all events are known */
	bool			all_read;
	/* where the records are: the file itself, and the files of perf's threads */
	struct perf_part	*parts;
	uint32_t		num_parts, part;
	uint64_t		next;		/* offset of the next record in its part */
	struct perf_window	raw;		/* window of the part */
	struct perf_window	unpacked;	/* window of compressed records */
	uint64_t		order;		/* number of the last record read, from 1 */
	/* in ns; subtracted from all times that are returned */
	uint64_t		base;
	struct ZSTD_DCtx_s	*zstd;
	uint64_t		compressed;	/* number of compressed records */
};

/* Reads up to n bytes of a file at an offset; returns how many were read. */
size_t perf_read(int fd, uint64_t at, void *to, size_t n);
/*
 * Reads the header of f->fd. Returns NULL, or an error text, which follows the file's name in a
 * message.
 */
const char *perf_file_header(struct perf_file *f);
/* Adds an event described by `size` bytes at `bytes`. Returns false if there is no memory. */
bool perf_file_add_attr(struct perf_file *f, const void *bytes, size_t size);
/* Adds a file of records, which is closed with f. Returns false if there is no memory. */
bool perf_file_add_part(struct perf_file *f, struct perf_part part);
bool perf_file_add_id(struct perf_file *f, uint64_t id, uint32_t attr);
/* Returns the index of the event with that id; -1 if there is none. */
int64_t perf_file_attr_of(struct perf_file *f, uint64_t id);
/* Returns a time of the file relative to base. Times before base become 0. */
static inline uint64_t perf_file_time(const struct perf_file *f, uint64_t time)
{
	return time > f->base ? time - f->base : 0;
}

/* Frees the memory of the header and the records, and closes the file. */
void perf_file_close(struct perf_file *f);

/* --- records (stream.c) --- */

struct perf_record {
	struct perf_event_header	head;
	const unsigned char		*body;	/* the body, which may be unaligned */
	size_t				size;	/* size of the body */
};

enum perf_state { PERF_SOUND, PERF_END, PERF_CUT, PERF_DAMAGED, PERF_PACKED, PERF_MEMORY };

/* Goes to the first record. */
void perf_stream_begin(struct perf_file *f);
/* Returns the next record, unpacked; it is valid until the next call. */
enum perf_state perf_stream_next(struct perf_file *f, struct perf_record *record);

#endif
