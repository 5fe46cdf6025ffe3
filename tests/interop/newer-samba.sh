#!/bin/bash
# A newer Samba than the system's, which has directory leases, for the tests: Debian's trixie in a
# directory of its own, from the mirror that apt uses.
#
#   newer-samba.sh DIR     makes it where it is not there yet (about a minute, 420 MB); prints its version
#
# `SMBD_ROOT=DIR smbd.sh start ...` then runs that one. Ends with 77 where it cannot be had: not root,
# no debootstrap, no mirror.
set -eu
root=${1:?usage: newer-samba.sh DIR}
log=$root.log

cannot() { echo "newer-samba.sh: $*" >&2; exit 77; }

[ "$(id -u)" = 0 ] || cannot "only root can run a server in a directory of its own"
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || cannot "apt has no mirror of Debian"

mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9 # tests that start together make it once
if [ ! -e "$root/.complete" ]; then
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror" >"$log" 2>&1 ||
        cannot "debootstrap failed, see $log"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started
    chmod 755 "$root/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
    chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get update -qq && apt-get install -y -qq --no-install-recommends samba samba-vfs-modules &&
         apt-get clean' >>"$log" 2>&1 || cannot "installing Samba in $root failed, see $log"
    touch "$root/.complete"
fi
chroot "$root" smbd --version
