#!/bin/bash
# SPDX-License-Identifier: MIT
# store.sh BUILD [HOSTS [HOURS]] - a made-up fleet in a database: how fast recordings go in, what room they take, and how
# long "the ten functions that cost most by version, today beside yesterday" takes, in one command. The default fleet
# for ClickHouse, a tenth of it for PostgreSQL.
set -eu
build=$1 hosts=${2-1000} hours=${3-24}
export LUA_PATH="spec/?.lua;$PWD/scripts/?.lua;;" LUA_CPATH="$build/luajit/?.so;;" LPFM_BENCH_BUILD=$build
row() { printf '%-58s %14s\n' "$@"; }
for kind in clickhouse postgresql; do
	luajit spec/bench/store.lua "$kind" "$([ $kind = clickhouse ] && echo "$hosts" || echo $((hosts / 10)))" "$hours" |
		while IFS=$'\t' read -r label value; do row "$label" "$value"; done
done
