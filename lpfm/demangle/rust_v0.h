/* SPDX-License-Identifier: MIT */
/* rust_v0.h - names of Rust functions in the mangling that is called v0 (RFC 2603): "_R...". */
#ifndef LPFM_SYMBOLS_RUST_V0_H
#define LPFM_SYMBOLS_RUST_V0_H

/*
 * The path of a mangled name as the source would have it, without the hashes of crates, from malloc. NULL: it is no
 * such name, or one that would be longer than 16 KiB or is nested deeper than 200 levels; or there is no memory.
 */
char *symrust_v0(const char *name);

#endif
