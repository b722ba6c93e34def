#!/bin/bash
# SPDX-License-Identifier: MIT
# vm.sh - what perfmon.ko and perf_event cost in the emulated machine (spec/vm), in guest instructions.
cd "$(dirname "$0")/../.." || exit 1
if ! why=$(spec/vm/vm prepare 2>&1); then
	echo "guest instructions: not measured, for the emulated machine cannot be had here: ${why##*vm: }"
	exit 0
fi
spec/vm/run costs | grep -v '^ok '
exit "${PIPESTATUS[0]}"
