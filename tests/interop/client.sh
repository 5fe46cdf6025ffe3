#!/bin/bash
# Starts a private Samba that requires signing, fills its share, starts a second one for the same share
# that requires nothing and makes room for files when told to, and runs a test program against both.
# usage: client.sh PROGRAM [ARGUMENT ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap '"$here/smbd.sh" stop "$dir/strict"; "$here/smbd.sh" stop "$dir/open"; rm -rf "$dir"' EXIT
chmod 755 "$dir"

port=$("$here/smbd.sh" start "$dir/strict" signing=mandatory)
share=$dir/strict/share
open_port=$("$here/smbd.sh" start "$dir/open" protocol_max=SMB3_00 "share:guest ok=yes" \
    "share:path=$share" "share:strict allocate=yes")
mkdir -p "$share/many" "$share/a/deep/way"
printf 'down\r\n' >"$share/a/deep/way/down.TXT"
: >"$share/empty"
head -c 104857600 /dev/urandom >"$share/big"
awk -v dir="$share/many" 'BEGIN {
    for (i = 0; i < 10000; i++) {
        file = sprintf("%s/a file with the number %05d", dir, i)
        printf "%s", substr("1234567", 1, i % 7) > file
        close(file)
    }
}'

# the sanitizer's leak check knows the leaks that are not ours
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$here/../fault/lsan.supp:print_suppressions=0}
export KRB5_CONFIG=$here/krb5.conf
LARDER_TEST_PORT=$port LARDER_TEST_OPEN_PORT=$open_port LARDER_TEST_SHARE=$share LARDER_TEST_PASSWORD=Passw0rd \
LARDER_TEST_USER=$([ "$(id -u)" = 0 ] && echo larder || id -un) "$@"
