/* SPDX-License-Identifier: MIT */
/***
Files of perf (perf.data): their header, and their records one after the other.
`pfm.recording.perfdata` makes recordings of them.
`values` is a list of names, from index 0: what samples may have in addition to the fields that all
have.
@module lpfm.perfdata
@pragma nostrip
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "perfdata/bytes.h"
#include "perfdata/sample.h"
#include "perfmon/perfmon_dfl_smpl.h"

enum { FEATURE_MAX = 1 << 28, MORE_MAX = 3 };

struct perfdata {
	struct perf_file	file;
	struct perf_sample	sample;		/* the sample that perfdata:next() returned last */
	uint32_t		attr;		/* index of its event */
	bool			has_sample;
};

static void release(void *self)
{
	perf_file_close(&((struct perfdata *)self)->file);
}

static const struct lpfm_class perfdata_class = { "lpfm.perfdata", release };

static struct perfdata *check_file(lua_State *L)
{
	struct perfdata *self = lpfm_object_check(L, 1, &perfdata_class);

	if (self->file.fd < 0)
		luaL_error(L, "the file is closed");
	return self;
}

/* --- opening -------------------------------------------------------------------------------- */

/*
 * Copies a pipe's content to a file without a name, so that it can be read twice. Returns -1 with
 * errno on failure.
 */
static int spool(int from)
{
	FILE *file = tmpfile();
	int to = file ? dup(fileno(file)) : -1;
	char part[1 << 16];
	ssize_t n = 1;

	if (file)
		fclose(file);
	while (to >= 0 && n) {
		n = read(from, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0 || (n && write(to, part, (size_t)n) != n))
			n = -2;
		if (n == -2) {
			int err = errno;

			close(to);
			errno = err;
			return -1;
		}
	}
	return to;
}

/*
 * Opens the file with that name in a directory written by perf. Returns -1 with errno on failure.
 */
static int open_within(const char *folder, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path))
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	errno = ENAMETOOLONG;
	return -1;
}

/* Adds the files that threads of perf wrote: data.0, data.1, ... Returns NULL, or an error text. */
static const char *add_parts(struct perf_file *f, const char *folder)
{
	for (int i = 0;; i++) {
		struct perf_part part = { 0 };
		struct stat st;
		char name[24];

		snprintf(name, sizeof(name), "data.%d", i);
		part.fd = open_within(folder, name);
		if (part.fd < 0)
			return errno == ENOENT ? NULL : " has a part that cannot be opened";
		part.end = fstat(part.fd, &st) ? 0 : (uint64_t)st.st_size;
		if (!perf_file_add_part(f, part)) {
			close(part.fd);
			return " has more parts than there is memory for";
		}
	}
}

/*
 * Opens a file by name; "-" is standard input. If it is a pipe, returns a file with a copy of its
 * content; if it is a directory, opens the main file in it. Returns -1 with errno on failure.
 */
static int open_file(const char *path, bool *piped, bool *is_folder)
{
	bool is_input = !strcmp(path, "-");
	struct stat st;
	int fd, to;

	if (!is_input && stat(path, &st))
		return -1;
	if (is_input && fstat(STDIN_FILENO, &st))
		return -1;
	*is_folder = S_ISDIR(st.st_mode);
	if (*is_folder)
		return open_within(path, "data");
	*piped = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	if (!*piped && !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	fd = is_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !*piped)
		return fd;
	to = spool(fd);
	close(fd);
	return to;
}

static bool is_perf(const struct perf_file *f)
{
	char magic[8];

	return perf_read(f->fd, 0, magic, sizeof(magic)) == sizeof(magic) &&
	       (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));
}

static int refuse(lua_State *L, const char *path, const char *why)
{
	lua_pushnil(L);
	lua_pushfstring(L, "%s%s", path, why);
	return 2;
}

/***
Opens a file that perf has written: `perf record -o FILE`, or `-o -` to a pipe.
@function open
@string path "-" is standard input; what comes through a pipe is read to its end first; of a
directory (of `perf record --threads`) all parts are read
@treturn[1] file
@treturn[2] boolean false if it cannot be opened, or is not a file of perf: other readers may try it
@return[3] nil
@treturn[3] string why it cannot be read; also for a pipe with other data, which is consumed
@usage assert(require("lpfm.perfdata").open "/etc/passwd" == false)
*/
static int perfdata_open(lua_State *L)
{
	const char *path = lpfm_check_string(L, 1), *why;
	struct perfdata *self = lpfm_object_new(L, sizeof(*self));
	struct perf_file *f = &self->file;
	bool piped = false, is_folder = false;
	struct stat st;

	f->fd = -1;
	lpfm_object_arm(L, f, &perfdata_class);
	f->fd = open_file(path, &piped, &is_folder);
	if (f->fd < 0 && !piped) {
		lua_pushboolean(L, false);
		return 1;
	}
	if (f->fd < 0 || fstat(f->fd, &st)) {
		lua_pushfstring(L, ": %s", strerror(errno));
		return refuse(L, path, lua_tostring(L, -1));
	}
	f->size = (uint64_t)st.st_size;
	if (!is_perf(f)) {
		perf_file_close(f);
		lua_pushboolean(L, false);
		return piped ? refuse(L, path, " cannot be read from its beginning again, as a recording of lpfm must "
				      "(a pipe?), and is none of perf's") : 1;
	}
	why = perf_file_header(f);
	if (!why && is_folder)
		why = add_parts(f, path);
	if (!why) {
		perf_stream_begin(f);
		return 1;
	}
	perf_file_close(f);
	return refuse(L, path, why);
}

/***
Closes the file; also done on collection.
@function perfdata:close
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then f:close() end
*/
static int file_close(lua_State *L)
{
	struct perfdata *self = lpfm_object_check(L, 1, &perfdata_class);

	perf_file_close(&self->file);
	return 0;
}

/* --- the header ----------------------------------------------------------------------------- */

/***
Tells whether perf has completed the file. A file that it has not completed has no features.
@function perfdata:is_ended
@treturn boolean
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then print(f:is_ended()) end
*/
static int file_is_ended(lua_State *L)
{
	const struct perf_file *f = &check_file(L)->file;

	lua_pushboolean(L, f->pipe || f->data.size);
	return 1;
}

/***
Returns the events that are known so far. In a file written to a pipe, records describe them.
@function perfdata:events
@treturn {table,...} `type`, `config` (hexadecimal digits), `period` (events or, with `freq`,
samples a second), `inherit`, `exclude_user`, `exclude_kernel`, `group`, `calls_by_branches`, `regs`
(hexadecimal digits: the mask of the registers in samples), `fields` (which their samples have),
`values` (numbers of `values`)
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then print(#f:events()) end
*/
static int file_events(lua_State *L)
{
	const struct perf_file *f = &check_file(L)->file;

	lua_createtable(L, (int)f->num_attrs, 0);
	for (uint32_t i = 0; i < f->num_attrs; i++) {
		perf_attr_push(L, &f->attrs[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 1;
}

/***
Returns the number of the event that an id stands for.
@function perfdata:event_of
@number id
@treturn ?number from 1; nil if it is not known
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then print(f:event_of(1)) end
*/
static int file_event_of(lua_State *L)
{
	struct perf_file *f = &check_file(L)->file;
	lua_Number id = luaL_checknumber(L, 2);
	int64_t attr = id >= 0 && id < 0x1p63 ? perf_file_attr_of(f, (uint64_t)id) : -1;

	if (attr < 0)
		return 0;
	lua_pushnumber(L, (lua_Number)attr + 1);
	return 1;
}

/* Pushes the bytes of a section; pushes nothing if there are too many. */
static int push_section(lua_State *L, const struct perf_file *f, struct perf_section s)
{
	char *bytes;

	if (!s.at || s.size > FEATURE_MAX)
		return 0;
	bytes = lua_newuserdata(L, s.size ? s.size : 1);
	lua_pushlstring(L, bytes, perf_read(f->fd, s.at, bytes, s.size));
	lua_remove(L, -2);
	return 1;
}

/***
Returns the bytes of a feature, a section of the file's header.
@function perfdata:feature
@int number 1 to 255, of perf's HEADER_*
@treturn ?string nil if the file has no such feature
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then print(f:feature(3)) end
*/
static int file_feature(lua_State *L)
{
	const struct perf_file *f = &check_file(L)->file;
	int number = (int)lpfm_arg_int(L, 2, "feature", "number", 1, PERF_FEATURES - 1);

	return push_section(L, f, f->features[number]);
}

/* --- records -------------------------------------------------------------------------------- */

/***
Goes back to the first record. The events in a file written to a pipe are not added again.
@function perfdata:rewind
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then f:rewind() end
*/
static int file_rewind(lua_State *L)
{
	struct perfdata *self = check_file(L);

	self->has_sample = false;
	self->file.all_read = true;
	perf_stream_begin(&self->file);
	return 0;
}

/***
Sets the moment from which times are counted, so that numbers hold them exactly.
@function perfdata:set_base
@number ns
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then f:set_base(0) end
*/
static int file_set_base(lua_State *L)
{
	struct perfdata *self = check_file(L);
	lua_Number base = luaL_checknumber(L, 2);

	luaL_argcheck(L, base >= 0 && base < 0x1p63, 2, "not a time");
	self->file.base = (uint64_t)base;
	return 0;
}

/*
 * Returns word `at` of a record's body. Words are counted from 0 from the start of the body, or
 * from 1 from its end (from_end). Returns 0 if the record is too short, or if at is negative.
 */
static uint64_t word_of(const struct perf_record *r, int at, bool from_end)
{
	size_t offset = (size_t)at * sizeof(uint64_t);
	struct bytes b = { r->body, r->body + r->size, false };

	if (at < 0 || offset > r->size)
		return 0;
	bytes_take(&b, from_end ? r->size - offset : offset);
	return bytes_u64(&b);
}

/*
 * Returns the index of the event to which a record belongs; -1 if there is no such event. A record
 * without an id belongs to the first event.
 */
static int64_t event_of(struct perf_file *f, const struct perf_record *r)
{
	struct perf_id_place place;
	uint64_t id;
	int64_t found;

	if (f->num_attrs <= 1)
		return (int64_t)f->num_attrs - 1;
	place = perf_id_place(&f->attrs[0]);
	id = r->head.type == PERF_RECORD_SAMPLE ? word_of(r, place.in_sample, false) : word_of(r, place.from_end, true);
	if (!id)
		return 0;
	found = perf_file_attr_of(f, id);
	return found >= 0 || r->head.type == PERF_RECORD_SAMPLE ? found : 0;
}

/*
 * Adds the event that a record describes, in a file written to a pipe. Returns false if the record
 * is too short, or if there is no memory.
 */
static bool take_attr(struct perf_file *f, const struct perf_record *r)
{
	struct bytes b = { r->body, r->body + r->size, false };
	uint32_t size = 0;

	if (r->size >= 64)
		memcpy(&size, r->body + 4, sizeof(size));
	if (size < 64 || size > r->size || (r->size - size) % sizeof(uint64_t) || !perf_file_add_attr(f, r->body, size))
		return false;
	bytes_take(&b, size);
	while (b.at < b.end)
		if (!perf_file_add_id(f, bytes_u64(&b), f->num_attrs - 1))
			return false;
	return true;
}

/* Pushes the data of tracepoints, which follow their record in a file written to a pipe. */
static void push_tracing(lua_State *L, const struct perf_file *f, const struct perf_record *r)
{
	struct bytes b = { r->body, r->body + r->size, false };
	uint64_t size = bytes_u32(&b);

	if (b.short_of || size > f->next || !push_section(L, f, (struct perf_section){ f->next - size, size }))
		return;
	lua_setfield(L, -2, "bytes");
	lpfm_set_text(L, "kind", "TRACING");
}

/*
 * Pushes a record without its time, which is stored in *time. Returns false, and pushes nothing, if
 * the record is damaged.
 */
static bool push_record(lua_State *L, struct perfdata *self, const struct perf_record *r, uint64_t *time)
{
	static const struct perf_event_attr none;
	struct perf_file *f = &self->file;
	int64_t attr;

	self->has_sample = false;
	attr = event_of(f, r);
	if (r->head.type != PERF_RECORD_SAMPLE) {
		if (!perf_record_push(L, r, attr >= 0 ? &f->attrs[attr] : &none, time))
			return false;
		if (r->head.type == PERF_TRACING_RECORD)
			push_tracing(L, f, r);
		return true;
	}
	if (attr < 0 || !perf_sample_read(&f->attrs[attr], r, &self->sample))
		return false;
	self->attr = (uint32_t)attr;
	self->has_sample = true;
	*time = self->sample.time;
	perf_sample_push(L, r, &f->attrs[attr], &self->sample, self->attr + 1);
	return true;
}

/***
Reads the next record.
@function perfdata:next
@string[opt] only "samples" or "records": records of the other kind are skipped
@treturn[1] table of a sample: `kind` "SAMPLE", `attr` (number of its event), `misc` (bits), `pid`,
`tid`, `time` (ns), `period`, `has_values` (if one of the `values` has a meaning), `chain` (words of
64 bits: frames, the innermost first), `cookie` (that of the record with the user's frames),
`counts` (list of {id, value}), `branches` (words: from, to, flags), `raw` (fields of a tracepoint),
`regs`, `regs_abi`, `stack` (the user's). Table of another record: `type` (a number), `misc`,
`time`, and, for known kinds, `kind` and its fields. Both have `order`, the number of the record in
the file
@treturn[2] boolean false: the record has an invalid field, and is skipped
@return[3] nil
@treturn[3] string "end", or why the rest cannot be read: "cut", "damaged", "packed" (not as libzstd
packs), "memory"
@treturn[3] number where in the file that is
@usage local f = require("lpfm.perfdata").open "perf.data"; if f then print(f:next()) end
*/
static int file_next(lua_State *L)
{
	static const char *const words[] = { "sound", "end", "cut", "damaged", "packed", "memory" };
	static const char *const kinds[] = { "all", "samples", "records", NULL };
	struct perfdata *self = check_file(L);
	struct perf_file *f = &self->file;
	int only = luaL_checkoption(L, 2, "all", kinds);
	struct perf_record record;
	enum perf_state state;
	uint64_t time = 0;
	bool is_bad;

	do {
		state = perf_stream_next(f, &record);
		is_bad = state == PERF_SOUND && record.head.type == PERF_ATTR_RECORD && f->pipe && !f->all_read &&
			 !take_attr(f, &record);
	} while (state == PERF_SOUND && !is_bad && only && (record.head.type == PERF_RECORD_SAMPLE) != (only == 1));
	if (state != PERF_SOUND) {
		self->has_sample = false;
		lua_pushnil(L);
		lua_pushstring(L, words[state]);
		lua_pushnumber(L, (lua_Number)self->file.next);
		return 3;
	}
	if (is_bad || !push_record(L, self, &record, &time)) {
		lua_pushboolean(L, false);
		return 1;
	}
	lpfm_set_number(L, "order", (lua_Number)self->file.order);
	lpfm_set_number(L, "time", (lua_Number)perf_file_time(&self->file, time));
	return 1;
}

/***
Returns the last sample of `perfdata:next` as recordings contain samples: in the default format.
@function perfdata:encode
@int pmd that stands for its event
@number period
@tparam {number,...} more at most 3 values that follow its own
@number[opt] time ns, in place of its own
@treturn string to follow `lpfm.samples.head`
@raise if the last record was not a sample
@usage local f = require("lpfm.perfdata").open "perf.data"
local s = f and f:next()
if s and s.kind == "SAMPLE" then print(#f:encode(0, s.period, {})) end
*/
static int file_encode(lua_State *L)
{
	struct perfdata *self = check_file(L);
	const struct perf_sample *s = &self->sample;
	struct { pfm_dfl_smpl_entry_t entry; uint64_t values[PERF_VALUES + MORE_MAX]; } out = { { 0 }, { 0 } };
	struct lpfm_site site = { .call = "encode", .arg = "more" };
	size_t n = 0, more;

	luaL_argcheck(L, self->has_sample, 1, "the last record was no sample");
	luaL_checktype(L, 4, LUA_TTABLE);
	more = lua_objlen(L, 4);
	luaL_argcheck(L, more <= MORE_MAX, 4, "too many values");
	out.entry.pid = s->tid;
	out.entry.tgid = s->pid;
	out.entry.ovfl_pmd = (uint16_t)lpfm_arg_int(L, 2, "encode", "pmd", 0, UINT16_MAX);
	out.entry.last_reset_val = -(uint64_t)lpfm_arg_int(L, 3, "encode", "period", 0, 1LL << 53);
	out.entry.ip = s->ip;
	out.entry.cpu = (uint16_t)s->cpu;
	out.entry.tstamp = lua_isnoneornil(L, 5) ? perf_file_time(&self->file, s->time) :
						   (uint64_t)lpfm_arg_int(L, 5, "encode", "time", 0, 1LL << 53);
	for (int i = 0; i < PERF_VALUES; i++)
		if (self->file.attrs[self->attr].sample_type & perf_values[i].type)
			out.values[n++] = s->values[i];
	for (size_t i = 1; i <= more; i++) {
		lua_rawgeti(L, 4, (int)i);
		out.values[n++] = lpfm_to_u64(L, -1, &site);
		lua_pop(L, 1);
	}
	lua_pushlstring(L, (const char *)&out, sizeof(out.entry) + n * sizeof(out.values[0]));
	return 1;
}

LPFM_EXPORT int luaopen_lpfm_perfdata(lua_State *L);

int luaopen_lpfm_perfdata(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "close", file_close }, { "encode", file_encode },
		{ "event_of", file_event_of }, { "events", file_events }, { "feature", file_feature },
		{ "is_ended", file_is_ended }, { "next", file_next }, { "rewind", file_rewind },
		{ "set_base", file_set_base }, { NULL, NULL }
	};

	lpfm_class_new(L, &perfdata_class, methods, NULL);
	lua_newtable(L);
	lpfm_set_function(L, "open", perfdata_open);
	lua_createtable(L, PERF_VALUES, 0);
	for (int i = 0; i < PERF_VALUES; i++) {
		lua_pushstring(L, perf_values[i].name);
		lua_rawseti(L, -2, i);
	}
	lua_setfield(L, -2, "values");
	return 1;
}
