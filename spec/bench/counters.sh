#!/bin/bash
# SPDX-License-Identifier: MIT
# counters.sh - the cost of pfm_read_pmds() of four counters on the perf machine, relative to read(2) of perf events.
#   spec/bench/counters.sh BUILD
set -eu
build=$1
gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Ikernel/include -o "$build/bench/counters" spec/bench/counters.c \
	-L"$build" -lperfmon -Wl,-rpath,"$PWD/$build"
row() { printf '%-62s %12s %8s\n' "$@"; }
out=$("$build/bench/counters")
raw=$(awk '$1 == "raw" { print $2 }' <<<"$out") pfm=$(awk '$1 == "pfm" { print $2 }' <<<"$out")
row 'reading 4 software counters of oneself, perf machine' 'ns a call' 'raw = 1'
row '  read(2) of a group of perf events' "$raw" 1.00
row '  pfm_read_pmds() (goal: 1.25)' "$pfm" "$(awk -v a="$pfm" -v b="$raw" 'BEGIN { printf "%.2f", a / b }')"
