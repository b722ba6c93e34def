#!/bin/bash
# SPDX-License-Identifier: MIT
# report.sh - compares lpfm report and perf report on 10 million samples of the same program, sorted by symbol. Both
# tools record for some seconds; then the samples are repeated, since recording so many would take minutes. Prints the
# least CPU time of some runs, and the most memory.
#   spec/bench/report.sh BUILD [SAMPLES]
set -eu
build=$1 samples=${2-10000000}
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
for c in cost repeat; do gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$build/bench/$c" "spec/bench/$c.c"; done
gcc -O2 -g -o "$out/prog" spec/c/measured/usage.c

row() { printf '%-62s %12s %8s\n' "$@"; }
cost() { "$build/bench/cost" "$@" 2>&1 >"$out/text" | awk '$1 == "cost" { print $2, $3 }'; }

"$build/lpfm" record -q -c 20000 -o "$out/short.lpfm" -- "$out/prog" 3000 100000 0 >/dev/null
perf record -q -e cpu-clock -c 20000 -o "$out/short.perf" "$out/prog" 3000 100000 0 >/dev/null 2>&1
lpfm_n=$(LUA_CPATH="$build/luajit/?.so;;" luajit spec/bench/repeat.lua "$out/short.lpfm" "$out/lpfm" "$samples")
perf_n=$("$build/bench/repeat" "$out/short.perf" "$out/perf" "$samples")
for round in 1 2 3 4 5; do
	cost "$build/lpfm" report -s symbol "$out/lpfm" >>"$out/lpfm.cost"
	cp "$out/text" "$out/lpfm.text"
	cost perf report --stdio -s sym -i "$out/perf" >>"$out/perf.cost"
done
for report in lpfm.text text; do
	grep -qw main "$out/$report" || { echo "report.sh: a report does not know the program's functions" >&2; exit 1; }
done

row "sorting $samples samples by symbol (some seconds, repeated)" 'ms of CPU' 'MiB'
line() {	# line LABEL TOOL SAMPLES: prints the row; sets ms, kib
	ms=$(sort -n "$out/$2.cost" | awk 'NR == 1 { print $1 }')
	kib=$(awk '$2 > most { most = $2 } END { print most }' "$out/$2.cost")
	row "  $1, $3 samples" "$ms" "$(awk -v k="$kib" 'BEGIN { printf "%.1f", k / 1024 }')"
}
line 'perf report' perf "$perf_n"; perf_ms=$ms perf_kib=$kib
line 'lpfm report' lpfm "$lpfm_n"
row '  perf report / lpfm report (goal: 5 in time, 4 in memory)' \
	"$(awk -v a="$perf_ms" -v b="$ms" 'BEGIN { printf "%.1f", a / b }')" \
	"$(awk -v a="$perf_kib" -v b="$kib" 'BEGIN { printf "%.1f", a / b }')"
