#!/bin/bash
# SPDX-License-Identifier: MIT
# follow.sh BUILD - what counting costs a build of hundreds of processes, followed and each with contexts of its
# own; perf stat, whose kernel inherits counters, beside. Runs interleaved, the least of each.
set -eu
build=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
events=task-clock,page-faults,context-switches,cpu-migrations
row() { printf '%-62s %12s %8s\n' "$@"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

# built NAME COMMAND...: a build of libperfmon under COMMAND, its time into the file NAME
built() {
	local name=$1 from
	shift
	rm -rf "$out/tree"
	from=$(date +%s%N)
	"$@" make -j2 LPFM_READY=1 BUILD="$out/tree" "$out/tree/libperfmon.so" >/dev/null 2>"$out/log"
	echo $((($(date +%s%N) - from) / 1000000)) >>"$out/$name"
}
least() { sort -n "$out/$1" | head -n 1; }

for round in 1 2 3; do
	built alone env
	built lpfm "$build/lpfm" stat --threads -e $events -o "$out/counts" --
	built perf perf stat -e $events -o "$out/counts.perf" --
done
row 'a build of libperfmon, make -j2' ms 'alone = 1'
row '  alone' "$(least alone)" 1.000
for tool in lpfm perf; do
	row "  $tool stat, four events in every process" "$(least $tool)" "$(ratio "$(least $tool)" "$(least alone)")"
done
