#!/bin/bash
# SPDX-License-Identifier: MIT
# store.sh BUILD [HOSTS [HOURS]] - loads a made-up fleet into databases, and prints how fast recordings are loaded, what
# room they take, and how long one command takes that reports the ten most expensive functions by version, today beside
# yesterday. PostgreSQL gets a tenth of the fleet that ClickHouse gets.
set -eu
build=$1 hosts=${2-1000} hours=${3-24}
export LUA_PATH="spec/?.lua;$PWD/scripts/?.lua;;" LUA_CPATH="$build/luajit/?.so;;" LPFM_BENCH_BUILD=$build
row() { printf '%-58s %14s\n' "$@"; }
for kind in clickhouse postgresql; do
	luajit spec/bench/store.lua "$kind" "$([ $kind = clickhouse ] && echo "$hosts" || echo $((hosts / 10)))" "$hours" |
		while IFS=$'\t' read -r label value; do row "$label" "$value"; done
done
