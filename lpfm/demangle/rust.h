/* SPDX-License-Identifier: MIT */
/* rust.h - names of Rust functions. */
#ifndef LPFM_SYMBOLS_RUST_H
#define LPFM_SYMBOLS_RUST_H

/* Where a mangled name ends that Rust wrote as C++ writes names; what follows is the compiler's. NULL: it is none. */
const char *symrust_end(const char *name);

/*
 * A name that Rust wrote as C++ writes names, demangled so far: becomes, in place, the function's path without the hash
 * at its end. Others stay.
 */
void symrust_tidy(char *name);

#endif
