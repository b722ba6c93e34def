/* SPDX-License-Identifier: MIT */
/* rust.h - names of Rust functions. */
#ifndef LPFM_SYMBOLS_RUST_H
#define LPFM_SYMBOLS_RUST_H

/*
 * Returns the end of a legacy Rust name, after which suffixes of the compiler may follow. NULL: it
 * is not such a name.
 */
const char *symrust_end(const char *name);

/*
 * Turns a legacy Rust name that was demangled as C++, in place, into the function's path without
 * the hash. Other names do not change.
 */
void symrust_tidy(char *name);

#endif
