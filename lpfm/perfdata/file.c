/* SPDX-License-Identifier: MIT */
/* file.c - the header of a perf.data file: sections, events with their ids, features. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "perfdata/bytes.h"
#include "perfdata/file.h"

enum {
	PIPE_HEADER = 16, FILE_HEADER = 104,
	/* least and most bytes of a perf_event_attr in a file */
	ATTR_MIN = 64, ATTR_MAX = 4096,
	SECTION = 16, ATTRS_MAX = 1 << 16, IDS_MAX = 1 << 24
};

static const char NO_MEMORY[] = " needs more memory than there is";

size_t perf_read(int fd, uint64_t at, void *to, size_t n)
{
	size_t got = 0;

	while (got < n && at <= INT64_MAX - n) {
		ssize_t r = pread(fd, (char *)to + got, n - got, (off_t)(at + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

/* --- events --------------------------------------------------------------------------------- */

bool perf_file_add_attr(struct perf_file *f, const void *bytes, size_t size)
{
	struct perf_event_attr *more;

	if (f->num_attrs == ATTRS_MAX)
		return false;
	more = realloc(f->attrs, (f->num_attrs + 1) * sizeof(*more));
	if (!more)
		return false;
	f->attrs = more;
	memset(&more[f->num_attrs], 0, sizeof(*more));
	memcpy(&more[f->num_attrs], bytes, size < sizeof(*more) ? size : sizeof(*more));
	f->num_attrs++;
	return true;
}

bool perf_file_add_id(struct perf_file *f, uint64_t id, uint32_t attr)
{
	if (f->num_ids == f->room_ids) {
		size_t room = f->room_ids ? f->room_ids * 2 : 64;
		struct perf_id *more = room > IDS_MAX ? NULL : realloc(f->ids, room * sizeof(*more));

		if (!more)
			return false;
		f->ids = more;
		f->room_ids = room;
	}
	f->ids[f->num_ids++] = (struct perf_id){ id, attr };
	f->sorted = false;
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int64_t perf_file_attr_of(struct perf_file *f, uint64_t id)
{
	struct perf_id key = { .id = id }, *found;

	if (!f->num_ids)
		return -1;
	if (!f->sorted)
		qsort(f->ids, f->num_ids, sizeof(key), compare_ids);
	f->sorted = true;
	found = bsearch(&key, f->ids, f->num_ids, sizeof(key), compare_ids);
	return found ? (int64_t)found->attr : -1;
}

/* --- parts ---------------------------------------------------------------------------------- */

bool perf_file_add_part(struct perf_file *f, struct perf_part part)
{
	struct perf_part *more = realloc(f->parts, (f->num_parts + 1) * sizeof(*more));

	if (!more)
		return false;
	f->parts = more;
	more[f->num_parts++] = part;
	return true;
}

/*
 * Adds the records of the file itself. If perf could not write into the header where they end, they
 * extend to the end of the file.
 */
static bool add_own_part(struct perf_file *f)
{
	bool within = f->data.size && f->data.size <= f->size - f->data.at;
	uint64_t end = within ? f->data.at + f->data.size : f->size;

	return perf_file_add_part(f, (struct perf_part){ f->fd, f->data.at, end, f->data.size && !within });
}

/* --- the header ----------------------------------------------------------------------------- */

static struct perf_section take_section(struct bytes *b)
{
	struct perf_section s;

	s.at = bytes_u64(b);
	s.size = bytes_u64(b);
	return s;
}

static bool is_within(const struct perf_file *f, struct perf_section s)
{
	return s.at <= f->size && s.size <= f->size - s.at;
}

static const char *read_ids(struct perf_file *f, struct perf_section s, uint32_t attr)
{
	uint64_t ids[512];

	if (!is_within(f, s) || s.size % sizeof(ids[0]))
		return " is damaged: the ids of its events lie outside of it";
	while (s.size) {
		size_t n = s.size < sizeof(ids) ? s.size : sizeof(ids);

		if (perf_read(f->fd, s.at, ids, n) < n)
			return " cannot be read";
		for (size_t i = 0; i < n / sizeof(ids[0]); i++)
			if (!perf_file_add_id(f, ids[i], attr))
				return " has more ids of events than there is memory for";
		s.at += n;
		s.size -= n;
	}
	return NULL;
}

static const char *read_attrs(struct perf_file *f, struct perf_section s, uint64_t attr_size)
{
	unsigned char buf[ATTR_MAX + SECTION];
	const char *why = NULL;

	if (attr_size < ATTR_MIN + SECTION || attr_size > sizeof(buf) || !is_within(f, s) || s.size % attr_size)
		return " is damaged: its header does not say what was recorded";
	for (; !why && s.size; s.at += attr_size, s.size -= attr_size) {
		struct bytes b = { buf + attr_size - SECTION, buf + attr_size, false };

		if (perf_read(f->fd, s.at, buf, attr_size) < attr_size)
			return " cannot be read";
		if (!perf_file_add_attr(f, buf, attr_size - SECTION))
			return " has more events than there is memory for";
		why = read_ids(f, take_section(&b), f->num_attrs - 1);
	}
	return why;
}

/*
 * Reads the places of the features' sections. They follow the data, in the order of the features'
 * bits. A truncated file has none.
 */
static void read_features(struct perf_file *f, const unsigned char *bits)
{
	uint64_t at = f->data.at + f->data.size;

	for (int i = 0; i < PERF_FEATURES; i++) {
		unsigned char buf[SECTION];
		struct bytes b = { buf, buf + sizeof(buf), false };
		struct perf_section s;

		if (!(bits[i / 8] & 1 << i % 8))
			continue;
		if (perf_read(f->fd, at, buf, sizeof(buf)) < sizeof(buf))
			return;
		s = take_section(&b);
		if (is_within(f, s))
			f->features[i] = s;
		at += sizeof(buf);
	}
}

const char *perf_file_header(struct perf_file *f)
{
	unsigned char buf[FILE_HEADER];
	size_t got = perf_read(f->fd, 0, buf, sizeof(buf));
	struct bytes b = { buf + 8, buf + got, false };
	struct perf_section attrs;
	uint64_t size, attr_size;
	const char *why;

	if (got >= 8 && !memcmp(buf, "2ELIFREP", 8))
		return " was recorded on a machine of the other byte order, which lpfm does not read";
	size = got < PIPE_HEADER ? 0 : bytes_u64(&b);
	f->pipe = size == PIPE_HEADER;
	if (f->pipe) {
		f->data = (struct perf_section){ PIPE_HEADER, f->size - PIPE_HEADER };
		return add_own_part(f) ? NULL : NO_MEMORY;
	}
	if (got < FILE_HEADER || size != FILE_HEADER)
		return " is damaged: its header is not one that perf writes";
	attr_size = bytes_u64(&b);
	attrs = take_section(&b);
	f->data = take_section(&b);
	take_section(&b);
	why = read_attrs(f, attrs, attr_size);
	if (why)
		return why;
	if (f->data.at > f->size)
		return " is damaged: its records lie outside of it";
	if (f->data.size)
		read_features(f, b.at);
	return add_own_part(f) ? NULL : NO_MEMORY;
}

void perf_file_close(struct perf_file *f)
{
	for (uint32_t i = 1; i < f->num_parts; i++)
		close(f->parts[i].fd);
	if (f->fd >= 0)
		close(f->fd);
	free(f->parts);
	free(f->attrs);
	free(f->ids);
	free(f->raw.bytes);
	free(f->unpacked.bytes);
	ZSTD_freeDCtx(f->zstd);
	f->parts = NULL;
	f->attrs = NULL;
	f->ids = NULL;
	f->raw = f->unpacked = (struct perf_window){ 0 };
	f->zstd = NULL;
	f->num_parts = 0;
	f->num_attrs = 0;
	f->num_ids = 0;
	f->fd = -1;
}
