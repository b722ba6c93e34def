#!/bin/bash
# SPDX-License-Identifier: MIT
# stacks.sh BUILD [SAMPLES] - the cost of call stacks in a report of 10 million samples of the simulated computer,
# relative to a report without them. Prints the least CPU time of some runs, and the most memory.
set -eu
build=$1 samples=${2-10000000}
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
gcc -O2 -Wall -Wextra -o "$build/bench/cost" spec/bench/cost.c
export LUA_CPATH="$build/luajit/?.so;;" LUA_PATH="scripts/?.lua;;"
row() { printf '%-62s %12s %8s %8s\n' "$@"; }

for how in plain g; do
	luajit spec/bench/simulated.lua "$out/short" $how >/dev/null
	luajit spec/bench/repeat.lua "$out/short" "$out/$how" "$samples" >/dev/null
done
for round in 1 2 3; do
	for how in plain g; do
		"$build/bench/cost" "$build/lpfm" report -s symbol "$out/$how" 2>&1 >"$out/text" |
			awk '$1 == "cost" { print $2, $3 }' >>"$out/$how.cost"
	done
	"$build/bench/cost" "$build/lpfm" report -g callee "$out/g" 2>&1 >"$out/text" |
		awk '$1 == "cost" { print $2, $3 }' >>"$out/tree.cost"
done
least() { sort -n "$out/$1.cost" | head -n 1; }
row "a report of $samples samples by symbol" 'ms of CPU' 'plain=1' MiB
base=$(least plain | cut -d' ' -f1)
for how in plain g tree; do
	case $how in
	plain) label='  without call stacks';;
	g) label='  with call stacks (goal: 2)';;
	tree) label='  with call stacks, the tree of calls';;
	esac
	read -r ms kib < <(least $how)
	row "$label" "$ms" "$(awk -v a="$ms" -v b="$base" 'BEGIN { printf "%.2f", a / b }')" $((kib / 1024))
done
