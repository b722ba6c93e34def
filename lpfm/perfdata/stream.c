/* SPDX-License-Identifier: MIT */
/*
 * stream.c - reads the records of a perf.data file one after the other; libzstd unpacks compressed
 * ones.
 */
#include <stdlib.h>
#include <zstd.h>

#include "perfdata/bytes.h"
#include "perfdata/file.h"

enum { WINDOW = 1 << 18, UNPACKED_MAX = 1 << 28 };

/* Goes to the first record of a part. */
static void begin_part(struct perf_file *f, uint32_t part)
{
	f->part = part;
	f->next = part < f->num_parts ? f->parts[part].at : 0;
	f->raw.from = f->raw.to = 0;
	f->unpacked.from = f->unpacked.to = 0;
	if (f->zstd)
		ZSTD_DCtx_reset(f->zstd, ZSTD_reset_session_only);
}

void perf_stream_begin(struct perf_file *f)
{
	f->order = 0;
	begin_part(f, 0);
}

/* Makes room for n more bytes in the window. Returns false if there is no memory. */
static bool make_room(struct perf_window *w, size_t n)
{
	size_t have = w->to - w->from, room = w->room ? w->room : WINDOW;
	unsigned char *more;

	if (w->from) {
		memmove(w->bytes, w->bytes + w->from, have);
		w->from = 0;
		w->to = have;
	}
	while (room - have < n)
		room *= 2;
	if (room == w->room)
		return true;
	more = room > UNPACKED_MAX ? NULL : realloc(w->bytes, room);
	if (!more)
		return false;
	w->bytes = more;
	w->room = room;
	return true;
}

/* Returns the next n bytes of the part, or fewer at its end; NULL if there is no memory. */
static const unsigned char *look(struct perf_file *f, size_t n, size_t *got)
{
	const struct perf_part *part = &f->parts[f->part];
	struct perf_window *w = &f->raw;

	if (w->to - w->from < n) {
		uint64_t at = f->next + (w->to - w->from), left = part->end - at;

		if (!make_room(w, WINDOW / 2))
			return NULL;
		if (left > w->room - w->to)
			left = w->room - w->to;
		w->to += perf_read(part->fd, at, w->bytes + w->to, left);
	}
	*got = w->to - w->from;
	return w->bytes + w->from;
}

static void go_on(struct perf_file *f, uint64_t n)
{
	uint64_t end = f->parts[f->part].end;
	struct perf_window *w = &f->raw;
	size_t have = w->to - w->from;

	w->from += n < have ? n : have;
	f->next = n < end - f->next ? f->next + n : end;
}

/*
 * Reads the record at these bytes, which contain its whole header. Returns false if the size in the
 * header is smaller than the header itself.
 */
static bool read_record(struct perf_record *r, const unsigned char *at)
{
	memcpy(&r->head, at, sizeof(r->head));
	r->body = at + sizeof(r->head);
	r->size = (size_t)r->head.size - sizeof(r->head);
	return r->head.size >= sizeof(r->head);
}

static struct bytes body_of(const struct perf_record *r)
{
	return (struct bytes){ r->body, r->body + r->size, false };
}

/* Returns the size of data that follow a record and are not included in its size. */
static uint64_t size_after(const struct perf_record *r)
{
	struct bytes b = body_of(r);

	if (r->head.type == PERF_AUXTRACE_RECORD)
		return bytes_u64(&b);
	return r->head.type == PERF_TRACING_RECORD ? bytes_u32(&b) : 0;
}

/*
 * Reads the next record of the part, which may be compressed; f->next becomes the offset after it.
 */
static enum perf_state next_raw(struct perf_file *f, struct perf_record *r)
{
	const unsigned char *at;
	size_t got;

	at = look(f, sizeof(r->head), &got);
	if (!at)
		return PERF_MEMORY;
	if (got < sizeof(r->head))
		return got || f->parts[f->part].is_cut ? PERF_CUT : PERF_END;
	if (!read_record(r, at))
		return PERF_DAMAGED;
	at = look(f, r->head.size, &got);
	if (!at)
		return PERF_MEMORY;
	if (got < r->head.size)
		return PERF_CUT;
	read_record(r, at);
	go_on(f, r->head.size);
	go_on(f, size_after(r));
	return PERF_SOUND;
}

/* --- compressed records --------------------------------------------------------------------- */

static enum perf_state unpack(struct perf_file *f, const struct perf_record *r)
{
	struct bytes b = body_of(r);
	uint64_t size = r->head.type == PERF_COMPRESSED2_RECORD ? bytes_u64(&b) : r->size;
	ZSTD_inBuffer in = { bytes_take(&b, size), size, 0 };

	if (b.short_of)
		return PERF_DAMAGED;
	if (!f->zstd)
		f->zstd = ZSTD_createDCtx();
	if (!f->zstd)
		return PERF_MEMORY;
	for (bool more = true; more;) {
		struct perf_window *w = &f->unpacked;
		ZSTD_outBuffer out;
		size_t before = in.pos, left;

		if (!make_room(w, ZSTD_DStreamOutSize()))
			return PERF_MEMORY;
		out = (ZSTD_outBuffer){ w->bytes + w->to, w->room - w->to, 0 };
		left = ZSTD_decompressStream(f->zstd, &out, &in);
		if (ZSTD_isError(left))
			return PERF_PACKED;
		w->to += out.pos;
		more = out.pos == out.size || (in.pos < in.size && (in.pos > before || out.pos));
	}
	return in.pos == in.size ? PERF_SOUND : PERF_PACKED;
}

/* Reads the next record that was unpacked. Returns PERF_END if no complete one is left. */
static enum perf_state next_unpacked(struct perf_file *f, struct perf_record *r)
{
	struct perf_window *w = &f->unpacked;
	size_t have = w->to - w->from;

	if (have < sizeof(r->head))
		return PERF_END;
	if (!read_record(r, w->bytes + w->from))
		return PERF_DAMAGED;
	if (r->head.size > have)
		return PERF_END;
	w->from += r->head.size;
	return PERF_SOUND;
}

/* Reads the next record of the part, unpacked if it was compressed. */
static enum perf_state next_of_part(struct perf_file *f, struct perf_record *r)
{
	for (;;) {
		enum perf_state state = next_unpacked(f, r);

		if (state != PERF_END)
			return state;
		state = next_raw(f, r);
		if (state == PERF_END && f->unpacked.to > f->unpacked.from)
			return PERF_CUT;
		if (state != PERF_SOUND)
			return state;
		if (r->head.type != PERF_COMPRESSED_RECORD && r->head.type != PERF_COMPRESSED2_RECORD)
			return PERF_SOUND;
		state = unpack(f, r);
		if (state != PERF_SOUND)
			return state;
	}
}

enum perf_state perf_stream_next(struct perf_file *f, struct perf_record *r)
{
	enum perf_state state = PERF_END;

	while (f->part < f->num_parts) {
		state = next_of_part(f, r);
		if (state != PERF_END)
			break;
		begin_part(f, f->part + 1);
	}
	f->order++;
	return state;
}
