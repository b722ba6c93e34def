#!/bin/bash
# SPDX-License-Identifier: MIT
# record.sh BUILD - takes 10,000 samples a second of each CPU, with call stacks, by lpfm and by perf record: how many
# of the expected samples are taken, how many are lost, and how much CPU time the recorder takes. A timer that fires
# late is no lost sample: on a busy machine both tools take fewer.
set -eu
build=$1 rate=10000 seconds=2
cpus=$(nproc)
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
gcc -O2 -Wall -Wextra -o "$build/bench/cost" spec/bench/cost.c
gcc -O1 -g -Wall -Wextra -fno-omit-frame-pointer -o "$out/deep" spec/bench/deep.c -pthread
row() { printf '%-44s %10s %10s %10s %8s %10s\n' "$@"; }

# count TEXT: prints the first number before "samples" in what a recorder printed
count() { sed 's/,//g' <<<"$1" | grep -oE '[0-9]+ samples' | head -n 1 | cut -d' ' -f1; }

# recorded LABEL EXPECTED COMMAND...: COMMAND records the program "deep". EXPECTED: a number of
# samples, or "whole" for as many as all CPUs should give while "deep" ran.
recorded() {
	local label=$1 expected=$2 text program took all taken lost
	shift 2
	text=$("$build/bench/cost" "$@" "$out/deep" $seconds "$cpus" 2>&1 >"$out/program")
	read -r program took < "$out/program"
	all=$(awk '$1 == "cost" { print $2 }' <<<"$text")
	taken=$(count "$text")
	lost=$(sed 's/,//g' <<<"$text" | grep -oE '[0-9]+ samples? (lost|missed|throttled)' | awk '{ n += $1 } END { print n + 0 }')
	case $1 in perf) lost=$(perf report --stats -i "$out/perf.data" 2>/dev/null | awk '/LOST/ { n += $NF } END { print n + 0 }');; esac
	[ "$expected" = whole ] && expected=$(awk -v ms="$took" -v n="$cpus" -v r=$rate 'BEGIN { print ms * n * r / 1000 }')
	awk -v l="$label" -v t="$taken" -v e="$expected" -v n="$lost" -v a="$all" -v p="$program" 'BEGIN {
		printf "%-44s %10d %10.3f %10d %8.2f %10.1f\n", l, t, t / e, n, (a - p) / a, (a - p) * 1e3 / t }'
}

row "recording $rate samples a second of $cpus CPUs" samples 'of those due' lost 'CPU time' 'us a sample'
due=$((seconds * rate * cpus))
for how in fp dwarf; do
	recorded "  lpfm record -g $how" $due "$build/lpfm" record -g $how -F $rate -o "$out/lpfm.data" --
	recorded "  perf record --call-graph $how" $due perf record -e cpu-clock --call-graph $how -F $rate -o "$out/perf.data"
done
recorded '  lpfm record -a -g fp' whole "$build/lpfm" record -a -g fp -F $rate -o "$out/lpfm.data" --
recorded '  perf record -a -g' whole perf record -a -e cpu-clock -g -F $rate -o "$out/perf.data"
recorded '  lpfm record -a' whole "$build/lpfm" record -a -F $rate -o "$out/lpfm.data" --
