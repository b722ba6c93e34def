#!/bin/bash
# SPDX-License-Identifier: MIT
# follow.sh BUILD - what counting costs a build of hundreds of processes: by one context that is inherited, as perf
# stat's counters are; and followed, each process with a context of its own. Runs interleaved, the least of each, as time
# and as time of processors, which others disturb less; and how far the page faults of the two ways are apart.
set -eu
build=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
events=task-clock,page-faults,context-switches,cpu-migrations
row() { printf '%-62s %8s %8s %8s %8s\n' "$@"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

# built NAME COMMAND...: a build of libperfmon under COMMAND; into the files NAME and NAME.cpu, what it took
built() {
	local name=$1 TIMEFORMAT='%R %U %S'
	shift
	rm -rf "$out/tree"
	{ time "$@" make -j2 LPFM_READY=1 BUILD="$out/tree" "$out/tree/libperfmon.so" >/dev/null 2>"$out/log"; } 2>"$out/took"
	awk '{ print $1 * 1000 }' "$out/took" >>"$out/$name"
	awk '{ print ($2 + $3) * 1000 }' "$out/took" >>"$out/$name.cpu"
}
least() { sort -n "$out/$1" | head -n 1; }
# told WHAT NAME: a line of what NAME took, and compared with the build alone
told() {
	row "$1" "$(least "$2")" "$(ratio "$(least "$2")" "$(least alone)")" \
		"$(least "$2.cpu")" "$(ratio "$(least "$2.cpu")" "$(least alone.cpu)")"
}

for round in 1 2 3 4 5; do
	built alone env
	built inherited "$build/lpfm" stat -x, -e $events -o "$out/counts" --
	built followed "$build/lpfm" stat -x, --threads --per-process -e $events -o "$out/counts.followed" --
	built perf perf stat -e $events -o "$out/counts.perf" --
done
row 'a build of libperfmon, make -j2' ms alone=1 'CPU ms' alone=1
told '  alone' alone
for tool in inherited followed perf; do
	name="lpfm stat, $tool"
	[ $tool = perf ] && name='perf stat'
	told "  $name, four events in every process" $tool
done
faults() { awk -F, -v at="$2" '/page-faults/ { n += $at } END { printf "%.0f", n }' "$out/$1"; }
row '  page faults, inherited; followed = 1' "$(faults counts 1)" \
	"$(ratio "$(faults counts 1)" "$(faults counts.followed 3)")" '' ''
