// SPDX-License-Identifier: MIT
/* regions_cpp.cpp - regions that exceptions end; spec/core/regions_spec.lua measures them. */
#include <cstdio>
#include <stdexcept>

#include "perfmon/regions.h"

static void guarded(int depth)
{
	pfm::region guard("guarded");

	if (depth == 0)
		throw std::runtime_error("thrown");
	guarded(depth - 1);
}

static void unguarded()
{
	PFM_REGION_START("unguarded");
	throw std::runtime_error("thrown");
	PFM_REGION_STOP("unguarded");
}

int main()
{
	pfm::region whole("whole");

	for (int i = 0; i < 3; i++) {
		try {
			guarded(1);
		} catch (const std::exception &) {
		}
	}
	try {
		unguarded();
	} catch (const std::exception &) {
	}
	return 0;
}
