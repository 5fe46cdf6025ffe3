#!/bin/bash
# check.sh BUILD: every test in its short form, as CI runs it. `make check` calls it.
#
#   form            clang-format, the arrows between the rooms, sizes, the README's links
#   plain           unit, model, fault, corpus, interop with private Sambas, budgets
#   ASan + UBSan    all of them but the slow benches
#   TSan            what is threaded: client, share, mount, observe, relay
#   fuzz            each decoder for FUZZ_SECONDS (default 5)
#
# The next build is made, at low priority, while the tests of the one before run: those mostly wait, four at a time.
# One or two tests with real servers that fail in this company are tried once more, alone (failures.py says which may
# be), and the end tells of them in any case.
# Ends with what failed, once more (who reads only the end of a long log has to know), and with one line that counts
# every check: "N passed, N failed".
set -u
build=${1:?usage: check.sh BUILD}
here=$(cd "$(dirname "$0")/.." && pwd)
seconds=${FUZZ_SECONDS:-5}
passed=0
failed=0
alone=0
reasons=$(mktemp)
not_alone=$(mktemp)
trap 'rm -f "$reasons" "$not_alone"' EXIT

# Counts what the tests of one run printed, from meson's log: cmocka's lines and our own.
count() {
    local p f
    p=$(awk '/\[  PASSED  \] [0-9]+ test/ {n += $4} /^[0-9]+ passed, [0-9]+ failed$/ {n += $1} END {print n + 0}' "$1")
    f=$(awk '/\[  FAILED  \] [0-9]+ test/ {n += $4} /^[0-9]+ passed, [0-9]+ failed$/ {n += $3} END {print n + 0}' "$1")
    passed=$((passed + p))
    failed=$((failed + f))
    echo "   $p passed, $f failed"
}

# passes_alone NAME BUILDDIR: whether what failed in the last run there may be tried again, and passes then. Its first
# failures are not counted, but told.
passes_alone() {
    local name=$1 dir=$2 tests first
    tests=$("$here/tests/failures.py" "$dir" --alone)
    [ -n "$tests" ] || return 1
    first=$("$here/tests/failures.py" "$dir" "$name")
    echo "== once more, alone: $tests"
    # shellcheck disable=SC2086 # names
    meson test -C "$dir" --num-processes 1 --print-errorlogs --logbase alone --timeout-multiplier 4 $tests || return 1
    echo "$first" >>"$not_alone"
    alone=$((alone + $(wc -w <<<"$tests")))
}

# run NAME BUILDDIR [meson test arguments]
run() {
    local name=$1 dir=$2
    shift 2
    echo "== $name"
    local before=$failed
    meson test -C "$dir" --num-processes 4 --print-errorlogs "$@"
    local result=$?
    count "$dir/meson-logs/testlog.txt"
    [ "$result" != 0 ] || return 0
    if passes_alone "$name" "$dir"; then
        failed=$before
    else
        failed=$((failed + 1)) # also what ended without a count: a crash, a time-out
        "$here/tests/failures.py" "$dir" "$name" >>"$reasons"
    fi
}

# configure BUILDDIR SANITIZERS [TESTS]: builds what is needed for them, or everything
configure() {
    local dir=$1
    [ -f "$dir/build.ninja" ] || meson setup "$dir" "$here" -Db_sanitize="$2" -Db_lundef=false >/dev/null || exit 1
    shift 2
    if [ $# = 0 ]; then
        ninja -C "$dir"
    else
        meson test -C "$dir" --wrapper true "$@" # builds, and runs nothing
    fi >"$dir/build.log" 2>&1 || { tail -30 "$dir/build.log"; exit 1; }
}

# a few interop tests see whole stacks at each allocation (bed.whole_stacks), at twice the time
export ASAN_OPTIONS=fast_unwind_on_malloc=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export KRB5_CONFIG=$here/tests/interop/krb5.conf
export LSAN_OPTIONS=suppressions=$here/tests/fault/lsan.supp:print_suppressions=0

# what clang-format and the arrows between the rooms say
echo "== form"
if "$here/tests/form.py"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "form: see above" >>"$reasons"
fi

threaded="client signing client_faults client_credits client_refusals client_leases client_acks client_watches
    client_reconnect client_expiry client_seal nonces share_threads share_ride share_leases share_delay
    mount_told mount_inotify observe relay mount names locks_waiting"

later() { renice -n 10 -p "$BASHPID" >/dev/null; "$@"; }

# the newer Samba takes a minute to install on a new machine: tests that need it wait for it, the others need not
"$here/tests/interop/newer-samba.sh" "$here/build/newer-samba" >/dev/null 2>&1 &
later configure "$build-asan" address,undefined &
run "all tests" "$build"
wait $! || exit 1

{
    later configure "$build-tsan" thread $threaded && FUZZ_BUILD="$build-fuzz" "$here/tests/fuzz/run.sh" 0
} &
run "ASan and UBSan" "$build-asan" --timeout-multiplier 4 --no-suite bench

wait $! || exit 1
run "TSan" "$build-tsan" --timeout-multiplier 4 $threaded

echo "== fuzz, $seconds s each"
if FUZZ_BUILD="$build-fuzz" "$here/tests/fuzz/run.sh" "$seconds"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "fuzz: see above" >>"$reasons"
fi

[ "$alone" = 0 ] || { echo "== what failed beside other tests and passed alone"; head -n 40 "$not_alone"; }
[ "$failed" = 0 ] || { echo "== what failed"; head -n 40 "$reasons"; }
[ "$alone" = 0 ] || echo "$alone tests passed at their second try"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
