/* SPDX-License-Identifier: MIT */
/*
 * dlang.c - the demangler of D's names, by the grammar in the chapter "Application Binary
 * Interface" of D's specification. libiberty's demangler is not used: its time can double with
 * every 20 bytes of a malicious name, its recursion is as deep as the name is long, and it ends the
 * process when memory runs out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangle.h"

enum { DEPTH_MAX = 200, OUT_MAX = 16384, RULES_MAX = 1 << 16 };

/*
 * The state of the demangler, which has a function for each rule: the position in the name, the
 * text so far, and limits, because names come from files. Any error sets `failed`, after which
 * nothing is read or written.
 */
struct demangler {
	const char	*s;
	size_t		at;
	char		*out;
	size_t		n;
	unsigned int	depth, rules;
	/* D: position of the back reference that is being followed */
	size_t		followed;
	bool		quiet;		/* what is read is not printed */
	bool		failed;
};

static void fail(struct demangler *d)
{
	d->failed = true;
}

/* Ends the demangling at a limit. Unlike after fail(), no other rule is tried. */
static void give_up(struct demangler *d)
{
	d->rules = RULES_MAX;
	fail(d);
}

static char peek(const struct demangler *d)
{
	return d->failed ? '\0' : d->s[d->at];
}

static char next(struct demangler *d)
{
	char c = peek(d);

	if (c)
		d->at++;
	else
		fail(d);
	return c;
}

static bool eat(struct demangler *d, char c)
{
	if (peek(d) != c)
		return false;
	d->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Reads a number. Numbers are lengths, so none is larger than the longest text. */
static size_t read_decimal(struct demangler *d)
{
	size_t value = 0;

	if (!is_digit(peek(d)))
		fail(d);
	if (eat(d, '0'))
		return 0;
	while (is_digit(peek(d))) {
		value = value * 10 + (size_t)(next(d) - '0');
		if (value > OUT_MAX)
			fail(d);
	}
	return value;
}

static void put(struct demangler *d, const char *text, size_t len)
{
	if (d->failed || d->quiet)
		return;
	if (len >= OUT_MAX - d->n) {
		give_up(d);
		return;
	}
	memcpy(d->out + d->n, text, len);
	d->n += len;
}

static void say(struct demangler *d, const char *text)
{
	put(d, text, strlen(text));
}

/* A rule that may contain itself begins with enter() and ends with leave(). */
static bool enter(struct demangler *d)
{
	if (++d->depth > DEPTH_MAX || ++d->rules > RULES_MAX)
		give_up(d);
	return !d->failed;
}

static void leave(struct demangler *d)
{
	d->depth--;
}

/* Returns the text, allocated by malloc(); NULL if the name could not be read. */
static char *demangler_text(struct demangler *d)
{
	if (d->failed || !d->n) {
		free(d->out);
		return NULL;
	}
	d->out[d->n++] = '\0';
	char *fitting = realloc(d->out, d->n);

	return fitting ? fitting : d->out;
}

static void read_type(struct demangler *d);
static void read_qualified(struct demangler *d, bool is_symbol);
static void read_mangle(struct demangler *d);
static void read_template(struct demangler *d);
static void read_value(struct demangler *d, char type);

/* --- input ---------------------------------------------------------------------------------- */

static bool begins(const struct demangler *d, const char *text)
{
	return !d->failed && strncmp(d->s + d->at, text, strlen(text)) == 0;
}

static bool eat_text(struct demangler *d, const char *text)
{
	bool is_there = begins(d, text);

	if (is_there)
		d->at += strlen(text);
	return is_there;
}

/*
 * Returns the position to which the back reference at the present position points, and its end. It
 * returns the present position itself if there is no valid back reference.
 */
static size_t find_target(const struct demangler *d, size_t *end)
{
	size_t at = d->at + 1, back = 0;

	while (is_upper(d->s[at]) && back < OUT_MAX)
		back = back * 26 + (size_t)(d->s[at++] - 'A');
	if (!is_lower(d->s[at]))
		return d->at;
	back = back * 26 + (size_t)(d->s[at] - 'a');
	*end = at + 1;
	return back > d->at ? d->at : d->at - back;
}

/*
 * Reads the target of the back reference by the given rule. A back reference within the target must
 * lie before this one, so that none leads to itself.
 */
static void follow(struct demangler *d, void (*rule)(struct demangler *d))
{
	size_t end = d->at, target = find_target(d, &end), followed = d->followed;

	if (target == d->at || d->at >= followed)
		fail(d);
	if (!d->failed && !d->quiet) {
		d->followed = d->at;
		d->at = target;
		rule(d);
		d->followed = followed;
	}
	d->at = end;
}

static bool at_template(const struct demangler *d)
{
	return begins(d, "__T") || begins(d, "__U");
}

static bool at_name(const struct demangler *d)
{
	size_t end;

	return is_digit(peek(d)) || at_template(d) || (peek(d) == 'Q' && is_digit(d->s[find_target(d, &end)]));
}

/* Reads a length, which must not exceed the rest of the name. */
static size_t read_length(struct demangler *d)
{
	size_t len = read_decimal(d);

	if (!d->failed && strnlen(d->s + d->at, len) == len)
		return len;
	fail(d);
	return 0;
}

/* --- output --------------------------------------------------------------------------------- */

static void put_digits(struct demangler *d, size_t (*span)(const char *s, const char *set), const char *set)
{
	size_t n = span(d->s + d->at, set);

	put(d, d->s + d->at, n);
	d->at += n;
}

static void reverse(char *from, char *end)
{
	while (from < end) {
		char c = *from;

		*from++ = *--end;
		*end = c;
	}
}

/* Moves the text between `from` and `to` to the end. */
static void put_behind(struct demangler *d, size_t from, size_t to)
{
	if (d->failed || d->quiet)
		return;
	reverse(d->out + from, d->out + to);
	reverse(d->out + to, d->out + d->n);
	reverse(d->out + from, d->out + d->n);
}

/* Reads and prints what was skipped at an earlier position. */
static void print_from(struct demangler *d, size_t at, void (*rule)(struct demangler *d))
{
	size_t end = d->at;

	d->at = at;
	rule(d);
	d->at = end;
}

static size_t skip(struct demangler *d, void (*rule)(struct demangler *d))
{
	size_t at = d->at;
	bool quiet = d->quiet;

	d->quiet = true;
	rule(d);
	d->quiet = quiet;
	return at;
}

/* --- names ---------------------------------------------------------------------------------- */

/*
 * Names that the compiler generates. Those of data are followed only by "Z", and are printed before
 * the name to which they belong.
 */
static const struct {
	const char *name, *after, *plain;
} specials[] = {
	{ "__ctor", "", "this" }, { "__dtor", "", "~this" }, { "__postblit", "MFZ", "this(this)" },
	{ "__init", "Z", "initializer for " }, { "__vtbl", "Z", "vtable for " }, { "__Class", "Z", "ClassInfo for " },
	{ "__Interface", "Z", "Interface for " }, { "__ModuleInfo", "Z", "ModuleInfo for " },
};

/* Prints the next len bytes as a name; `start` is where the text of the whole path begins. */
static void put_name(struct demangler *d, size_t len, size_t start)
{
	size_t own = d->n;

	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		const char *after = specials[i].after;
		bool is_data = *after == 'Z';

		if (strlen(specials[i].name) != len || !begins(d, specials[i].name) ||
		    strncmp(d->s + d->at + len, after, strlen(after)) != 0)
			continue;
		say(d, specials[i].plain);
		d->at += len + (is_data ? 0 : strlen(after));
		if (is_data && !d->quiet && !d->failed && own > start) {
			put_behind(d, start, own);
			d->n--;		/* removes the "." */
		}
		return;
	}
	put(d, d->s + d->at, len);
	d->at += len;
}

/* "__S" and a number is an invented parent, which distinguishes equal names in one function. */
static bool is_fake_parent(const struct demangler *d, size_t len)
{
	return len >= 4 && begins(d, "__S") && 3 + strspn(d->s + d->at + 3, "0123456789") >= len;
}

static void read_plain_name(struct demangler *d)
{
	put_name(d, read_length(d), d->n);
}

static void read_identifier(struct demangler *d, size_t start)
{
	size_t len, begin;

	if (peek(d) == 'Q') {
		follow(d, read_plain_name);
		return;
	}
	if (at_template(d)) {
		read_template(d);
		return;
	}
	while (len = read_length(d), is_fake_parent(d, len))
		d->at += len;
	begin = d->at;
	if (!at_template(d) || len < 5) {
		put_name(d, len, start);
		return;
	}
	read_template(d);
	if (d->at - begin != len)
		fail(d);
}

/* --- functions ------------------------------------------------------------------------------ */

static const char *const conventions[] = {
	['F'] = "", ['U'] = "extern(C) ", ['W'] = "extern(Windows) ", ['V'] = "extern(Pascal) ",
	['R'] = "extern(C++) ", ['Y'] = "extern(Objective-C) ",
};

static bool at_function(const struct demangler *d)
{
	return is_upper(peek(d)) && (size_t)peek(d) < sizeof(conventions) / sizeof(conventions[0]) &&
	       conventions[(size_t)peek(d)];
}

static void read_convention(struct demangler *d)
{
	if (at_function(d))
		say(d, conventions[(size_t)next(d)]);
	else
		fail(d);
}

static const char *const attributes[] = {
	['a'] = "pure ", ['b'] = "nothrow ", ['c'] = "ref ", ['d'] = "@property ", ['e'] = "@trusted ",
	['f'] = "@safe ", ['i'] = "@nogc ", ['j'] = "return ", ['l'] = "scope ", ['m'] = "@live ",
};

/* Reads attributes up to the first 'N' that belongs to a parameter. */
static void read_attributes(struct demangler *d)
{
	while (peek(d) == 'N') {
		char c = d->s[d->at + 1];

		if (!is_lower(c) || (size_t)c >= sizeof(attributes) / sizeof(attributes[0]) || !attributes[(size_t)c])
			return;
		say(d, attributes[(size_t)c]);
		d->at += 2;
	}
}

/* Reads the modifiers of what `this` points to. */
static void read_modifiers(struct demangler *d)
{
	for (;;) {
		if (eat(d, 'x'))
			say(d, " const");
		else if (eat(d, 'y'))
			say(d, " immutable");
		else if (eat(d, 'O'))
			say(d, " shared");
		else if (eat_text(d, "Ng"))
			say(d, " inout");
		else
			return;
	}
}

static void read_parameter(struct demangler *d)
{
	for (;;) {
		if (eat(d, 'M'))
			say(d, "scope ");
		else if (eat_text(d, "Nk"))
			say(d, "return ");
		else if (eat(d, 'I'))
			say(d, "in ");
		else if (eat(d, 'J'))
			say(d, "out ");
		else if (eat(d, 'K'))
			say(d, "ref ");
		else if (eat(d, 'L'))
			say(d, "lazy ");
		else
			break;
	}
	read_type(d);
}

/*
 * Reads parameters up to 'Z', or up to 'X' or 'Y', the marks of variadic functions: "int[] a..."
 * and "int a, ...".
 */
static void read_parameters(struct demangler *d)
{
	size_t n = 0;

	say(d, "(");
	for (; !d->failed && !strchr("XYZ", peek(d)); n++) {
		say(d, n ? ", " : "");
		read_parameter(d);
	}
	if (eat(d, 'X'))
		say(d, "...");
	else if (eat(d, 'Y'))
		say(d, n ? ", ..." : "...");
	else if (!eat(d, 'Z'))
		fail(d);
	say(d, ")");
}

static void read_head(struct demangler *d)
{
	read_convention(d);
	read_attributes(d);
}

/*
 * Reads the parameters of a function in a path. If the name ends after them, they were the type of
 * the whole path: then nothing is read.
 */
static void read_signature(struct demangler *d, bool is_symbol)
{
	struct demangler before = *d;
	size_t modifiers = 0;

	if (peek(d) != 'M' && !at_function(d))
		return;
	if (eat(d, 'M'))
		modifiers = skip(d, read_modifiers);
	skip(d, read_head);
	read_parameters(d);
	if (modifiers && is_symbol)
		print_from(d, modifiers, read_modifiers);
	if (!peek(d)) {
		before.rules = d->rules;
		*d = before;
	}
}

static void read_qualified(struct demangler *d, bool is_symbol)
{
	size_t start = d->n, n = 0;

	if (enter(d)) {
		do {
			if (eat(d, '0'))	/* a symbol without a name */
				continue;
			say(d, n++ ? "." : "");
			read_identifier(d, start);
			read_signature(d, is_symbol);
		} while (at_name(d));
	}
	leave(d);
}

/* Reads "_D", a path, and the result or type; 'Z' means that there is no type. */
static void read_mangle(struct demangler *d)
{
	if (!eat_text(d, "_D") || !at_name(d))
		fail(d);
	read_qualified(d, true);
	if (!eat(d, 'Z'))
		skip(d, read_type);
}

/* --- types ---------------------------------------------------------------------------------- */

static const char *const basic[] = {
	['n'] = "typeof(null)", ['v'] = "void", ['g'] = "byte", ['h'] = "ubyte", ['s'] = "short", ['t'] = "ushort",
	['i'] = "int", ['k'] = "uint", ['l'] = "long", ['m'] = "ulong", ['f'] = "float", ['d'] = "double",
	['e'] = "real",
	['o'] = "ifloat", ['p'] = "idouble", ['j'] = "ireal", ['q'] = "cfloat", ['r'] = "cdouble", ['c'] = "creal",
	['b'] = "bool", ['a'] = "char", ['u'] = "wchar", ['w'] = "dchar",
};

/*
 * The mangled name has the attributes first and the return type last; the text has the return type
 * first and the attributes last.
 */
static void read_function(struct demangler *d)
{
	size_t attributes_at, parameters, returns;

	read_convention(d);
	attributes_at = skip(d, read_attributes);
	parameters = d->n;
	read_parameters(d);
	returns = d->n;
	read_type(d);
	put_behind(d, parameters, returns);
	say(d, " ");
	print_from(d, attributes_at, read_attributes);
}

static void read_delegate(struct demangler *d)
{
	size_t modifiers = skip(d, read_modifiers);

	if (peek(d) == 'Q')
		follow(d, read_function);
	else
		read_function(d);
	say(d, "delegate");
	print_from(d, modifiers, read_modifiers);
}

/* The mangled name has the key's type first; the text is VALUE[KEY]. */
static void read_assoc_type(struct demangler *d)
{
	size_t key = d->n, value;

	say(d, "[");
	read_type(d);
	say(d, "]");
	value = d->n;
	read_type(d);
	put_behind(d, key, value);
}

static void read_static_array(struct demangler *d)
{
	size_t digits = d->at, n = strspn(d->s + d->at, "0123456789");

	d->at += n;
	read_type(d);
	say(d, "[");
	put(d, d->s + digits, n);
	say(d, "]");
}

static void read_tuple(struct demangler *d)
{
	size_t n = read_decimal(d);

	say(d, "Tuple!(");
	for (size_t i = 0; i < n && !d->failed; i++) {
		say(d, i ? ", " : "");
		read_type(d);
	}
	say(d, ")");
}

static void read_within(struct demangler *d, const char *before)
{
	say(d, before);
	read_type(d);
	say(d, ")");
}

static void read_after_n(struct demangler *d)
{
	if (eat(d, 'g'))
		read_within(d, "inout(");
	else if (eat(d, 'h'))
		read_within(d, "__vector(");
	else if (eat(d, 'n'))
		say(d, "typeof(*null)");
	else
		fail(d);
}

static void read_pointer(struct demangler *d)
{
	if (at_function(d)) {
		read_function(d);
		say(d, "function");
	} else {
		read_type(d);
		say(d, "*");
	}
}

static void read_this_type(struct demangler *d)
{
	char tag = peek(d);

	if (tag == 'Q') {
		follow(d, read_type);
		return;
	}
	if (at_function(d)) {
		read_pointer(d);
		return;
	}
	next(d);
	switch (tag) {
	case 'O':
		read_within(d, "shared(");
		break;
	case 'x':
		read_within(d, "const(");
		break;
	case 'y':
		read_within(d, "immutable(");
		break;
	case 'N':
		read_after_n(d);
		break;
	case 'A':
		read_type(d);
		say(d, "[]");
		break;
	case 'G':
		read_static_array(d);
		break;
	case 'H':
		read_assoc_type(d);
		break;
	case 'P':
		read_pointer(d);
		break;
	case 'C': case 'S': case 'E': case 'T':
		read_qualified(d, false);
		break;
	case 'D':
		read_delegate(d);
		break;
	case 'B':
		read_tuple(d);
		break;
	case 'z':
		say(d, peek(d) == 'k' ? "ucent" : "cent");
		if (!eat(d, 'k') && !eat(d, 'i'))
			fail(d);
		break;
	default:
		if (is_lower(tag) && (size_t)tag < sizeof(basic) / sizeof(basic[0]) && basic[(size_t)tag])
			say(d, basic[(size_t)tag]);
		else
			fail(d);
	}
}

static void read_type(struct demangler *d)
{
	if (enter(d))
		read_this_type(d);
	leave(d);
}

/* --- values --------------------------------------------------------------------------------- */

static void read_char(struct demangler *d, char type)
{
	unsigned int value = (unsigned int)strtoul(d->s + d->at, NULL, 10);
	char text[16];

	if (type == 'a' && value >= ' ' && value <= '~')
		snprintf(text, sizeof(text), "'%c'", (char)value);
	else if (type == 'a')
		snprintf(text, sizeof(text), "'\\x%02x'", value);
	else
		snprintf(text, sizeof(text), type == 'u' ? "'\\u%04x'" : "'\\U%08x'", value);
	say(d, text);
	d->at += strspn(d->s + d->at, "0123456789");
}

static void read_integer(struct demangler *d, char type)
{
	if (!is_digit(peek(d))) {
		fail(d);
	} else if (type == 'b') {
		say(d, read_decimal(d) ? "true" : "false");
	} else if (type == 'a' || type == 'u' || type == 'w') {
		read_char(d, type);
	} else {
		put_digits(d, strspn, "0123456789");
		say(d, type == 'h' || type == 't' || type == 'k' ? "u" : type == 'l' ? "L" : type == 'm' ? "uL" : "");
	}
}

static void read_real(struct demangler *d)
{
	if (eat_text(d, "NAN")) {
		say(d, "NaN");
		return;
	}
	say(d, eat(d, 'N') ? "-" : "");
	if (eat_text(d, "INF")) {
		say(d, "Inf");
		return;
	}
	say(d, "0x");
	put(d, d->s + d->at, peek(d) != '\0');
	next(d);
	say(d, ".");
	put_digits(d, strspn, "0123456789ABCDEFabcdef");
	if (!eat(d, 'P'))
		fail(d);
	say(d, eat(d, 'N') ? "p-" : "p");
	put_digits(d, strspn, "0123456789");
}

static const char *const escapes[] = {
	['\t'] = "\\t", ['\n'] = "\\n", ['\v'] = "\\v", ['\f'] = "\\f", ['\r'] = "\\r",
};

/* Reads what follows the letter: a length, "_", and two digits for each byte. */
static void read_text(struct demangler *d, char letter)
{
	size_t len = read_decimal(d);
	unsigned int byte;

	if (!eat(d, '_'))
		fail(d);
	say(d, "\"");
	for (size_t i = 0; i < len && !d->failed; i++) {
		const char *hex = d->s + d->at;

		if (strspn(hex, "0123456789abcdefABCDEF") < 2 || sscanf(hex, "%2x", &byte) != 1) {
			fail(d);
			return;
		}
		if (byte >= ' ' && byte <= '~')
			put(d, &(char){ (char)byte }, 1);
		else if (byte < sizeof(escapes) / sizeof(escapes[0]) && escapes[byte])
			say(d, escapes[byte]);
		else
			put(d, (char[]){ '\\', 'x', hex[0], hex[1] }, 4);
		d->at += 2;
	}
	say(d, "\"");
	if (letter != 'a')
		put(d, &letter, 1);
}

/* Reads a list of values; in an associative array, of pairs. */
static void read_values(struct demangler *d, const char *open, const char *close, bool in_pairs)
{
	size_t n = read_decimal(d);

	say(d, open);
	for (size_t i = 0; i < n && !d->failed; i++) {
		say(d, i ? ", " : "");
		read_value(d, '\0');
		if (in_pairs) {
			say(d, ":");
			read_value(d, '\0');
		}
	}
	say(d, close);
}

static void read_this_value(struct demangler *d, char type)
{
	if (is_digit(peek(d)) || eat(d, 'i')) {
		read_integer(d, type);
		return;
	}
	char tag = next(d);

	switch (tag) {
	case 'n':
		say(d, "null");
		break;
	case 'N':
		say(d, "-");
		read_integer(d, type);
		break;
	case 'e':
		read_real(d);
		break;
	case 'c':
		read_real(d);
		say(d, "+");
		if (!eat(d, 'c'))
			fail(d);
		read_real(d);
		say(d, "i");
		break;
	case 'a': case 'w': case 'd':
		read_text(d, tag);
		break;
	case 'A':
		read_values(d, "[", "]", type == 'H');
		break;
	case 'S':
		read_values(d, "(", ")", false);
		break;
	case 'f':
		read_mangle(d);
		break;
	default:
		fail(d);
	}
}

static void read_value(struct demangler *d, char type)
{
	if (enter(d))
		read_this_value(d, type);
	leave(d);
}

/* --- templates ------------------------------------------------------------------------------ */

/* Reads a value that follows its type, which is printed only before values of a structure. */
static void read_typed_value(struct demangler *d)
{
	size_t end, begin = d->n;
	char type = peek(d) == 'Q' ? d->s[find_target(d, &end)] : peek(d);

	read_type(d);
	if (peek(d) != 'S' && !d->quiet)
		d->n = begin;
	read_value(d, type);
}

static void read_foreign_name(struct demangler *d)
{
	size_t len = read_length(d);

	put(d, d->s + d->at, len);
	d->at += len;
}

static void read_argument(struct demangler *d)
{
	eat(d, 'H');	/* the template is specialised */
	switch (next(d)) {
	case 'S':
		if (begins(d, "_D"))
			read_mangle(d);
		else
			read_qualified(d, false);
		break;
	case 'T':
		read_type(d);
		break;
	case 'V':
		read_typed_value(d);
		break;
	case 'X':
		read_foreign_name(d);
		break;
	default:
		fail(d);
	}
}

static void read_template(struct demangler *d)
{
	d->at += strlen("__T");
	if (enter(d) && at_name(d)) {
		read_identifier(d, d->n);
		say(d, "!(");
		for (size_t n = 0; !d->failed && !eat(d, 'Z'); n++) {
			say(d, n ? ", " : "");
			read_argument(d);
		}
		say(d, ")");
	} else {
		fail(d);
	}
	leave(d);
}

/* --- symbols -------------------------------------------------------------------------------- */

/*
 * A suffix for a part that the compiler made of a function, such as ".part.0", is printed as in
 * C++.
 */
static void read_clone(struct demangler *d)
{
	if (!peek(d))
		return;
	if (peek(d) != '.')
		fail(d);
	say(d, " [clone ");
	say(d, d->s + d->at);
	say(d, "]");
}

char *symdlang(const char *name)
{
	struct demangler d = { .s = name, .followed = SIZE_MAX };

	if (strcmp(name, "_Dmain") == 0)
		return strdup("D main");
	if (strncmp(name, "_D", 2) != 0 || !(is_digit(name[2]) || name[2] == '_'))
		return NULL;
	d.out = malloc(OUT_MAX);
	if (!d.out)
		return NULL;
	read_mangle(&d);
	read_clone(&d);
	return demangler_text(&d);
}
