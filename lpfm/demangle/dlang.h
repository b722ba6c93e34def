/* SPDX-License-Identifier: MIT */
/* dlang.h - names of D's functions: "_D...". */
#ifndef LPFM_DEMANGLE_DLANG_H
#define LPFM_DEMANGLE_DLANG_H

/*
 * A mangled name as c++filt prints it: parameters and template arguments, but neither what the function returns nor its
 * attributes. It is from malloc. NULL: it is no such name, or one that would be longer than 16 KiB or is nested deeper
 * than 200 levels; or there is no memory.
 */
char *symdlang(const char *name);

#endif
