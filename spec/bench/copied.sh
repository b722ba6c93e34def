#!/bin/bash
# SPDX-License-Identifier: MIT
# copied.sh - copies of stacks unwound: lpfm does it while it records, perf when it reports. Both sample a program that
# runs all the while, whose own time does not count; a tool's cost is divided by the samples it got.
#   spec/bench/copied.sh BUILD [SECONDS]	10000 samples a second
set -eu
build=$1 seconds=${2-10}
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$build/bench/cost" spec/bench/cost.c
gcc -O2 -g -fomit-frame-pointer -Wall -Wextra -o "$out/copied" spec/bench/copied.c
"$out/copied" 1000000000 &
copied=$!; trap 'kill $copied; rm -rf "$out"' EXIT

row() { printf '%-62s %12s %8s\n' "$@"; }
cost() { "$build/bench/cost" "$@" 2>&1 >"$out/text" | awk '$1 == "cost" { print $2 }'; }	# ms of CPU
each() { awk -v ms="$1" -v n="$2" 'BEGIN { printf "%.2f", ms * 1e3 / n }'; }

lpfm_record=$(cost "$build/lpfm" record -g dwarf -c 100000 -p $copied --timeout "$seconds" -o "$out/lpfm")
perf_record=$(cost perf record -q -e cpu-clock -c 100000 --call-graph dwarf -p $copied -o "$out/perf" sleep "$seconds")
lpfm_report=$(cost "$build/lpfm" report -f "$out/lpfm")
lpfm_n=$(awk '$2 ~ /^[0-9,]+$/ && $3 == "samples" { gsub(",", "", $2); print $2; exit }' "$out/text")
perf_report=$(cost perf report --no-inline --stdio -s sym -i "$out/perf")
perf_n=$(perf report --no-children -g none --stdio -s sym -F sample -i "$out/perf" 2>/dev/null |
	awk '$1 ~ /^[0-9]+$/ { n += $1 } END { print n }')

row "copied stacks of 8 to 39 frames, unwound" 'us a sample' 'ratio'
row "  perf record, $perf_n samples" "$(each "$perf_record" "$perf_n")" ''
row "  perf report --no-inline" "$(each "$perf_report" "$perf_n")" ''
row "  lpfm record -g dwarf, $lpfm_n samples" "$(each "$lpfm_record" "$lpfm_n")" ''
row "  lpfm report" "$(each "$lpfm_report" "$lpfm_n")" ''
whole() { awk -v a="$1" -v b="$2" 'BEGIN { print a + b }'; }
lpfm=$(each "$(whole "$lpfm_record" "$lpfm_report")" "$lpfm_n")
ratio() { awk -v a="$1" -v b="$lpfm" 'BEGIN { printf "%.1f", a / b }'; }
row '  perf report / lpfm record and report (goal: 3)' '' "$(ratio "$(each "$perf_report" "$perf_n")")"
row '  perf record and report / lpfm record and report' '' \
	"$(ratio "$(each "$(whole "$perf_record" "$perf_report")" "$perf_n")")"
