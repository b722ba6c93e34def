#!/bin/bash
# SPDX-License-Identifier: MIT
# copied.sh - the cost of unwinding copies of stacks, which lpfm does while it records, perf when it
# reports: a tool's CPU time without that of the sampled program, divided by the samples that it
# got. Then, for installed programs without frame pointers: how many stacks of lpfm record -g and of
# perf record --call-graph dwarf are complete, and how many of lpfm's frames are not code (goal: 0).
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
lpfm_report=$(cost "$build/lpfm" report -i "$out/lpfm")
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

# --- complete stacks ------------------------------------------------------------------------------------

cat >"$out/starts.lua" <<'END'
local stacks = require "pfm.stacks"

local STARTS = { ["_start"] = true, ["__libc_start_main"] = true, ["__libc_start_main_impl"] = true, ["clone"] = true,
   ["clone3"] = true, ["__clone"] = true, ["_dl_start_user"] = true, ["runtime.goexit"] = true,
   ["runtime.goexit.abi0"] = true, ["runtime.mcall"] = true, ["runtime.mstart"] = true, ["runtime.rt0_go"] = true }

local n, whole, elsewhere = 0, 0, 0
for s in samples() do
   local reaches, is_user = false, false
   for _, f in ipairs((stacks.frames(recorded, s))) do
      reaches = reaches or STARTS[f.symbol] or f.symbol:find("^_start") ~= nil
      is_user = is_user or f.object ~= "[kernel]"
      if f.object == "[unknown]" then elsewhere = elsewhere + 1 end
   end
   n, whole = n + (is_user and 1 or 0), whole + (reaches and 1 or 0)
end
print(n, whole, elsewhere)
END
cat >"$out/work.py" <<'END'
import json, random, re
rows = [{"id": i, "tags": [str(random.random()) for _ in range(5)]} for i in range(40000)]
print(len(re.findall(r"0\.(\d+)7", json.dumps(json.loads(json.dumps(rows))))))
END
cat >"$out/work.js" <<'END'
let s = 0;
const f = n => { const a = []; for (let i = 0; i < n; i++) a.push(i * i % 7); return a.sort().length; };
for (let i = 0; i < 100; i++) s += f(20000);
console.log(s);
END
cat >"$out/work.go" <<'END'
package main

import "fmt"
import "sort"

func work(n int) int {
	m := map[int][]int{}
	for i := 0; i < n; i++ {
		m[i%97] = append(m[i%97], i*i%1009)
	}
	s := 0
	for _, a := range m {
		sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
		s += len(a)
	}
	return s
}

func main() {
	done := make(chan int)
	for g := 0; g < 4; g++ {
		go func() { done <- work(700000) }()
	}
	s := 0
	for g := 0; g < 4; g++ {
		s += <-done
	}
	fmt.Println(s)
}
END
cat >"$out/work.rs" <<'END'
use std::collections::BTreeMap;

fn main() {
    let mut words: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..900000u64 {
        words.entry(format!("k{}", i * 7919 % 10007)).or_default().push(i);
    }
    println!("{}", words.values().map(|v| v.iter().sum::<u64>() % 7).sum::<u64>());
}
END
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "int f%d(int n) { int s = 0; while (n--) s += n * %d; return s; }\n", i, i }' \
	>"$out/work.c"

# of_perf FILE: prints the number of perf's samples at the user level, and of those that reach the start.
of_perf() {
	perf script --no-inline -i "$1" -F ip,sym,dso 2>/dev/null | awk 'BEGIN { RS = "" }
		/\(\// { n++ } / (_start|__libc_start_main[^ ]*|clone3?|__clone3?|_dl_start_user|runtime\.(goexit[^ ]*|mcall|mstart|rt0_go))( |$)/ { whole++ }
		END { print n + 0, whole + 0 }'
}
share() { awk -v n="$1" -v whole="$2" 'BEGIN { printf n ? "%.1f%%" : "-", whole / n * 100 }'; }

compare() {	# compare NAME COMMAND...: prints the shares of complete stacks
	local name=$1 n whole elsewhere perf_n perf_whole; shift
	command -v "$1" >/dev/null || { return; }
	"$build/lpfm" record -q -g -F 500 -o "$out/lpfm" -- "$@" >/dev/null
	perf record -q -e cpu-clock -F 500 --call-graph dwarf -o "$out/perf" -- "$@" >/dev/null
	read -r n whole elsewhere < <("$build/lpfm" script -i "$out/lpfm" -s "$out/starts.lua" 2>/dev/null)
	read -r perf_n perf_whole < <(of_perf "$out/perf")
	printf '%-42s %10s %10s %12s\n' "  $name, $n and $perf_n samples" "$(share "$n" "$whole")" "$(share "$perf_n" "$perf_whole")" "$elsewhere"
}

printf '%-42s %10s %10s %12s\n' 'stacks that reach the start' 'lpfm' 'perf' 'lpfm: no code'
compare python3 /usr/bin/python3 "$out/work.py"
compare git git log -p -n 1500
compare gcc gcc -O2 -c "$out/work.c" -o "$out/work.o"
compare sqlite3 sqlite3 :memory: \
	'with recursive t(n) as (select 1 union all select n + 1 from t where n < 2000000) select sum(n * n) from t;'
compare node node "$out/work.js"
go build -o "$out/work-go" "$out/work.go" 2>/dev/null && compare Go "$out/work-go"
rustc -O -o "$out/work-rust" "$out/work.rs" 2>/dev/null && compare Rust "$out/work-rust"
