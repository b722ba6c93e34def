#!/bin/bash
# SPDX-License-Identifier: MIT
# merge.sh - merges recordings in a tree of 2, in a tree of 8 and all at once: the files must be the same, and the
# memory that of merging two (goal: 1.2 times at most). The time is compared with that of a copy, and a report of the
# merged file with one of all recordings.
#   spec/bench/merge.sh BUILD [RECORDINGS [SAMPLES]]
set -eu
build=$1 count=${2-64} samples=${3-100000}
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
mkdir -p "$build/bench"
gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$build/bench/cost" spec/bench/cost.c
LUA_PATH="scripts/?.lua;;" LUA_CPATH="$build/luajit/?.so;;" luajit spec/bench/merge.lua "$out" "$count" "$samples"

row() { printf '%-62s %12s %8s\n' "$@"; }
ms=0 kib=0
measured() {	# measured COMMAND...: adds its CPU time to ms, the most memory to kib
	local got; got=$("$build/bench/cost" "$@" 2>&1 >"$out/text" | awk '$1 == "cost" { print $2, $3 }')
	ms=$(awk -v a="$ms" -v b="${got% *}" 'BEGIN { print a + b }')
	[ "${got#* }" -le "$kib" ] || kib=${got#* }
}
tree() {	# tree N FILE: merges N recordings at a time, then N of the results, and so on, into FILE
	local n=$1 file=$2 level=0 now=("$out"/r*.data) next i
	while [ ${#now[@]} -gt 1 ]; do
		next=() level=$((level + 1))
		for ((i = 0; i < ${#now[@]}; i += n)); do
			measured "$build/lpfm" merge -q "${now[@]:i:n}" -o "$out/$file.$level.$i"
			next+=("$out/$file.$level.$i")
		done
		[ $level = 1 ] || rm -f "${now[@]}"
		now=("${next[@]}")
	done
	cmp "$out/once" "${now[0]}" || { echo "merge.sh: the files differ" >&2; exit 1; }
	rm -f "$out/$file".*
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
mib() { awk -v k="$1" 'BEGIN { printf "%.1f", k / 1024 }'; }

row "merging $count recordings of $samples samples" 'ms of CPU' 'MiB'
measured "$build/lpfm" merge -q "$out"/r0.data "$out"/r1.data -o "$out/two"
row '  two of them' "$ms" "$(mib "$kib")"; two=$kib
ms=0 kib=0; measured "$build/lpfm" merge -q "$out"/r*.data -o "$out/once"
row '  at once' "$ms" "$(mib "$kib")"; once=$kib once_ms=$ms
ms=0 kib=0; tree 8 eight; row '  in a tree of 8' "$ms" "$(mib "$kib")"; eight=$kib
ms=0 kib=0; tree 2 pairs; row '  in a tree of 2' "$ms" "$(mib "$kib")"; pairs=$kib
row '  memory, as a ratio to two: at once (goal: 1.2)' '' "$(ratio "$once" "$two")"
row '    in a tree of 8' '' "$(ratio "$eight" "$two")"
row '    in a tree of 2' '' "$(ratio "$pairs" "$two")"
ms=0; measured cat "$out"/r*.data; row '  merging at once / cat' '' "$(ratio "$once_ms" "$ms")"
sizes() { cat "$@" | wc -c; }
row '  the file / all recordings, in bytes' '' "$(ratio "$(sizes "$out/once")" "$(sizes "$out"/r*.data)")"
ms=0 kib=0; measured "$build/lpfm" report -s symbol "$out/once"
row "  report -s symbol of all" "$ms" "$(mib "$kib")"; report=$ms
ms=0 kib=0
for file in "$out"/r*.data; do measured "$build/lpfm" report -s symbol "$file"; done
row '  report of all / reports of each' '' "$(ratio "$report" "$ms")"
