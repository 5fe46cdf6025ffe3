#!/bin/bash
# soak.sh BUILD: the long forms. `make soak` calls it; more than two hours, of which fuzz takes 50
# minutes and coherence half an hour (the checker 17 minutes, where nothing else runs).
#
#   model     SOAK_MODELS (20) runs of a million operations, each with another seed
#   fuzz      each decoder for SOAK_SECONDS (600)
#   faults    hang-ups at every byte, ten times over; every reply of a session altered in every field, late,
#             repeated, left out, cut at every byte, and each of its calls, and of a mount's, made to fail, under ASan
#             and UBSan
#   lockstep  200,000 random operations on mounts and on a local directory in step, other ones each
#             day, and 20,000 under ASan and UBSan
#   work      people's work on a mount at full size, over each kind of connection (encrypted, and by tickets
#             that end in the middle, too) and on the newer Samba; in small over each cipher and signing
#             algorithm, and on ksmbd in an emulated machine; under ASan and UBSan at full size once, and over
#             each kind in small
#   doctor    on ksmbd in an emulated machine
#   inotify   20,000 remote changes (SOAK_INOTIFY) while six users are busy, on both Sambas
#   imports   sympy from a mount of every profile; `larder analyze` beside tshark, three times
#   coherence SOAK_CHANGES (50,000) changes, each answer held against what is promised; two mounts
#             against each other for a minute, and under TSan for 20 seconds; a walk through 100,000
#             directories; what nobody changes, for a minute
#   reconnect SOAK_CUTS (200) cuts of the connection, and forty restarts of the server; git on a mount whose server is
#             restarted every 20 seconds
#   ksmbd     what works with another server than Samba, and what it cannot (docs/ksmbd.md)
#   packages  Debian packages, built and tried on a clean system
set -u
build=${1:?usage: soak.sh BUILD}
here=$(cd "$(dirname "$0")/.." && pwd)
failed=0
export KRB5_CONFIG=$here/tests/interop/krb5.conf UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for seed in $(seq "${SOAK_MODELS:-20}"); do
    out=$("$build/tests/model/model" 1000000 "$seed") || failed=$((failed + 1))
    echo "$out" | tail -1
done
FUZZ_BUILD="$build-fuzz" "$here/tests/fuzz/run.sh" "${SOAK_SECONDS:-600}" || failed=$((failed + 1))
meson test -C "$build" --repeat 10 client_faults || failed=$((failed + 1))
"$here/tests/lockstep/run.py" "$build/src/cli/larder" "$build/tests/lockstep/lockstep" \
    "${SOAK_LOCKSTEP:-200000}" today || failed=$((failed + 1))

# A skip (77) is no failure: work.py has said what it lacks.
work() {
    "$here/tests/interop/work.py" "$@" || [ $? = 77 ] || failed=$((failed + 1))
}
# local inotify through a storm of remote changes, with both Sambas
inotify() {
    "$here/tests/interop/inotify.py" "$@" --changes "${SOAK_INOTIFY:-20000}" || [ $? = 77 ] || failed=$((failed + 1))
}
inotify "$build/src/cli/larder"
inotify "$build/src/cli/larder" --newer "$build/newer-samba"
every=plain,signed,unsigned,2.1,3.0,3.1.1
sanitized=$build-asan
[ -f "$sanitized/build.ninja" ] ||
    meson setup "$sanitized" "$here" -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
ninja -C "$sanitized" >/dev/null || failed=$((failed + 1))
"$here/tests/lockstep/run.py" "$sanitized/src/cli/larder" "$build/tests/lockstep/lockstep" 20000 today ||
    failed=$((failed + 1))
alterations() {
    LSAN_OPTIONS=suppressions=$here/tests/fault/lsan.supp:print_suppressions=0 \
        "$sanitized/tests/fault/alterations" "$@" || failed=$((failed + 1))
}
alterations --kind signed --all --jobs 8
alterations --kind sealed --seconds 300 --jobs 8
alterations --kind guest --seconds 300 --jobs 8
failures() {
    LSAN_OPTIONS=suppressions=$here/tests/fault/lsan.supp:print_suppressions=0 \
        "$sanitized/tests/fault/failures" "$@" --all --jobs 4 || [ $? = 77 ] || failed=$((failed + 1))
}
failures
failures --mount
work "$build/src/cli/larder" --full --as $every,sealed,krb5
work "$build/src/cli/larder" --only git,sqlite,fio,rsync,tar \
    --as AES-128-CCM,AES-128-GCM,AES-256-CCM,AES-256-GCM,HMAC-SHA256,AES-CMAC,AES-GMAC,sealed-3.0,sealed-share,krb5-sealed
work "$build/src/cli/larder" --full --as plain,signed --newer "$build/newer-samba"
work "$build/src/cli/larder" --ksmbd "$build/ksmbd" --as plain
work "$build/src/cli/larder" --ksmbd "$build/ksmbd" --as 2.1,sealed --only sqlite,rsync,tar
# what the doctor says of a server that is neither Samba nor scripted
"$here/tests/interop/doctor.py" "$build/src/cli/larder" --ksmbd "$build/ksmbd" || [ $? = 77 ] || failed=$((failed + 1))
work "$sanitized/src/cli/larder" --full
work "$sanitized/src/cli/larder" --as $every
work "$sanitized/src/cli/larder" --as plain,signed --newer "$build/newer-samba"
# Each of these leaves with 77 where there is no newer Samba to be had.
coherence() {
    local what=$1
    shift
    "$here/tests/coherence/$what.py" "$build/src/cli/larder" "$@" --newer "$build/newer-samba" || [ $? = 77 ] || failed=$((failed + 1))
}
"$here/tests/interop/imports.py" "$build/src/cli/larder" "$here/bench/imports" --full || failed=$((failed + 1))
"$here/bench/analyze" --larder "$build/src/cli/larder" --writer "$build/tests/capture/capture_big" || failed=$((failed + 1))
coherence storm --seconds 60 --least 500
threads=$build-tsan
[ -f "$threads/build.ninja" ] ||
    meson setup "$threads" "$here" -Db_sanitize=thread -Db_lundef=false >/dev/null
ninja -C "$threads" src/cli/larder >/dev/null || failed=$((failed + 1))
"$here/tests/coherence/storm.py" "$threads/src/cli/larder" --newer "$build/newer-samba" --seconds 20 || failed=$((failed + 1))
coherence dormant --directories 100000 --limit 1023
"$here/tests/interop/warm.py" "$build/src/cli/larder" --newer "$build/newer-samba" --seconds 60 --age 10 || failed=$((failed + 1))
coherence coherence "$build/tests/coherence/coherence_reader" --modes leases,both,watch,neither --changes "${SOAK_CHANGES:-50000}"
"$here/tests/interop/reconnect.py" "$build/src/cli/larder" --cuts "${SOAK_CUTS:-200}" || failed=$((failed + 1))
"$here/tests/interop/away.py" "$build/src/cli/larder" --only git --seconds 100 --every 20 || failed=$((failed + 1))
"$here/tests/packages/packages.py" "$build/src/cli/larder" "$build/packages" || [ $? = 77 ] || failed=$((failed + 1))
"$here/tests/interop/ksmbd.py" "$build/src/cli/larder" "$build/ksmbd" --cuts 20 || [ $? = 77 ] || failed=$((failed + 1))
echo "soak: $failed failed"
[ "$failed" = 0 ]
