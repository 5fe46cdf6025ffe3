#!/bin/bash
# Installs what the build, the tests and the demo need and the system lacks. Silent where nothing does.
set -eu
packages="gcc meson ninja-build pkg-config libc6-dev
 libfuse3-dev fuse3 libkrb5-dev gss-ntlmssp gss-ntlmssp-dev libssl-dev libjansson-dev libcmocka-dev
 zlib1g-dev libpcap-dev
 clang libclang-rt-14-dev
 samba samba-vfs-modules smbclient tshark python3 iproute2 dpkg-dev"
missing=
for p in $packages; do
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)" = "ii " ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# without the lists of a fresh machine the first attempt finds nothing
$as_root apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1 || {
    $as_root apt-get update -q >/dev/null
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
}
