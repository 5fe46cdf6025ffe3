#!/bin/bash
# Debian's trixie in a directory of its own, for what the system's release does not have: from the mirror that apt
# uses, without touching what is installed.
#
#   debian-root.sh DIR PACKAGE ...     makes it where it is not there yet
#
# Ends with 77 where it cannot be had: not root, no debootstrap, no mirror, or one that does not answer. A test that asks
# for it has an answer within eight minutes, since who waits for a mirror for ever has failed, not skipped: what takes
# longer is given up, and for a while nobody tries again, as others would be kept waiting by the same mirror.
set -eu
root=${1:?usage: debian-root.sh DIR PACKAGE ...}
shift
here=$(cd "$(dirname "$0")" && pwd)
log=$root.log failed=$root.failed
most=420    # seconds to make it: on a busy machine with two cores it takes 200
again=10    # minutes until it is tried once more

cannot() { echo "debian-root.sh: $*" >&2; exit 77; }
gave_up() { : >"$failed"; cannot "$*, see $log"; }

[ "$(id -u)" = 0 ] || cannot "only root can run a server in a directory of its own"
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || cannot "apt has no mirror of Debian"

mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock -w $((most + 30)) 9 || cannot "somebody else makes $root, and does not come to an end" # once, for all who start together
[ ! -e "$root/.complete" ] || exit 0
command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
[ -z "$(find "$failed" -mmin "-$again" 2>/dev/null)" ] ||
    cannot "it could not be had a few minutes ago, see $log (without $failed it is tried at once)"
end=$((SECONDS + most))

# In time, else killed with all that it has started; what it mounts goes with it.
in_time() {
    timeout -k 5 $((end > SECONDS ? end - SECONDS : 1)) unshare --mount "$here/leave-mounts.sh" "$@" >>"$log" 2>&1 9>&-
}

rm -rf "$root"
: >"$log"
in_time debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror" || gave_up "debootstrap failed"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started
chmod 755 "$root/usr/sbin/policy-rc.d"
echo "deb $mirror trixie-backports main" >"$root/etc/apt/sources.list.d/backports.list"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
in_time chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" && apt-get clean' sh "$@" ||
    gave_up "installing $* in $root failed"
rm -f "$failed"
touch "$root/.complete"
