#!/bin/sh
# Fuzzes every target for SECONDS each, or those that are named, from the kept corpus:
# tests/fuzz/run.sh SECONDS [TARGET ...]
#
# 0 seconds: only builds.
#
# What it learns and what it finds stays in the build directory (FUZZ_BUILD, default build/fuzz in the
# tree). A finding ends the run with exit status 1 and names the input; its smallest form belongs into
# tests/fuzz/corpus together with the fix.
set -eu

seconds=${1:?usage: run.sh SECONDS [TARGET ...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
build=${FUZZ_BUILD:-$tree/build/fuzz}
targets=${*:-wire_request wire_response rpc capture stream dissect}

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup "$build" "$tree" -Dfuzz=true -Dbuildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false \
        -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all' >/dev/null
fi
for target in $targets; do
    ninja -C "$build" "tests/fuzz/fuzz_$target" >/dev/null
done

[ "$seconds" != 0 ] || exit 0

status=0
for target in $targets; do
    mkdir -p "$build/corpus/$target" "$build/findings"
    if "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
        -rss_limit_mb=1024 -artifact_prefix="$build/findings/$target-" -print_final_stats=1 \
        "$build/corpus/$target" "$here/corpus/${target#wire_}" >"$build/$target.log" 2>&1; then
        echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")" \
            "inputs in $seconds s, no finding"
    else
        tail -40 "$build/$target.log" >&2
        echo "fuzz $target: a finding, see $build/$target.log" >&2
        status=1
    fi
done
exit $status
