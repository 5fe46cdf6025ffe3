#!/bin/bash
# run.sh BUILD: every benchmark, a table each. `make bench` calls it. Counts come first; seconds are
# of this machine, for ratios within one table only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
"$here/imports" --larder "$build/src/cli/larder"
"$here/analyze" --larder "$build/src/cli/larder" --writer "$build/tests/capture/capture_big"
"$here/throughput" --larder "$build/src/cli/larder"
