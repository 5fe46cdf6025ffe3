#!/bin/bash
# Starts a private Samba that requires signing, fills its share, and runs test_client against it.
# usage: client.sh TEST_CLIENT [arguments of it]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap '"$here/smbd.sh" stop "$dir"; rm -rf "$dir"' EXIT
chmod 755 "$dir"

port=$("$here/smbd.sh" start "$dir" signing=mandatory)
share=$dir/share
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

LARDER_TEST_PORT=$port LARDER_TEST_SHARE=$share LARDER_TEST_PASSWORD=Passw0rd \
LARDER_TEST_USER=$([ "$(id -u)" = 0 ] && echo larder || id -un) "$@"
