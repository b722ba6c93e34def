/* SPDX-License-Identifier: MIT */
/* rust.h - names of Rust functions. */
#ifndef LPFM_SYMBOLS_RUST_H
#define LPFM_SYMBOLS_RUST_H

/*
 * A name that Rust wrote as C++ writes names, demangled so far: becomes, in place, the function's path without the hash
 * at its end. Others stay.
 */
void symrust_tidy(char *name);

#endif
