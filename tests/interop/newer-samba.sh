#!/bin/bash
# A newer Samba than the system's, which has directory leases, for the tests: Debian's trixie in a
# directory of its own.
#
#   newer-samba.sh DIR     makes it where it is not there yet (about a minute, 420 MB); prints its version
#
# `SMBD_ROOT=DIR smbd.sh start ...` then runs that one. Ends with 77 where it cannot be had (debian-root.sh).
set -eu
root=${1:?usage: newer-samba.sh DIR}
"$(dirname "$0")/debian-root.sh" "$root" samba samba-vfs-modules
chroot "$root" smbd --version
