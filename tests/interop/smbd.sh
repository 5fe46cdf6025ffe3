#!/bin/bash
# A private Samba for tests: its own configuration, users and state in one directory, a free high
# port on 127.0.0.1 and ::1, nothing shared with a Samba of the machine.
#
#   smbd.sh start DIR [key=value ...]    prints the port
#   smbd.sh stop DIR
#
# Keys: user (larder), password (Passw0rd), port (a free one), protocol_min (SMB2_02), protocol_max
# (SMB3_11), signing (default, mandatory, ...), loglevel (1); every other key goes into [global] as it
# is ("server smb encrypt=required"), keys with `share:` before them into [share] ("share:guest ok=yes").
# With SMBD_ROOT the smbd of that root is run (newer-samba.sh), in which DIR is mounted under its own name.
# The share is DIR/share; everything in it belongs to the user, who is the share's `force user`. As
# root a missing unix user is made; without root the user is the one that runs this.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/private.sh"

# Whether process $1 itself listens on port $2: another server may have won the port meanwhile.
listens() {
    local inode
    inode=$(awk -v port="$(printf ':%04X' "$2")" \
        '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' /proc/net/tcp)
    [ -n "$inode" ] && ls -l "/proc/$1/fd" 2>/dev/null | grep -qF "socket:[$inode]"
}

# Debian has smbd in sbin, which is not in every PATH.
program() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" || die "$1 is not installed"; }

root=${SMBD_ROOT:-}

# run_in_root DIR PROGRAM ...: there, the same files under the same name. What is mounted for it is mounted for it
# alone and goes with it, so that nothing is ever removed through it.
run_in_root='root=$1 dir=$2
shift 2
mkdir -p "$root$dir"
mount --bind "$dir" "$root$dir"
mount -t proc proc "$root/proc"
exec chroot "$root" "$@"'

# The machine's /etc/$1, there. Never half of it: others may be starting in the same root.
into_root() {
    cmp -s "/etc/$1" "$root/etc/$1" && return
    cp "/etc/$1" "$root/etc/$1.$$"
    mv "$root/etc/$1.$$" "$root/etc/$1"
}

write_config() {
    local d=$1
    cat <<CONF
[global]
  netbios name = LARDERTEST
  workgroup = LARDERGRP
  server role = standalone server
  security = user
  passdb backend = tdbsam:$d/private/passdb.tdb
  private dir = $d/private
  lock directory = $d/lock
  state directory = $d/state
  cache directory = $d/cache
  pid directory = $d/pid
  ncalrpc dir = $d/ncalrpc
  log file = $d/log/%m.log
  log level = $loglevel
  max log size = 0
  interfaces = 127.0.0.1/8 ::1/128
  bind interfaces only = yes
  smb ports = $port
  disable netbios = yes
  disable spoolss = yes
  load printers = no
  printcap name = /dev/null
  printing = bsd
  usershare max shares = 0
  map to guest = bad user
  guest account = $guest
  server min protocol = $protocol_min
  server max protocol = $protocol_max
  server signing = $signing
$(printf '%s' "$global")
[share]
  path = $d/share
  read only = no
  force user = $user
$(printf '%s' "$share")
CONF
}

start() {
    local d=$1
    shift
    user=larder password=Passw0rd port= protocol_min=SMB2_02 protocol_max=SMB3_11
    signing=default loglevel=1 global= share= guest=nobody
    [ "$(id -u)" = 0 ] || { user=$(id -un); guest=$user; }
    for pair in "$@"; do
        case $pair in
        user=* | password=* | port=* | protocol_min=* | protocol_max=* | signing=* | loglevel=*)
            printf -v "${pair%%=*}" '%s' "${pair#*=}" ;;
        share:*=*) pair=${pair#share:}; share+="  ${pair%%=*} = ${pair#*=}"$'\n' ;;
        *=*) global+="  ${pair%%=*} = ${pair#*=}"$'\n' ;;
        *) die "not key=value: $pair" ;;
        esac
    done
    [ -n "$port" ] || port=$(free_port)
    local smbd pdbedit
    smbd=smbd pdbedit=pdbedit
    if [ -z "$root" ]; then
        smbd=$(program smbd)
        pdbedit=$(program pdbedit)
    fi

    mkdir -p "$d"
    d=$(cd "$d" && pwd)
    mkdir -p "$d"/{private,lock,state,cache,pid,ncalrpc,log,share}
    chmod 700 "$d/private"
    chmod 755 "$d" "$d/ncalrpc" # smbd reads the share as its user, who must get there
    if ! id "$user" >/dev/null 2>&1; then
        [ "$(id -u)" = 0 ] || die "no unix user $user, and only root can make one"
        "$(program useradd)" -M -s /usr/sbin/nologin "$user" || id "$user" >/dev/null || exit 1
    fi
    write_config "$d" >"$d/smb.conf"
    [ "$(id -u)" != 0 ] || chown -R "$user" "$d/share"
    local -a run=()
    if [ -n "$root" ]; then
        for file in passwd group; do into_root "$file"; done
        run=("${apart[@]}" bash -eu -c "$run_in_root" run_in_root "$root" "$d")
    fi
    printf '%s\n%s\n' "$password" "$password" |
        "${run[@]}" "$pdbedit" -s "$d/smb.conf" -a -t -u "$user" >"$d/log/pdbedit" 2>&1 ||
        { cat "$d/log/pdbedit" >&2; die "cannot add the user $user to Samba"; }

    setsid "${run[@]}" "$smbd" -F --no-process-group -s "$d/smb.conf" -l "$d/log" \
        </dev/null >"$d/log/out" 2>&1 &
    local pid=$! end=$((SECONDS + 60)) # a bound for one that hangs: whoever fails ends
    echo "$pid" >"$d/smbd.pid"
    while [ $SECONDS -lt $end ]; do
        if listens "$pid" "$port"; then
            echo "$port"
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.02
    done
    tail -n 20 "$d"/log/* >&2
    stop "$d"
    die "smbd did not start on port $port"
}

# smbd was started in a session of its own, in which all its children are. The configuration's path
# in their arguments tells them from a stranger who got the same number later.
processes() {
    ps -o pid=,args= -s "$1" | awk -v conf="$2/smb.conf" 'index($0, conf) { print $1 }'
}

stop() {
    local d=$1 pid pids
    [ -f "$d/smbd.pid" ] || return 0
    d=$(cd "$d" && pwd)
    pid=$(cat "$d/smbd.pid")
    pids=$(processes "$pid" "$d")
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -TERM $pids 2>/dev/null || true
    for _ in $(seq 200); do
        pids=$(processes "$pid" "$d")
        [ -n "$pids" ] || break
        sleep 0.02
    done
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    rm -f "$d/smbd.pid"
}

case ${1:-} in
start) [ $# -ge 2 ] || die "start DIR [key=value ...]"; shift; start "$@" ;;
stop) [ $# -eq 2 ] || die "stop DIR"; stop "$2" ;;
*) die "start or stop" ;;
esac
