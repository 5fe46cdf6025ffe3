#!/bin/bash
# demo.sh BUILD: the measured problem and its cure, on a real server. `make demo` calls it.
#
# A private Samba shares a generated Python tool of the shape that the report describes; larder starts
# it under the behaviour of both Windows versions and under its own. RTT= is the round-trip delay in
# milliseconds that is put in front of the server, 1 by default.
set -eu

build=${1:?usage: demo.sh BUILD}
here=$(cd "$(dirname "$0")/.." && pwd)
larder=$build/src/cli/larder
rtt=${RTT:-1}
python=/usr/bin/python3
raised=25h2:DirectoryCacheLifetime=60,FileInfoCacheLifetime=60,FileInfoCacheEntriesMax=65536,RequireSecuritySignature=false

dir=$(mktemp -d "${TMPDIR:-/tmp}/larder-demo-XXXXXX")
clean_up() {
    "$here/tests/interop/smbd.sh" stop "$dir" || true
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

mkdir -p "$dir/share"
"$here/tools/make-pytool.py" "$dir/share"
files=$(find "$dir/share" -type f | wc -l)
directories=$(find "$dir/share" -type d | wc -l)
user=larder
[ "$(id -u)" = 0 ] || user=$(id -un)
export LARDER_PASSWORD=Passw0rd
port=$("$here/tests/interop/smbd.sh" start "$dir" user="$user" password="$LARDER_PASSWORD")

# compare JSON PROFILE... -- ARGUMENTS OF THE TOOL
compare() {
    local json=$1 profiles=()
    shift
    while [ "$1" != -- ]; do
        profiles+=(--profile "$1")
        shift
    done
    shift
    "$larder" compare "//127.0.0.1:$port/share" -o "username=$user" "${profiles[@]}" --rtt "$rtt" \
        --json "$json" -- "$python" -S -B '{mnt}/tool.py' "$@"
}

echo "A Python tool of $files files in $directories directories starts from a share, $rtt ms away."
echo
compare "$build/demo.json" 23h2 25h2 larder --
echo
echo "25h2 once more, as the reporter tried: with the search path cut, and with the settings raised ..."
compare "$build/demo-minimal-path.json" 23h2 25h2 -- --minimal-path >/dev/null
compare "$build/demo-raised-settings.json" 23h2 "$raised" -- >/dev/null
echo
"$here/tools/demo-report.py" "$build/demo.json" "$build/demo-minimal-path.json" "$build/demo-raised-settings.json"
"$here/tools/demo-plot.py" "$build/demo.json" "$build/demo.svg"
echo
echo "The same as a picture: $build/demo.svg"
echo
"$here/tools/check-demo.py" "$build/demo.json" "$files" "$directories"
