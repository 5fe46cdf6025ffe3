#!/bin/bash
# Unpacks Debian's python3-sympy and python3-mpmath into DIR, without installing them: a real Python
# tree of 1,587 files to import from a share.   fetch-python-tree.sh DIR
set -eu
dir=${1:?usage: fetch-python-tree.sh DIR}
[ ! -d "$dir/sympy" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt downloads as its own user
cd "$work"
apt-get download -q python3-sympy python3-mpmath >/dev/null 2>&1 || {
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -q >/dev/null
    apt-get download -q python3-sympy python3-mpmath >/dev/null
}
for package in *.deb; do
    dpkg-deb -x "$package" tree
done
mkdir -p "$dir"
mv tree/usr/lib/python3/dist-packages/* "$dir/"
