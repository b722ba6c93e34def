/* SPDX-License-Identifier: MIT */
/* rust_v0.h - names of Rust functions in the mangling that is called v0 (RFC 2603): "_R...". */
#ifndef LPFM_SYMBOLS_RUST_V0_H
#define LPFM_SYMBOLS_RUST_V0_H

/*
 * Returns the path of a mangled name as in the source, without the hashes of crates, allocated by
 * malloc(). Returns NULL if it is not such a name, is longer than 16 KiB when demangled or nested
 * deeper than 200 levels, or if there is no memory.
 */
char *symrust_v0(const char *name);

#endif
