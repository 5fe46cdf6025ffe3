#!/bin/bash
# Builds the Debian packages (source and binary) and has lintian judge them.
#
#   build-deb.sh OUTDIR      NAME_VERSION.dsc, .tar.xz, .changes, and the .deb files, go there
#
# The tree is copied to a temporary directory with packaging/debian as its debian/, so that nothing is written beside the
# sources. Build dependencies that are missing are installed through apt-get, with sudo where you are not root.
# DEB_BUILD_OPTIONS=nocheck leaves the unit tests out.
set -eu
out=${1:?usage: build-deb.sh OUTDIR}
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo

install() { # COMMAND ARGUMENT...: of apt-get; once more with the lists of a fresh machine
    local apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends"
    $apt "$@" >/dev/null 2>&1 && return
    $as_root apt-get update -q >/dev/null
    $apt "$@" >/dev/null
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/larder
mkdir "$tree"
tar -C "$here" --exclude-vcs --exclude=./build --exclude='./build-*' --exclude=__pycache__ -c . | tar -C "$tree" -x
mv "$tree/packaging/debian" "$tree/debian"
cd "$tree"

command -v dpkg-buildpackage >/dev/null && command -v lintian >/dev/null || install install dpkg-dev fakeroot lintian
dpkg-checkbuilddeps 2>/dev/null || install build-dep "$tree"
dpkg-buildpackage -us -uc -ui >"$work/build.log" 2>&1 || { tail -n 60 "$work/build.log"; exit 1; }
cd "$work"
rm -f "$out"/larder_* "$out"/larder-dbgsym_* "$out"/liblarder*_*
mv build.log "$out/build.log"
mv larder_* larder-dbgsym_* liblarder*_* "$out"
cd "$out"
lintian --allow-root --fail-on error,warning larder_*.changes
ls larder* liblarder*
