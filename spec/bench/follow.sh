#!/bin/bash
# SPDX-License-Identifier: MIT
# follow.sh BUILD - the cost of measuring all threads and children of a program: the program alone, under lpfm and
# under perf take turns, and the least of each counts. Prints the time; the CPU time of program and tool, which other
# load disturbs less; the samples taken, and those lost by the tool's own account.
set -eu
build=$1 rounds=${LPFM_ROUNDS:-3}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
events=task-clock,page-faults,context-switches,cpu-migrations
gcc -O1 -Wall -Wextra -o "$out/crowd" spec/c/measured/crowd.c -pthread
gcc -O1 -Wall -Wextra -o "$out/brood" spec/c/measured/brood.c
ln -s brood "$out/first"
ln -s brood "$out/second"
row() { printf '%-46s %8s %8s %8s %8s %8s %8s\n' "$@"; }

# ran NAME COMMAND...: runs COMMAND; adds its time to the file NAME, its CPU time to NAME.cpu
ran() {
	local name=$1 TIMEFORMAT='%R %U %S'
	shift
	{ time "$@" >/dev/null 2>"$out/said"; } 2>"$out/took"
	awk '{ print $1 * 1000 }' "$out/took" >>"$out/$name"
	awk '{ print ($2 + $3) * 1000 }' "$out/took" >>"$out/$name.cpu"
}
least() { sort -n "$out/$1" | head -n 1; }
ratio() { awk -v a="$(least "$1")" -v b="$(least "$2")" 'BEGIN { printf "%.2f", b ? a / b : 0 }'; }

# told LABEL NAME SAMPLES LOST: prints a row, with the ratios to perf's times
told() {
	row "$1" "$(least "$2")" "$(ratio "$2" perf)" "$(least "$2.cpu")" "$(ratio "$2.cpu" perf.cpu)" "$3" "$4"
}

# recorded LABEL COMMAND...: takes a sample each millisecond of CPU time by both tools, and prints the rows
recorded() {
	local label=$1 round taken lost=0
	shift
	rm -f "$out"/{alone,lpfm,perf}{,.cpu}
	for ((round = 0; round < rounds; round++)); do
		ran alone "$@"
		ran lpfm "$build/lpfm" record -e cpu-clock -c 1000000 -o "$out/lpfm.data" -- "$@"
		cp "$out/said" "$out/lpfm.said"
		ran perf perf record -e cpu-clock -c 1000000 -o "$out/perf.data" "$@"
	done
	told "  $label, alone" alone '' ''
	taken=$(sed 's/,//g' "$out/lpfm.said" | grep -oE '[0-9]+ samples in' | cut -d ' ' -f 1)
	lost=$(sed 's/,//g' "$out/lpfm.said" | grep -oE '[0-9]+ samples? lost' | awk '{ n += $1 } END { print n + 0 }')
	told "    lpfm record" lpfm "$taken" "$lost"
	perf report --stats -i "$out/perf.data" >"$out/stats" 2>/dev/null || :
	told "    perf record" perf "$(awk '/ SAMPLE events/ { print $3; exit }' "$out/stats")" \
		"$(awk '/LOST/ { n += $NF } END { print n + 0 }' "$out/stats")"
}

row 'all threads and children sampled' ms perf=1 'CPU ms' perf=1 samples lost
for how in together inturn; do
	for n in 1 100 1000 2000; do
		recorded "$n threads, $how" "$out/crowd" $n $how
	done
done
recorded '800 times true' sh -c 'i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i + 1)); done'
recorded '3000 short processes' "$out/brood" 3000 "$out/first" "$out/second"
recorded 'make -j2 of libperfmon' sh -c "rm -rf $out/tree; exec make -j2 LPFM_READY=1 BUILD=$out/tree $out/tree/libperfmon.so"

row 'all threads and children counted, four events' ms perf=1 'CPU ms' perf=1 '' ''
rm -f "$out"/{alone,lpfm,perf,each}{,.cpu}
for ((round = 0; round < rounds; round++)); do
	for tool in alone lpfm each perf; do
		rm -rf "$out/tree"
		case $tool in
		alone) command=(env);;
		lpfm) command=("$build/lpfm" stat -x, -e $events -o "$out/counts" --);;
		each) command=("$build/lpfm" stat -x, --per-process -e $events -o "$out/counts.each" --);;
		perf) command=(perf stat -e $events -o "$out/counts.perf" --);;
		esac
		ran $tool "${command[@]}" make -j2 LPFM_READY=1 BUILD="$out/tree" "$out/tree/libperfmon.so"
	done
done
told '  make -j2 of libperfmon, alone' alone '' ''
told '    lpfm stat' lpfm '' ''
told '    lpfm stat --per-process' each '' ''
told '    perf stat' perf '' ''
faults() { awk -F, -v at="$2" '/page-faults/ { n += $at } END { printf "%.0f", n }' "$out/$1"; }
row '    page faults: in all; by process' "$(faults counts 1)" "$(faults counts.each 3)" '' '' '' ''
