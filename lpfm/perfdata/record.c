/* SPDX-License-Identifier: MIT */
/*
 * record.c - converts the records of a perf.data file into Lua tables, by a description of each
 * kind.
 */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/args.h"
#include "base/field.h"
#include "perfdata/bytes.h"
#include "perfdata/sample.h"

#define CONTEXT_DEFERRED	((uint64_t)-640)	/* older headers lack this constant */

enum { FIELDS_MAX = 8, BUILD_ID_MAX = 20, BUILD_ID_ROOM = 24 };

/*
 * The form of a field: a number of 4 or 8 bytes, bytes to skip, a text, the remaining words, a
 * build id, the file of an MMAP2 record, or frames preceded by their number.
 */
enum form { NONE, U64, S32, SKIP64, TEXT, REST, BUILD_ID, MAPPED_FILE, WORD, CHAIN };

struct field {
	const char *name;
	enum form form;
};

struct kind {
	uint32_t type;
	const char *name;
	struct field fields[FIELDS_MAX];
};

#define PROCESS { "pid", S32 }, { "tid", S32 }
#define PARENT { "pid", S32 }, { "ppid", S32 }, { "tid", S32 }, { "ptid", S32 }
#define RANGE { "addr", U64 }, { "len", U64 }, { "offset", U64 }

/*
 * The known kinds of records. Other kinds have no useful fields: only their type number is
 * returned.
 */
static const struct kind kinds[] = {
	{ PERF_RECORD_MMAP, "MMAP", { PROCESS, RANGE, { "path", TEXT } } },
	{ PERF_RECORD_MMAP2, "MMAP", { PROCESS, RANGE, { "build_id", MAPPED_FILE }, { NULL, SKIP64 },
				       { "path", TEXT } } },
	{ PERF_RECORD_LOST, "LOST", { { NULL, SKIP64 }, { "count", U64 } } },
	{ PERF_RECORD_LOST_SAMPLES, "LOST_SAMPLES", { { "count", U64 } } },
	{ PERF_RECORD_COMM, "COMM", { PROCESS, { "comm", TEXT } } },
	{ PERF_RECORD_EXIT, "EXIT", { PARENT } },
	{ PERF_RECORD_FORK, "FORK", { PARENT } },
	{ PERF_RECORD_THROTTLE, "THROTTLE", { { NULL, NONE } } },
	{ 22, "DEFERRED", { { "cookie", WORD }, { "chain", CHAIN } } },
	{ 67, "BUILD_ID", { { "pid", S32 }, { "build_id", BUILD_ID }, { "path", TEXT } } },
	{ 78, "EVENT_UPDATE", { { "what", U64 }, { "id", U64 }, { "name", TEXT } } },
	{ 80, "FEATURE", { { "feature", U64 }, { "bytes", REST } } },
};

static const struct kind *kind_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

/* Takes a text up to its 0 byte, or to the end of the record. */
static void take_text(lua_State *L, struct bytes *b, const char *name)
{
	size_t n = (size_t)(b->end - b->at);

	lpfm_set_bytes(L, name, b->at, strnlen((const char *)b->at, n));
	b->at = b->end;
}

static void push_build_id(lua_State *L, const char *name, const unsigned char *id, size_t n)
{
	while (n && !id[n - 1])		/* perf fills up shorter ids with zeros */
		n--;
	if (!n)
		return;
	lpfm_push_hex(L, id, n);
	lua_setfield(L, -2, name);
}

static void take_build_id(lua_State *L, struct bytes *b, const char *name)
{
	const unsigned char *at = bytes_take(b, BUILD_ID_ROOM);

	if (at)
		push_build_id(L, name, at, BUILD_ID_MAX);
}

/*
 * Takes the bytes of an MMAP2 record that identify its file: a bit of the record says whether they
 * are device and inode, or the build id.
 */
static void take_mapped_file(lua_State *L, struct bytes *b, const char *name, const struct perf_record *record)
{
	const unsigned char *at = bytes_take(b, BUILD_ID_ROOM);

	if (!at)
		return;
	if (!(record->head.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		struct { uint32_t major, minor; uint64_t inode; } file;

		memcpy(&file, at, sizeof(file));
		/* the inode is rounded as luaposix rounds it */
		lpfm_set_number(L, "inode", (lua_Number)file.inode);
		lpfm_set_number(L, "device", (lua_Number)makedev(file.major, file.minor));
	} else if (at[0] <= BUILD_ID_MAX) {
		push_build_id(L, name, at + 4, at[0]);
	}
}

static void push_word_as_is(lua_State *L, const char *name, uint64_t word)
{
	lpfm_set_bytes(L, name, &word, sizeof(word));
}

static uint64_t word(const struct perf_words *w, uint64_t i)
{
	uint64_t value;

	memcpy(&value, w->at + i * sizeof(value), sizeof(value));
	return value;
}

static bool is_context(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

static void add_frame(luaL_Buffer *out, uint64_t ip)
{
	luaL_addlstring(out, (const char *)&ip, sizeof(ip));
}

/* Takes the frames of a call chain, without the markers of the kernel's and the user's frames. */
static void take_chain(lua_State *L, struct bytes *b, const char *name)
{
	uint64_t n = bytes_u64(b);
	struct perf_words w = { n <= UINT16_MAX ? bytes_take(b, n * sizeof(n)) : NULL, n };
	luaL_Buffer out;

	b->short_of = b->short_of || !w.at;
	luaL_buffinit(L, &out);
	for (uint64_t i = 0; w.at && i < n; i++)
		if (!is_context(word(&w, i)))
			add_frame(&out, word(&w, i));
	luaL_pushresult(&out);
	lua_setfield(L, -2, name);
}

static void take_field(lua_State *L, struct bytes *b, const struct field *f, const struct perf_record *record)
{
	switch (f->form) {
	case S32:
		lpfm_set_number(L, f->name, (int32_t)bytes_u32(b));
		break;
	case U64:
		lpfm_set_number(L, f->name, (lua_Number)bytes_u64(b));
		break;
	case SKIP64:
		bytes_u64(b);
		break;
	case TEXT:
		take_text(L, b, f->name);
		break;
	case REST:
		lpfm_set_bytes(L, f->name, b->at, (size_t)(b->end - b->at));
		break;
	case BUILD_ID:
		take_build_id(L, b, f->name);
		break;
	case MAPPED_FILE:
		take_mapped_file(L, b, f->name, record);
		break;
	case WORD:
		push_word_as_is(L, f->name, bytes_u64(b));
		break;
	case CHAIN:
		take_chain(L, b, f->name);
		break;
	case NONE:
		break;
	}
}

bool perf_record_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      uint64_t *time)
{
	const struct kind *kind = kind_of(record->head.type);
	bool of_kernel = record->head.type < PERF_ATTR_RECORD;
	size_t tail = of_kernel ? perf_id_size(attr) : 0;
	struct bytes b = { record->body, record->body + record->size - (tail < record->size ? tail : 0), false };

	*time = of_kernel ? perf_id_time(attr, record) : 0;
	lua_newtable(L);
	lpfm_set_number(L, "type", record->head.type);
	lpfm_set_number(L, "misc", record->head.misc);
	if (!kind)
		return true;
	lpfm_set_bytes(L, "kind", kind->name, strlen(kind->name));
	for (const struct field *f = kind->fields; f < kind->fields + FIELDS_MAX && (f->name || f->form); f++)
		take_field(L, &b, f, record);
	if (b.short_of)
		lua_pop(L, 1);
	return !b.short_of;
}

/* --- events --------------------------------------------------------------------------------- */

/* Pushes a word as text of decimal digits, because a configuration may use all of its 64 bits. */
static void push_word(lua_State *L, const char *name, uint64_t value)
{
	char text[24];

	lpfm_set_bytes(L, name, text, (size_t)snprintf(text, sizeof(text), "%llx", (unsigned long long)value));
}

/* Pushes which fields the event's samples have. */
static void push_fields(lua_State *L, uint64_t type)
{
	static const struct perf_value_name names[] = {
		{ "ip", PERF_SAMPLE_IP }, { "tid", PERF_SAMPLE_TID }, { "time", PERF_SAMPLE_TIME },
		{ "cpu", PERF_SAMPLE_CPU }, { "period", PERF_SAMPLE_PERIOD }, { "read", PERF_SAMPLE_READ },
		{ "callchain", PERF_SAMPLE_CALLCHAIN }, { "raw", PERF_SAMPLE_RAW },
		{ "branches", PERF_SAMPLE_BRANCH_STACK }, { "stack", PERF_SAMPLE_STACK_USER },
		{ "regs", PERF_SAMPLE_REGS_USER }, { "intr_regs", PERF_SAMPLE_REGS_INTR }, { "aux", PERF_SAMPLE_AUX },
		{ "unknown", ~((1ULL << 25) - 1) },
	};

	lua_newtable(L);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		lpfm_set_bool(L, names[i].name, type & names[i].type);
	lua_setfield(L, -2, "fields");
	lua_newtable(L);
	for (int i = 0, n = 0; i < PERF_VALUES; i++) {
		if (!(type & perf_values[i].type))
			continue;
		lua_pushinteger(L, i);
		lua_rawseti(L, -2, ++n);
	}
	lua_setfield(L, -2, "values");
}

void perf_attr_push(lua_State *L, const struct perf_event_attr *attr)
{
	lua_newtable(L);
	lpfm_set_number(L, "type", attr->type);
	push_word(L, "config", attr->config);
	lpfm_set_number(L, "period", (lua_Number)attr->sample_period);
	lpfm_set_bool(L, "freq", attr->freq);
	lpfm_set_bool(L, "inherit", attr->inherit);
	lpfm_set_bool(L, "exclude_user", attr->exclude_user);
	lpfm_set_bool(L, "exclude_kernel", attr->exclude_kernel);
	lpfm_set_bool(L, "group", attr->read_format & PERF_FORMAT_GROUP);
	lpfm_set_bool(L, "calls_by_branches", attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
	push_word(L, "regs", attr->sample_regs_user);
	push_fields(L, attr->sample_type);
}

/* --- samples -------------------------------------------------------------------------------- */

/*
 * Pushes the call chain without the markers of the kernel's and the user's frames. If the user's
 * calls are in the branch stack (LBR), the frames except the innermost one are taken from there. A
 * branch has the address of the call, to which 1 is added, because a frame's address lies after its
 * call.
 */
static void push_chain(lua_State *L, const struct perf_sample *s, bool by_branches)
{
	bool user = false, take_branches = by_branches && s->branches.n;
	uint64_t n = 0, cookie = 0;
	luaL_Buffer out;

	luaL_buffinit(L, &out);
	for (uint64_t i = 0; i < s->callchain.n; i++) {
		uint64_t ip = word(&s->callchain, i);

		if (is_context(ip)) {
			user = ip == (uint64_t)PERF_CONTEXT_USER;
			if (ip == CONTEXT_DEFERRED && i + 1 < s->callchain.n)
				cookie = word(&s->callchain, ++i);
			continue;
		}
		if (user && take_branches && n++)
			break;
		add_frame(&out, ip);
	}
	for (uint64_t i = 0; take_branches && i < s->branches.n; i++)
		add_frame(&out, word(&s->branches, 3 * i) + 1);
	luaL_pushresult(&out);
	lua_setfield(L, -2, "chain");
	if (cookie)
		push_word_as_is(L, "cookie", cookie);
}

/* Pushes the counts of the event's group: a list of {id, value}. */
static void push_counts(lua_State *L, const struct perf_event_attr *attr, const struct perf_sample *s)
{
	uint64_t format = attr->read_format;
	uint64_t each = format & PERF_FORMAT_GROUP ? 1U + !!(format & PERF_FORMAT_ID) + !!(format & 1 << 4) : 1;
	bool has_ids = format & PERF_FORMAT_GROUP && format & PERF_FORMAT_ID;

	lua_newtable(L);
	for (uint64_t i = 0; i < s->counts.n; i++) {
		lua_createtable(L, 2, 0);
		lua_pushnumber(L, (lua_Number)(has_ids ? word(&s->counts, i * each + 1) : s->id));
		lua_rawseti(L, -2, 1);
		lua_pushnumber(L, (lua_Number)word(&s->counts, i * each));
		lua_rawseti(L, -2, 2);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setfield(L, -2, "counts");
}

/*
 * Returns true if one of the sample's values has a meaning. perf_event sets the data source even if
 * it is not available; then it does not count.
 */
static bool says_more(const struct perf_sample *s)
{
	for (int i = 0; i < PERF_VALUES; i++)
		if (s->values[i] && !(i == PERF_VALUE_DATA_SRC && s->values[i] & PERF_MEM_OP_NA))
			return true;
	return false;
}

void perf_sample_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      const struct perf_sample *s, uint32_t number)
{
	lua_createtable(L, 0, 16);
	lpfm_set_bytes(L, "kind", "SAMPLE", 6);
	lpfm_set_number(L, "misc", record->head.misc);
	lpfm_set_number(L, "attr", number);
	lpfm_set_number(L, "pid", (int32_t)s->pid);
	lpfm_set_number(L, "tid", (int32_t)s->tid);
	lpfm_set_number(L, "period", (lua_Number)s->period);
	if (says_more(s))
		lpfm_set_bool(L, "has_values", true);
	if (s->callchain.n)
		push_chain(L, s, attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
	if (s->counts.n)
		push_counts(L, attr, s);
	if (s->branches.n)
		lpfm_set_bytes(L, "branches", s->branches.at, s->branches.n * 3 * sizeof(uint64_t));
	if (s->raw && attr->type == PERF_TYPE_TRACEPOINT)
		lpfm_set_bytes(L, "raw", s->raw, s->raw_size);
	if (s->regs.n && s->stack) {
		lpfm_set_number(L, "regs_abi", (lua_Number)s->regs_abi);
		lpfm_set_bytes(L, "regs", s->regs.at, s->regs.n * sizeof(uint64_t));
		lpfm_set_bytes(L, "stack", s->stack, s->stack_size);
	}
}
