#!/bin/bash
# SPDX-License-Identifier: MIT
# sim.sh BUILD - prints rates of the core on the simulated computer, and how costs grow with sets and contexts.
set -eu
build=$1
for program in sim caches; do
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Ikernel/include -o "$build/bench/$program" \
		"spec/bench/$program.c" -L"$build" -lperfmon -Wl,-rpath,"$PWD/$build" -pthread
done

# least NAME ARG...: prints the least of three runs, by the second number if there are two
least() { for _ in 1 2 3; do "$build/bench/sim" "$@"; done | sort -k 2n -k 1n | head -n 1; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
rate() { awk -v ns="$1" 'BEGIN { printf "%.0f", 1e9 / ns }'; }
row() { printf '%-74s %12s %8s\n' "$@"; }

row 'simulated computer' 'a second' ''
row '  overflows handled, each sampled into a buffer' "$(rate "$(least overflows 300000 1000)")" ''
row '  set switches, by time' "$(rate "$(least timeouts 200000)")" ''
row '  set switches, by overflow' "$(rate "$(least triggers 200000)")" ''
row '  context switches between monitored threads' "$(rate "$(least ctxsw 200000)")" ''

row '100 times the events' 'ns' '1st = 1'
first=$(least counting 1000000000)
row '  1 s, 10^9 cycles in each of 4 counters' "$first" 1.00
ns=$(least counting 100000000000)
row '  100 s, 10^11 cycles' "$ns" "$(ratio "$ns" "$first")"
first=$(least overflows 300000 1000)
row '  an overflow every 10^3 cycles' "$first" 1.00
ns=$(least overflows 300000 100000)
row '  an overflow every 10^5 cycles' "$ns" "$(ratio "$ns" "$first")"

row 'event sets: made, programmed, loaded, closed' 'ns a set' '64 = 1'
first=$(least sets 64)
for n in 1 64 4096 65536; do
	ns=$(least sets $n)
	row "  $n" "$ns" "$(ratio "$ns" "$first")"
done
row 'event sets: a switch to the next' 'ns' '2 = 1'
first=$(least switching 2)
for n in 2 64 4096 65536; do
	ns=$(least switching $n)
	row "  among $n" "$ns" "$(ratio "$ns" "$first")"
done

row 'contexts: made, programmed, loaded, started, closed' 'ns each' '100 = 1'
read -r _ first < <(least contexts 100)
for n in 1 100 1000 10000; do
	read -r n ns < <(least contexts $n)
	row "  $n" "$ns" "$(ratio "$ns" "$first")"
done
row 'contexts: reading 4 counters while so many are loaded' 'ns a call' '1 = 1'
read -r _ first < <(least reading 1)
for n in 1 100 10000; do
	read -r n ns < <(least reading $n)
	row "  $n" "$ns" "$(ratio "$ns" "$first")"
done

# caches HOW N: sets ns, the CPU time of an instruction (the least of three runs), and misses
caches() { read -r ns misses < <(for _ in 1 2 3; do "$build/bench/caches" "$@"; done | sort -n | head -n 1); }
instructions() {	# instructions HOW LABEL: prints a row; fails unless the misses are those of "walk"
	caches "$1" 4000000
	[ "$1" != walk ] || bare=$ns bare_misses=$misses
	if [ "$misses" != "$bare_misses" ]; then
		echo "caches $1: $misses misses; on a bare walk $bare_misses" >&2
		exit 1
	fi
	row "  $2" "$(rate "$ns")" "$(ratio "$ns" "$bare")"
}
row 'instructions through caches, 7 accesses in 4 of them' 'a second' 'bare = 1'
instructions walk "a bare walk: valgrind's text, read, and three caches of tags"
instructions alone 'simulated, with TLBs, branch prediction and time'
instructions counted 'and 2 counters'
instructions sampled 'and a sample each 10^4 instructions'
instructions looked 'and a counter with a threshold, for which each is looked at'
instructions replayed 'sampled, from a trace'
row '10 times the instructions' 'ns each' '1st = 1'
caches sampled 4000000
first=$ns
row '  4 * 10^6, sampled' "$first" 1.00
caches sampled 40000000
row '  4 * 10^7' "$ns" "$(ratio "$ns" "$first")"
row 'sites that declare their events, skipped ahead' 'us in all' '1st = 1'
skipped() { caches skipped "$1"; awk -v ns="$ns" -v n="$1" 'BEGIN { printf "%.0f", ns * n / 1000 }'; }
first=$(skipped 4000000)
row '  4 * 10^6, a sample each 10^4 instructions' "$first" 1.00
us=$(skipped 40000000)
row '  4 * 10^7' "$us" "$(ratio "$us" "$first")"
