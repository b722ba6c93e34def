/* SPDX-License-Identifier: MIT */
/* file.h - a perf.data file: its header, its events, and its records one after the other, unpacked. */
#ifndef LPFM_PERFDATA_FILE_H
#define LPFM_PERFDATA_FILE_H

#include <linux/perf_event.h>

#include "base/module.h"
#include "ffi/objects.h"

enum { PERF_FEATURES = 256 };	/* bits of the header */

/* What newer perf and kernels write than these headers know. */
enum {
	PERF_ATTR_RECORD = 64, PERF_TRACING_RECORD = 66, PERF_AUXTRACE_RECORD = 71, PERF_COMPRESSED_RECORD = 81,
	PERF_COMPRESSED2_RECORD = 83
};

struct perf_section {
	uint64_t at, size;
};

struct perf_id {
	uint64_t id;
	uint32_t attr;		/* from 0 */
};

/* A file with records, or the part of one. */
struct perf_part {
	int		fd;
	uint64_t	at, end;
	bool		is_cut;		/* the file ends before its records do */
};

/* Bytes that are read or unpacked: those from `from` to `to` are still to be used. */
struct perf_window {
	unsigned char *bytes;
	size_t from, to, room;
};

struct perf_file {
	struct lpfm_head	head;
	int			fd;		/* -1: closed */
	bool			pipe;		/* written to a pipe */
	uint64_t		size;		/* of the file */
	struct perf_section	data;
	struct perf_section	features[PERF_FEATURES];
	struct perf_event_attr	*attrs;
	uint32_t		num_attrs;
	struct perf_id		*ids;
	size_t			num_ids, room_ids;
	bool			sorted;		/* the ids are */
	bool			told;		/* all events are known */
	/* the records */
	struct perf_part	*parts;		/* the file itself, and those that threads of perf wrote */
	uint32_t		num_parts, part;
	uint64_t		next;		/* where the next record lies in its part */
	struct perf_window	raw;		/* of the part */
	struct perf_window	unpacked;	/* of compressed records */
	uint64_t		order;		/* of the record that was read last, from 1 */
	uint64_t		base;		/* ns, which is subtracted from all times that are returned */
	struct ZSTD_DCtx_s	*zstd;
	uint64_t		compressed;	/* records */
};

/* Bytes of a file that lie anywhere; how many there are. */
size_t perf_read(int fd, uint64_t at, void *to, size_t n);
/* Reads the header of f->fd. NULL, or what is wrong with it: a text that follows the file's name. */
const char *perf_file_header(struct perf_file *f);
/* Adds an event of `size` bytes at `bytes`; false: without memory. */
bool perf_file_add_attr(struct perf_file *f, const void *bytes, size_t size);
/* Adds a file of records, which is closed with f; false: without memory. */
bool perf_file_add_part(struct perf_file *f, struct perf_part part);
bool perf_file_add_id(struct perf_file *f, uint64_t id, uint32_t attr);
/* The event of an id; -1: there is none such. */
int64_t perf_file_attr_of(struct perf_file *f, uint64_t id);
/* A time of the file's as it is returned: relative to base. Times before base are 0. */
static inline uint64_t perf_file_time(const struct perf_file *f, uint64_t time)
{
	return time > f->base ? time - f->base : 0;
}

/* Frees what the header and the records hold, and closes the file. */
void perf_file_close(struct perf_file *f);

/* --- records (stream.c) --- */

struct perf_record {
	struct perf_event_header	head;
	const unsigned char		*body;	/* it may lie at any address */
	size_t				size;	/* of the body */
};

enum perf_state { PERF_SOUND, PERF_END, PERF_CUT, PERF_DAMAGED, PERF_PACKED, PERF_MEMORY };

/* Goes to the first record. */
void perf_stream_begin(struct perf_file *f);
/* The next record, unpacked: it stays until the next call. */
enum perf_state perf_stream_next(struct perf_file *f, struct perf_record *record);

#endif
