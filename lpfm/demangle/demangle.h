/* SPDX-License-Identifier: MIT */
/* demangle.h - names of functions as their source has them. */
#ifndef LPFM_DEMANGLE_DEMANGLE_H
#define LPFM_DEMANGLE_DEMANGLE_H

/*
 * Demangles a name of C++, D, OCaml or Rust; the result is allocated by malloc(). Returns NULL if
 * it is no such name, is longer than 16 KiB, or longer than 64 KiB when demangled, or if there is
 * no memory.
 */
char *demangle(const char *name);

/* --- dlang.c: names of D functions, "_D..." --------------------------------------------------- */

/*
 * Returns a mangled name as c++filt prints it, allocated by malloc(): with parameters and template
 * arguments, but neither the return type nor attributes. Returns NULL if it is not such a name, is
 * longer than 16 KiB when demangled or nested deeper than 200 levels, or if there is no memory.
 */
char *symdlang(const char *name);

#endif
