/* SPDX-License-Identifier: MIT */
/***
Files of chunks: what a recording is made of. A chunk is a head of 16 bytes and a body:

    4 bytes  "\239LP1"
    4 bytes  tag
    4 bytes  length of the body, little-endian
    4 bytes  CRC-32 of tag, length and body, little-endian

If a file was cut or damaged, bad chunks are skipped, and all others are read.
scripts/pfm/recording/format.md says what the chunks of a recording hold.
@module lpfm.chunks
@pragma nostrip
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/args.h"
#include "base/object.h"
#include "base/u64.h"
#include "recording/chunks.h"

enum { HEAD_SIZE = 16, TAG_SIZE = 4, BODY_MAX = 1 << 30, WINDOW = 1 << 16 };

static const char magic[4] = { (char)239, 'L', 'P', '1' };

struct chunks {
	struct lpfm_head head;
	int fd;			/* -1: the file is closed */
	uint64_t at;		/* offset of the next chunk */
};

static void release(void *chunks)
{
	struct chunks *f = chunks;

	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static const struct lpfm_class chunks_class = { "lpfm.chunks", release };

static struct chunks *check_chunks(lua_State *L, int idx)
{
	struct chunks *f = lpfm_object_check(L, idx, &chunks_class);

	if (f->fd < 0)
		luaL_error(L, "the file is closed");
	return f;
}

/* --- bytes ---------------------------------------------------------------------------------- */

size_t chunk_read(struct chunk_part *part, void *to, size_t n)
{
	size_t got = 0;

	if (n > part->left)
		n = (size_t)part->left;
	while (got < n) {
		ssize_t r = pread(part->fd, (char *)to + got, n - got, (off_t)(part->at + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	part->at += got;
	part->left -= got;
	return got;
}

struct chunk_part lpfm_chunks_part(lua_State *L, int idx, uint64_t at, uint64_t length)
{
	return (struct chunk_part){ check_chunks(L, idx)->fd, at, length };
}

static uint32_t from_le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void to_le32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* --- reading -------------------------------------------------------------------------------- */

static uint32_t crc32_add(uint32_t crc, const void *bytes, size_t n)
{
	return (uint32_t)crc32_z(crc, bytes, n);
}

/* The state of a chunk: sound, or what is wrong with it. */
enum state { SOUND, ENDED, CUT, DAMAGED };
static const char *const state_names[] = { "sound", "end", "cut", "damaged" };

/* Updates the CRC with a body. Returns false if the file ends within the body. */
static bool add_body(struct chunk_part *body, uint32_t *crc)
{
	char window[WINDOW];

	while (body->left) {
		size_t n = chunk_read(body, window, sizeof(window));

		if (!n)
			return false;
		*crc = crc32_add(*crc, window, n);
	}
	return true;
}

static enum state check_chunk(const struct chunks *f, unsigned char head[HEAD_SIZE], uint32_t *length)
{
	struct chunk_part part = { f->fd, f->at, HEAD_SIZE };
	size_t got = chunk_read(&part, head, HEAD_SIZE);
	uint32_t crc;

	if (got < HEAD_SIZE)
		return got ? CUT : ENDED;
	*length = from_le32(head + 8);
	if (memcmp(head, magic, sizeof(magic)) || *length > BODY_MAX)
		return DAMAGED;
	crc = crc32_add(0, head + 4, 8);
	part.left = *length;
	if (!add_body(&part, &crc))
		return CUT;
	return crc == from_le32(head + 12) ? SOUND : DAMAGED;
}

/* Moves to the next place that looks like a chunk, or to the end. */
static void resync(struct chunks *f)
{
	char window[WINDOW];
	uint64_t at = f->at + 1;

	for (;;) {
		struct chunk_part part = { f->fd, at, sizeof(window) };
		size_t n = chunk_read(&part, window, sizeof(window));
		const char *found = memmem(window, n, magic, sizeof(magic));

		f->at = found ? at + (uint64_t)(found - window) : at + n;
		if (found || n < sizeof(window))
			return;
		at += sizeof(window) - (sizeof(magic) - 1);
	}
}

static int push_damage(lua_State *L, struct chunks *f, enum state state)
{
	uint64_t at = f->at;

	if (state != ENDED)
		resync(f);
	lua_pushnil(L);
	lua_pushstring(L, state_names[state]);
	lpfm_push_nat(L, at);
	return 3;
}

/***
Returns the next chunk, and moves to the end of that chunk.
@function chunks:next
@treturn[1] string tag
@treturn[1] number where its body lies in the file
@treturn[1] number the body's length, in bytes
@return[2] nil
@treturn[2] string "end" after the last; "cut" or "damaged" for what was skipped
@treturn[2] number where that is in the file
@usage
local f = assert(chunks.open "lpfm.data")
for tag, at, length in function() return f:next() end do print(tag, at, length) end
f:close()
*/
static int chunks_next(lua_State *L)
{
	struct chunks *f = check_chunks(L, 1);
	unsigned char head[HEAD_SIZE];
	uint32_t length;
	enum state state = check_chunk(f, head, &length);

	if (state != SOUND)
		return push_damage(L, f, state);
	lua_pushlstring(L, (const char *)head + sizeof(magic), TAG_SIZE);
	lpfm_push_nat(L, f->at + HEAD_SIZE);
	lua_pushnumber(L, length);
	f->at += HEAD_SIZE + length;
	return 3;
}

/***
Goes to the chunk at a known position: the following call of `next` returns it.
@function chunks:go
@number at where its head lies in the file: 16 bytes before its body
@usage
local f = assert(chunks.open "lpfm.data")
local tag, at = f:next()
f:go(at - 16)
assert(f:next() == tag)
f:close()
*/
static int chunks_go(lua_State *L)
{
	struct chunks *f = check_chunks(L, 1);

	f->at = (uint64_t)lpfm_arg_int(L, 2, "go", "at", 0, 1LL << 53);
	return 0;
}

/***
Reads a part of the file.
@function chunks:body
@number at as of `chunks:next`
@number length in bytes
@treturn string the bytes; fewer where the file ends
@usage
local f = assert(chunks.open "lpfm.data")
local tag, at, length = f:next()
assert(tag == "HEAD" and f:body(at, length):find('"version"', 1, true))
f:close()
*/
static int chunks_body(lua_State *L)
{
	uint64_t at = (uint64_t)lpfm_arg_int(L, 2, "body", "at", 0, 1LL << 53);
	uint64_t length = (uint64_t)lpfm_arg_int(L, 3, "body", "length", 0, BODY_MAX);
	struct chunk_part part = lpfm_chunks_part(L, 1, at, length);
	char *bytes = lua_newuserdata(L, length ? length : 1);

	lua_pushlstring(L, bytes, chunk_read(&part, bytes, length));
	return 1;
}

/* Writes all bytes; returns 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t put = write(fd, bytes, n);

		if (put < 0 && errno != EINTR)
			return errno;
		bytes += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
	return 0;
}

/***
Writes a part of the file to another one, without bringing it into Lua.
@function chunks:copy
@number at as of `chunks:next`; 16 bytes before a body is its head
@number length in bytes
@int fd descriptor of the other file
@treturn[1] number bytes written: fewer where the file ends
@return[2] nil
@treturn[2] string why not
@treturn[2] int errno
@usage
local f = assert(chunks.open "lpfm.data")
local out = assert(io.open("head.data", "wb"))
local _, at, length = f:next()
assert(f:copy(at - 16, length + 16, require("posix.stdio").fileno(out)) == length + 16)
out:close()
f:close()
*/
static int chunks_copy(lua_State *L)
{
	uint64_t at = (uint64_t)lpfm_arg_int(L, 2, "copy", "at", 0, 1LL << 53);
	uint64_t length = (uint64_t)lpfm_arg_int(L, 3, "copy", "length", 0, 1LL << 53);
	int fd = (int)lpfm_arg_int(L, 4, "copy", "fd", 0, INT_MAX);
	struct chunk_part part = lpfm_chunks_part(L, 1, at, length);
	char window[WINDOW];
	size_t n;

	while ((n = chunk_read(&part, window, sizeof(window)))) {
		int err = write_all(fd, window, n);

		if (err) {
			lua_pushnil(L);
			lua_pushstring(L, strerror(err));
			lua_pushinteger(L, err);
			return 3;
		}
	}
	lpfm_push_nat(L, length - part.left);
	return 1;
}

/***
Closes the file; also done on collection.
@function chunks:close
@usage local f = assert(chunks.open "lpfm.data"); f:close()
*/
static int chunks_close(lua_State *L)
{
	release(lpfm_object_check(L, 1, &chunks_class));
	return 0;
}

/* --- opening -------------------------------------------------------------------------------- */

static int refuse(lua_State *L, const char *path, const char *why)
{
	lua_pushnil(L);
	lua_pushfstring(L, "%s%s", path, why);
	return 2;
}

/* Says what the file is if it does not consist of chunks; NULL if it begins like one that does. */
static const char *look_at(int fd)
{
	char start[sizeof(magic)];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return " cannot be read from its beginning again, as a recording must (a pipe?)";
	n = pread(fd, start, sizeof(start), 0);
	if (n <= 0)
		return " is empty (or a directory)";
	if ((size_t)n == sizeof(start) && !memcmp(start, "PERF", sizeof(start)))
		return " is a file of perf, and no recording of lpfm: reports read it, but it is not merged";
	if ((size_t)n < sizeof(start) || memcmp(start, magic, sizeof(magic)))
		return " is not a recording of lpfm";
	return NULL;
}

/***
Opens a file of chunks.
@function open
@string path
@treturn[1] file
@return[2] nil
@treturn[2] string why not
@usage local f = assert(chunks.open "lpfm.data"); print(f:next()); f:close()
*/
static int chunks_open(lua_State *L)
{
	const char *path = lpfm_check_string(L, 1), *why;
	struct chunks *f = lpfm_object_new(L, sizeof(*f));

	f->fd = -1;
	lpfm_object_arm(L, f, &chunks_class);
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0) {
		lua_pushfstring(L, ": %s", strerror(errno));
		return refuse(L, path, lua_tostring(L, -1));
	}
	why = look_at(f->fd);
	if (!why)
		return 1;
	close(f->fd);
	f->fd = -1;
	return refuse(L, path, why);
}

/* --- writing -------------------------------------------------------------------------------- */

/***
Makes the head of a chunk.
@function head
@string tag four letters
@string body
@treturn string 16 bytes, to be written before the body
@usage local text = chunks.head("COMM", "[]") .. "[]"
*/
static int chunks_head(lua_State *L)
{
	size_t tag_size, length;
	const char *tag = luaL_checklstring(L, 1, &tag_size), *body = luaL_checklstring(L, 2, &length);
	unsigned char head[HEAD_SIZE];

	luaL_argcheck(L, tag_size == TAG_SIZE, 1, "four letters expected");
	luaL_argcheck(L, length <= BODY_MAX, 2, "too long for a chunk");
	memcpy(head, magic, sizeof(magic));
	memcpy(head + 4, tag, TAG_SIZE);
	to_le32(head + 8, (uint32_t)length);
	to_le32(head + 12, crc32_add(crc32_add(0, head + 4, 8), body, length));
	lua_pushlstring(L, (const char *)head, sizeof(head));
	return 1;
}

/***
Returns the CRC-32 (that of zlib and PNG) of some strings in a row.
@function crc32
@string ...
@treturn number
@usage assert(chunks.crc32("1234", "56789") == 0xcbf43926)
*/
static int chunks_crc32(lua_State *L)
{
	uint32_t crc = 0;

	for (int arg = 1; arg <= lua_gettop(L); arg++) {
		size_t len;
		const char *s = luaL_checklstring(L, arg, &len);

		crc = crc32_add(crc, s, len);
	}
	lua_pushnumber(L, crc);
	return 1;
}

LPFM_EXPORT int luaopen_lpfm_chunks(lua_State *L);

int luaopen_lpfm_chunks(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "body", chunks_body }, { "close", chunks_close }, { "copy", chunks_copy }, { "go", chunks_go },
		{ "next", chunks_next }, { NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "open", chunks_open }, { "head", chunks_head }, { "crc32", chunks_crc32 }, { NULL, NULL }
	};

	lpfm_class_new(L, &chunks_class, methods, NULL);
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	lua_pushstring(L, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little" : "big");
	lua_setfield(L, -2, "byte_order");
	return 1;
}
