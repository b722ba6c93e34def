/* SPDX-License-Identifier: MIT */
/* dlang.h - demangles names of D functions: "_D...". */
#ifndef LPFM_DEMANGLE_DLANG_H
#define LPFM_DEMANGLE_DLANG_H

/*
 * Returns a mangled name as c++filt prints it, allocated by malloc(): with parameters and template
 * arguments, but neither the return type nor attributes. Returns NULL if it is not such a name, is
 * longer than 16 KiB when demangled or nested deeper than 200 levels, or if there is no memory.
 */
char *symdlang(const char *name);

#endif
