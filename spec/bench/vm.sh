#!/bin/bash
# SPDX-License-Identifier: MIT
# vm.sh - the costs of perfmon.ko and perf_event in the emulated machine (spec/vm), in guest instructions.
cd "$(dirname "$0")/../.." || exit 1
for arch in arm64 amd64; do
	if ! why=$(spec/vm/vm -A "$arch" prepare 2>&1); then
		echo "guest instructions of $arch: not measured, for the machine cannot be had here: ${why##*vm: }"
		continue
	fi
	spec/vm/run -A "$arch" costs | grep -v '^ok '
	[ "${PIPESTATUS[0]}" = 0 ] || exit 1
done
