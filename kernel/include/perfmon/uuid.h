/* SPDX-License-Identifier: MIT */
/*
 * perfmon/uuid.h - writes the UUID of a sampling format once, for use as bytes and as text.
 *
 *	#define PFM_TOY_SMPL_UUID_OF(F) F(0f, 1e, 2d, 3c, 4b, 5a, 69, 78, 87, 96, a5, b4, c3, d2, e1, f0)
 *
 * Then PFM_TOY_SMPL_UUID_OF(PFM_UUID_BYTES) initializes a pfm_uuid_t, and
 * PFM_TOY_SMPL_UUID_OF(PFM_UUID_TEXT) is "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".
 */
#ifndef PERFMON_UUID_H
#define PERFMON_UUID_H

#define PFM_UUID_BYTES(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
	{ 0x##a, 0x##b, 0x##c, 0x##d, 0x##e, 0x##f, 0x##g, 0x##h, \
	  0x##i, 0x##j, 0x##k, 0x##l, 0x##m, 0x##n, 0x##o, 0x##p }
#define PFM_UUID_TEXT(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
	#a #b #c #d "-" #e #f "-" #g #h "-" #i #j "-" #k #l #m #n #o #p

#endif /* PERFMON_UUID_H */
