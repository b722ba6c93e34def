/* SPDX-License-Identifier: MIT */
/*
 * rust_v0.c - the demangler of Rust's v0 names, by the grammar of RFC 2603 and the chapter "v0
 * symbol format" of the rustc book. Back references count from the byte after "_R".
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangler.h"
#include "demangle/punycode.h"
#include "demangle/rust_v0.h"

struct ident {
	const char	*name;
	size_t		len;
	uint64_t	number;		/* distinguishes identifiers with the same name */
	bool		is_puny;
};

static void read_path(struct demangler *d, bool in_value);
static void read_type(struct demangler *d);
static void read_const(struct demangler *d, bool in_value);

/* --- input ---------------------------------------------------------------------------------- */

static int digit_62(char c)
{
	return is_digit(c) ? c - '0' : is_lower(c) ? c - 'a' + 10 : is_upper(c) ? c - 'A' + 36 : -1;
}

/* Reads a base-62 number: "_" is 0, "0_" is 1, "1_" is 2. */
static uint64_t read_62(struct demangler *d)
{
	uint64_t value = 0;

	if (eat(d, '_'))
		return 0;
	while (!d->failed && !eat(d, '_')) {
		int digit = digit_62(next(d));

		if (digit < 0 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			fail(d);
	}
	if (__builtin_add_overflow(value, 1, &value))
		fail(d);
	return value;
}

/* Reads an optional number that follows its tag; 0: it is absent. */
static uint64_t read_opt_62(struct demangler *d, char tag)
{
	uint64_t value = eat(d, tag) ? read_62(d) + 1 : 0;

	return d->failed ? 0 : value;
}

static struct ident read_plain_ident(struct demangler *d)
{
	struct ident ident = { .is_puny = eat(d, 'u') };

	ident.len = read_decimal(d);
	eat(d, '_');
	if (d->failed || strnlen(d->s + d->at, ident.len) < ident.len) {
		fail(d);
		ident.len = 0;
	}
	ident.name = d->s + d->at;
	d->at += ident.len;
	return ident;
}

static struct ident read_ident(struct demangler *d)
{
	uint64_t number = read_opt_62(d, 's');
	struct ident ident = read_plain_ident(d);

	ident.number = number;
	return ident;
}

/* --- output --------------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 3))) void sayf(struct demangler *d, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(d, text);
}

static void put_ident(struct demangler *d, const struct ident *ident)
{
	char text[PUNYCODE_MAX];
	size_t len;

	if (d->failed || d->quiet)
		return;
	if (!ident->is_puny) {
		put(d, ident->name, ident->len);
		return;
	}
	len = punycode_decode(ident->name, ident->len, text);
	if (len)
		put(d, text, len);
	else
		fail(d);
}

/* Index 0 is the erased lifetime; others count from the innermost binder outwards. */
static void put_lifetime(struct demangler *d, uint64_t index)
{
	uint64_t outer = d->lifetimes - index;

	if (index > d->lifetimes)
		fail(d);
	else if (!index)
		say(d, "'_");
	else if (outer < 26)
		sayf(d, "'%c", (char)('a' + outer));
	else
		sayf(d, "'_%" PRIu64, outer);
}

/* --- rules that nest ------------------------------------------------------------------------ */

/*
 * Called after 'B': goes back to its target; false: the target need not be read. *back receives
 * where to continue.
 */
static bool go_back(struct demangler *d, size_t *back)
{
	size_t from = d->at - 1;
	uint64_t to = read_62(d);

	*back = d->at;
	if (to >= from)
		fail(d);
	if (d->failed || d->quiet)
		return false;
	d->at = to;
	return true;
}

/* Reads the elements of a list up to its 'E'; returns how many they are. */
static size_t read_list(struct demangler *d, void (*element)(struct demangler *d), const char *between)
{
	size_t n = 0;

	for (; !d->failed && !eat(d, 'E'); n++) {
		if (n)
			say(d, between);
		element(d);
	}
	return n;
}

/* Reads a binder; returns how many lifetimes it binds, which the caller must release. */
static uint64_t read_binder(struct demangler *d)
{
	uint64_t n = read_opt_62(d, 'G');

	if (n > OUT_MAX)
		fail(d);
	if (d->failed || !n)
		return 0;
	say(d, "for<");
	for (uint64_t i = 0; i < n && !d->failed; i++) {
		if (i)
			say(d, ", ");
		d->lifetimes++;
		put_lifetime(d, 1);
	}
	say(d, "> ");
	return n;
}

/* --- paths ---------------------------------------------------------------------------------- */

static void read_generic_arg(struct demangler *d)
{
	if (eat(d, 'L'))
		put_lifetime(d, read_62(d));
	else if (eat(d, 'K'))
		read_const(d, false);
	else
		read_type(d);
}

/* Skips the path that contains an impl: it only serves to make names unique. */
static void skip_impl_path(struct demangler *d)
{
	bool quiet = d->quiet;

	d->quiet = true;
	read_opt_62(d, 's');
	read_path(d, false);
	d->quiet = quiet;
}

/* Prints a closure or the like, which has a number and possibly a name. */
static void put_special(struct demangler *d, char space, const struct ident *ident)
{
	say(d, "::{");
	if (space == 'C')
		say(d, "closure");
	else if (space == 'S')
		say(d, "shim");
	else
		put(d, &space, 1);
	if (ident->len) {
		say(d, ":");
		put_ident(d, ident);
	}
	sayf(d, "#%" PRIu64 "}", ident->number);
}

static void read_nested(struct demangler *d, bool in_value)
{
	char space = next(d);
	struct ident ident;

	if (!is_upper(space) && !is_lower(space))
		fail(d);
	read_path(d, in_value);
	ident = read_ident(d);
	if (is_upper(space)) {
		put_special(d, space, &ident);
	} else if (ident.len) {
		say(d, "::");
		put_ident(d, &ident);
	}
}

static void read_as(struct demangler *d, bool has_trait)
{
	say(d, "<");
	read_type(d);
	if (has_trait) {
		say(d, " as ");
		read_path(d, false);
	}
	say(d, ">");
}

static void read_this_path(struct demangler *d, bool in_value)
{
	char tag = next(d);
	struct ident ident;
	size_t back;

	switch (tag) {
	case 'C':
		ident = read_ident(d);
		put_ident(d, &ident);
		break;
	case 'N':
		read_nested(d, in_value);
		break;
	case 'M':
	case 'X':
		skip_impl_path(d);
		read_as(d, tag == 'X');
		break;
	case 'Y':
		read_as(d, true);
		break;
	case 'I':
		read_path(d, in_value);
		say(d, in_value ? "::<" : "<");
		read_list(d, read_generic_arg, ", ");
		say(d, ">");
		break;
	case 'B':
		if (go_back(d, &back)) {
			read_path(d, in_value);
			d->at = back;
		}
		break;
	default:
		fail(d);
	}
}

static void read_path(struct demangler *d, bool in_value)
{
	if (enter(d))
		read_this_path(d, in_value);
	leave(d);
}

/* --- types ---------------------------------------------------------------------------------- */

static const char *const basic_types['z' - 'a' + 1] = {
	['a' - 'a'] = "i8", ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64", ['e' - 'a'] = "str",
	['f' - 'a'] = "f32", ['h' - 'a'] = "u8", ['i' - 'a'] = "isize", ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",
	['m' - 'a'] = "u32", ['n' - 'a'] = "i128", ['o' - 'a'] = "u128", ['p' - 'a'] = "_", ['s' - 'a'] = "i16",
	['t' - 'a'] = "u16", ['u' - 'a'] = "()", ['v' - 'a'] = "...", ['x' - 'a'] = "i64", ['y' - 'a'] = "u64",
	['z' - 'a'] = "!",
};

static void read_reference(struct demangler *d, const char *mutability)
{
	uint64_t lifetime = eat(d, 'L') ? read_62(d) : 0;

	say(d, "&");
	if (lifetime) {
		put_lifetime(d, lifetime);
		say(d, " ");
	}
	say(d, mutability);
	read_type(d);
}

static void read_abi(struct demangler *d)
{
	struct ident abi = { .name = "C", .len = 1 };

	if (!eat(d, 'C'))
		abi = read_plain_ident(d);
	say(d, "extern \"");
	for (size_t i = 0; i < abi.len; i++)	/* names of ABIs have "-" instead of "_" */
		put(d, abi.name[i] == '_' ? "-" : abi.name + i, 1);
	say(d, "\" ");
}

static void read_fn(struct demangler *d)
{
	uint64_t bound = read_binder(d);

	if (eat(d, 'U'))
		say(d, "unsafe ");
	if (eat(d, 'K'))
		read_abi(d);
	say(d, "fn(");
	read_list(d, read_type, ", ");
	say(d, ")");
	if (!eat(d, 'u')) {
		say(d, " -> ");
		read_type(d);
	}
	d->lifetimes -= bound;
}

/* Reads a path, and leaves the "<" of its generic arguments open for associated types; true: there is an open "<". */
static bool read_open_path(struct demangler *d)
{
	bool open = false;
	size_t back;

	if (!enter(d)) {
		leave(d);
		return false;
	}
	if (eat(d, 'B')) {
		if (go_back(d, &back)) {
			open = read_open_path(d);
			d->at = back;
		}
	} else if (eat(d, 'I')) {
		read_path(d, false);
		say(d, "<");
		read_list(d, read_generic_arg, ", ");
		open = true;
	} else {
		read_path(d, false);
	}
	leave(d);
	return open;
}

static void read_dyn_trait(struct demangler *d)
{
	bool open = read_open_path(d);

	while (eat(d, 'p')) {
		struct ident ident = read_plain_ident(d);

		say(d, open ? ", " : "<");
		open = true;
		put_ident(d, &ident);
		say(d, " = ");
		read_type(d);
	}
	if (open)
		say(d, ">");
}

static void read_dyn(struct demangler *d)
{
	uint64_t bound, lifetime;

	say(d, "dyn ");
	bound = read_binder(d);
	read_list(d, read_dyn_trait, " + ");
	d->lifetimes -= bound;
	if (!eat(d, 'L'))
		fail(d);
	lifetime = read_62(d);
	if (lifetime) {
		say(d, " + ");
		put_lifetime(d, lifetime);
	}
}

/* Reads an array, a slice or a tuple. */
static void read_compound(struct demangler *d, char tag)
{
	if (tag == 'T') {
		say(d, "(");
		say(d, read_list(d, read_type, ", ") == 1 ? ",)" : ")");
		return;
	}
	say(d, "[");
	read_type(d);
	if (tag == 'A') {
		say(d, "; ");
		read_const(d, true);
	}
	say(d, "]");
}

static void read_pointer(struct demangler *d, char tag)
{
	if (tag == 'R' || tag == 'Q') {
		read_reference(d, tag == 'Q' ? "mut " : "");
		return;
	}
	say(d, tag == 'P' ? "*const " : "*mut ");
	read_type(d);
}

static void read_this_type(struct demangler *d)
{
	char tag = peek(d);
	size_t back;

	if (is_lower(tag)) {
		if (basic_types[tag - 'a'])
			say(d, basic_types[tag - 'a']);
		else
			fail(d);
		d->at++;
	} else if (tag && strchr("RQPO", tag)) {
		read_pointer(d, next(d));
	} else if (tag && strchr("AST", tag)) {
		read_compound(d, next(d));
	} else if (eat(d, 'F')) {
		read_fn(d);
	} else if (eat(d, 'D')) {
		read_dyn(d);
	} else if (eat(d, 'B')) {
		if (go_back(d, &back)) {
			read_type(d);
			d->at = back;
		}
	} else {
		read_path(d, false);
	}
}

static void read_type(struct demangler *d)
{
	if (enter(d))
		read_this_type(d);
	leave(d);
}

/* --- constants ------------------------------------------------------------------------------ */

static int digit_16(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hexadecimal digits up to a "_". */
static struct ident read_hex(struct demangler *d)
{
	struct ident hex = { .name = d->s + d->at };

	while (!d->failed && !eat(d, '_')) {
		if (digit_16(next(d)) < 0)
			fail(d);
		else
			hex.len++;
	}
	return hex;
}

static uint64_t value_of(const struct ident *hex)
{
	uint64_t value = 0;

	for (size_t i = 0; i < hex->len; i++)
		value = value << 4 | (uint64_t)digit_16(hex->name[i]);
	return value;
}

static void read_number(struct demangler *d)
{
	struct ident hex = read_hex(d);

	while (hex.len && hex.name[0] == '0') {
		hex.name++;
		hex.len--;
	}
	if (hex.len > 16) {
		say(d, "0x");
		put_ident(d, &hex);
	} else {
		sayf(d, "%" PRIu64, value_of(&hex));
	}
}

static void put_char(struct demangler *d, uint64_t c, char quote)
{
	static const char plain[] = "\t\n\r\\", letters[] = "tnr\\";
	const char *escape = c && c < 128 ? strchr(plain, (int)c) : NULL;
	char utf8[4];

	if (escape)
		sayf(d, "\\%c", letters[escape - plain]);
	else if (c == (uint64_t)quote)
		sayf(d, "\\%c", quote);
	else if (c < ' ' || (c >= 0x7f && c < 0xa0))
		sayf(d, "\\u{%" PRIx64 "}", c);
	else if (c > UINT32_MAX || !utf8_encode((uint32_t)c, utf8))
		fail(d);
	else
		put(d, utf8, utf8_encode((uint32_t)c, utf8));
}

static void read_char(struct demangler *d)
{
	struct ident hex = read_hex(d);

	if (hex.len > 8)
		fail(d);
	say(d, "'");
	put_char(d, value_of(&hex), '\'');
	say(d, "'");
}

static void read_bool(struct demangler *d)
{
	struct ident hex = read_hex(d);
	uint64_t value = value_of(&hex);

	if (value > 1)
		fail(d);
	say(d, value ? "true" : "false");
}

/* Prints the bytes of a text in UTF-8; bytes beyond ASCII are printed as they are. */
static void read_text(struct demangler *d)
{
	struct ident hex = read_hex(d);

	if (hex.len % 2)
		fail(d);
	say(d, "\"");
	for (size_t i = 0; i + 1 < hex.len && !d->failed; i += 2) {
		char c = (char)(digit_16(hex.name[i]) << 4 | digit_16(hex.name[i + 1]));

		if ((unsigned char)c < 0x80)
			put_char(d, (unsigned char)c, '"');
		else
			put(d, &c, 1);
	}
	say(d, "\"");
}

static void read_element(struct demangler *d)
{
	read_const(d, true);
}

static void read_field(struct demangler *d)
{
	struct ident ident = read_ident(d);

	put_ident(d, &ident);
	say(d, ": ");
	read_const(d, true);
}

/* Reads a value of a structure or of an enumeration. */
static void read_variant(struct demangler *d)
{
	read_path(d, true);
	switch (next(d)) {
	case 'U':
		break;
	case 'T':
		say(d, "(");
		read_list(d, read_element, ", ");
		say(d, ")");
		break;
	case 'S':
		say(d, " { ");
		read_list(d, read_field, ", ");
		say(d, " }");
		break;
	default:
		fail(d);
	}
}

/* Reads a constant with parts, which is enclosed in braces among generic arguments. */
static void read_compound_const(struct demangler *d, char tag)
{
	switch (tag) {
	case 'e':
		say(d, "*");
		read_text(d);
		break;
	case 'R':
	case 'Q':
		say(d, tag == 'R' ? "&" : "&mut ");
		read_const(d, true);
		break;
	case 'A':
		say(d, "[");
		read_list(d, read_element, ", ");
		say(d, "]");
		break;
	case 'T':
		say(d, "(");
		say(d, read_list(d, read_element, ", ") == 1 ? ",)" : ")");
		break;
	default:
		read_variant(d);
	}
}

static void read_this_const(struct demangler *d, bool in_value)
{
	char tag = next(d);
	size_t back;

	if (!d->failed && strchr("hmtyoj", tag)) {
		read_number(d);
	} else if (!d->failed && strchr("aslxni", tag)) {
		say(d, eat(d, 'n') ? "-" : "");
		read_number(d);
	} else if (tag == 'b') {
		read_bool(d);
	} else if (tag == 'c') {
		read_char(d);
	} else if (tag == 'p') {
		say(d, "_");
	} else if (tag == 'R' && eat(d, 'e')) {
		read_text(d);
	} else if (!d->failed && strchr("eRQATV", tag)) {
		say(d, in_value ? "" : "{");
		read_compound_const(d, tag);
		say(d, in_value ? "" : "}");
	} else if (tag == 'B') {
		if (go_back(d, &back)) {
			read_const(d, in_value);
			d->at = back;
		}
	} else {
		fail(d);
	}
}

static void read_const(struct demangler *d, bool in_value)
{
	if (enter(d))
		read_this_const(d, in_value);
	leave(d);
}

/* --- symbols -------------------------------------------------------------------------------- */

/*
 * Reads what follows the path: the crate that instantiated it, and suffixes of compilers such as
 * ".cold". Numbers that LLVM adds are omitted.
 */
static void read_rest(struct demangler *d)
{
	if (is_upper(peek(d))) {
		d->quiet = true;
		read_path(d, false);
		d->quiet = false;
	}
	if (!peek(d))
		return;
	if (peek(d) != '.' && peek(d) != '$')
		fail(d);
	if (!d->failed && strncmp(d->s + d->at, ".llvm.", strlen(".llvm.")))
		say(d, d->s + d->at);
}

char *symrust_v0(const char *name)
{
	struct demangler d = { .s = name + 2 };

	if (name[0] != '_' || name[1] != 'R' || !is_upper(name[2]))
		return NULL;
	d.out = malloc(OUT_MAX);
	if (!d.out)
		return NULL;
	read_path(&d, true);
	read_rest(&d);
	return demangler_text(&d);
}
