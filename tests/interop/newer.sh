#!/bin/bash
# client.sh with a newer Samba than the system's, which has directory leases; made in DIR where it is
# not there yet (newer-samba.sh). Ends with 77 where it cannot be had.
# usage: newer.sh DIR PROGRAM [ARGUMENT ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/newer-samba.sh" "$1"
SMBD_ROOT=$1 LARDER_TEST_NEWER=1 exec "$here/client.sh" "${@:2}"
