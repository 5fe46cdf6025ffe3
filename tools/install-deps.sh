#!/bin/bash
# Installs what the build, the tests and the demo need and the system lacks. Silent where nothing does.
# `optional` is for tests that skip a part without it: where it cannot be had, that is said and the rest goes on.
set -eu
packages="gcc meson ninja-build pkg-config libc6-dev
 libfuse3-dev fuse3 libkrb5-dev gss-ntlmssp gss-ntlmssp-dev libssl-dev libjansson-dev libcmocka-dev
 zlib1g-dev libpcap-dev
 clang libclang-rt-14-dev
 krb5-kdc krb5-admin-server krb5-user faketime
 samba samba-vfs-modules smbclient tshark python3 iproute2 dpkg-dev git make rsync fio"
optional="chromium debootstrap mandoc groff zsh fish"

lacking() {
    for p in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)" = "ii " ] || printf ' %s' "$p"
    done
}
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null
}

missing=$(lacking $packages)
wanted=$(lacking $optional)
[ -n "$missing$wanted" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing:$missing$wanted"
# without the lists of a fresh machine the first attempt finds nothing
install $missing $wanted 2>/dev/null && exit 0
$as_root apt-get update -q >/dev/null || [ -z "$missing" ]
[ -z "$missing" ] || install $missing
[ -z "$wanted" ] || install $wanted || echo "not to be had:$wanted; the tests that want it say what they skip"
