#!/bin/bash
# soak.sh BUILD: the long forms. `make soak` calls it; about an hour and a quarter.
#
#   model     SOAK_MODELS (20) runs of a million operations, each with another seed
#   fuzz      each decoder for SOAK_SECONDS (600)
#   faults    hang-ups at every byte, ten times over
set -u
build=${1:?usage: soak.sh BUILD}
here=$(cd "$(dirname "$0")/.." && pwd)
failed=0
for seed in $(seq "${SOAK_MODELS:-20}"); do
    out=$("$build/tests/model/model" 1000000 "$seed") || failed=$((failed + 1))
    echo "$out" | tail -1
done
FUZZ_BUILD="$build-fuzz" "$here/tests/fuzz/run.sh" "${SOAK_SECONDS:-600}" || failed=$((failed + 1))
meson test -C "$build" --repeat 10 client_faults || failed=$((failed + 1))
echo "soak: $failed failed"
[ "$failed" = 0 ]
