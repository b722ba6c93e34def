#!/bin/bash
# SPDX-License-Identifier: MIT
# record.sh BUILD - takes 10,000 samples a second of each CPU, with call stacks, by lpfm and by perf record: how many
# of the expected samples are taken, how many are lost, and how much CPU time the recorder takes: for a sample of a
# short recording, and for each further sample of a longer one, which has no part in the start and the end. A timer
# that fires late is no lost sample: on a busy machine both tools take fewer.
set -eu
build=$1 rate=10000 seconds=2 longer=8
cpus=$(nproc)
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
gcc -O2 -Wall -Wextra -o "$build/bench/cost" spec/bench/cost.c
gcc -O1 -g -Wall -Wextra -fno-omit-frame-pointer -o "$out/deep" spec/bench/deep.c -pthread
row() { printf '%-44s %10s %10s %10s %8s %10s %10s\n' "$@"; }

# count TEXT: prints the first number before "samples" in what a recorder printed
count() { sed 's/,//g' <<<"$1" | grep -oE '[0-9]+ samples' | head -n 1 | cut -d' ' -f1; }

# measure SECONDS COMMAND...: COMMAND records the program "deep", which runs for SECONDS. Sets program and took (ms of
# CPU time and of time of the program), all (ms of CPU time of both), taken and lost (samples).
measure() {
	local text seconds=$1
	shift
	text=$("$build/bench/cost" "$@" "$out/deep" "$seconds" "$cpus" 2>&1 >"$out/program")
	read -r program took < "$out/program"
	all=$(awk '$1 == "cost" { print $2 }' <<<"$text")
	taken=$(count "$text")
	lost=$(sed 's/,//g' <<<"$text" | grep -oE '[0-9]+ samples? (lost|missed|throttled)' | awk '{ n += $1 } END { print n + 0 }')
	case $1 in perf) lost=$(perf report --stats -i "$out/perf.data" 2>/dev/null | awk '/LOST/ { n += $NF } END { print n + 0 }');; esac
}

# recorded LABEL COMMAND...: records a short and a longer run. Samples are due in all CPU time of the program; with -a,
# in all time of all CPUs.
recorded() {
	local label=$1 program took all taken lost long due
	shift
	measure $longer "$@"
	long="$all $program $taken"
	measure $seconds "$@"
	case " $* " in *' -a '*) due="$took $cpus";; *) due="$program 1";; esac
	awk -v l="$label" -v t="$taken" -v n="$lost" -v a="$all" -v p="$program" -v long="$long" -v due="$due" -v r=$rate '
	BEGIN {
		split(long, of, " ")
		split(due, d, " ")
		printf "%-44s %10d %10.3f %10d %8.2f %10.1f %10.1f\n", l, t, t * 1e3 / (d[1] * d[2] * r), n, (a - p) / a,
			(a - p) * 1e3 / t, (of[1] - of[2] - (a - p)) * 1e3 / (of[3] - t) }'
}

row "recording $rate samples a second of $cpus CPUs" samples 'of those due' lost 'CPU time' 'us a sample' 'us a further one'
for how in fp dwarf; do
	recorded "  lpfm record -g $how" "$build/lpfm" record -g $how -F $rate -o "$out/lpfm.data" --
	recorded "  perf record --call-graph $how" perf record -e cpu-clock --call-graph $how -F $rate -o "$out/perf.data"
done
recorded '  lpfm record -a -g fp' "$build/lpfm" record -a -g fp -F $rate -o "$out/lpfm.data" --
recorded '  perf record -a -g' perf record -a -e cpu-clock -g -F $rate -o "$out/perf.data"
recorded '  lpfm record -a' "$build/lpfm" record -a -F $rate -o "$out/lpfm.data" --
