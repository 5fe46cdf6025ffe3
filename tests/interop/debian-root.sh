#!/bin/bash
# Debian's trixie in a directory of its own, for what the system's release does not have: from the mirror that apt
# uses, without touching what is installed.
#
#   debian-root.sh DIR PACKAGE ...     makes it where it is not there yet
#
# Ends with 77 where it cannot be had: not root, no debootstrap, no mirror.
set -eu
root=${1:?usage: debian-root.sh DIR PACKAGE ...}
shift
log=$root.log

cannot() { echo "debian-root.sh: $*" >&2; exit 77; }

[ "$(id -u)" = 0 ] || cannot "only root can run a server in a directory of its own"
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || cannot "apt has no mirror of Debian"

mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9 # tests that start together make it once
[ ! -e "$root/.complete" ] || exit 0
command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
rm -rf "$root"
debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror" >"$log" 2>&1 ||
    cannot "debootstrap failed, see $log"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started
chmod 755 "$root/usr/sbin/policy-rc.d"
echo "deb $mirror trixie-backports main" >"$root/etc/apt/sources.list.d/backports.list"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" && apt-get clean' sh "$@" \
    >>"$log" 2>&1 || cannot "installing $* in $root failed, see $log"
touch "$root/.complete"
