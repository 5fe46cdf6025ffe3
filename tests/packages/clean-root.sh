#!/bin/bash
# A clean Debian 12 for the package test: minbase, systemd, man and one plain user, from the mirror that apt uses.
#
#   clean-root.sh DIR     makes it where it is not there yet (some minutes, 400 MB)
#
# Nothing is ever mounted in it or changed: the test puts a layer of its own on top. Ends with 77 where it cannot be had.
set -eu
root=${1:?usage: clean-root.sh DIR}
log=$root.log

cannot() { echo "clean-root.sh: $*" >&2; exit 77; }

[ "$(id -u)" = 0 ] || cannot "only root can make one"
[ ! -e "$root/.complete" ] || exit 0
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || cannot "apt has no mirror of Debian"
command -v debootstrap >/dev/null || apt-get install -y -q debootstrap >/dev/null 2>&1 || cannot "no debootstrap"

mkdir -p "$(dirname "$root")"
rm -rf "$root"
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,man-db,ca-certificates bookworm "$root" "$mirror" >"$log" 2>&1 ||
    cannot "debootstrap failed, see $log"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started
chmod 755 "$root/usr/sbin/policy-rc.d"
chroot "$root" useradd --create-home --shell /bin/bash tester
touch "$root/.complete"
