#!/bin/bash
# Fails (exit 3) where the requests of an application's start from a file share rise too far on a client without a
# directory cache (profile 25h2), measured by one that has it (23h2): the sign of a start that searches more than it reads.
#
#   guard.sh DIRECTORY COMMAND...      {mnt} in the command is where the directory is mounted
#
# The directory is shared by a Samba that lives as long as this script, on 127.0.0.1, for guests who may only read; no
# configuration of the machine is touched. It needs larder, smbd and a /dev/fuse that the user may open.
#
# BASE=FILE: where FILE is there, the start is held against what it was when FILE was written, at larder's own behaviour;
# where it is not, it is written. Keep it in the repository, and remove it where more requests are meant.
#
# LIMITS: what `larder compare --max-ratio` takes, separated by commas. A Python tool that imports forty modules from its own
# directory is at 10 times the messages and 9 times the CREATE, which the limits below let pass; with sixteen directories in its
# search path it is at 20 and 17. Set yours to what the first run prints, and some room: then what is added later is held to it.
# With BASE a tenth more of either is too much.
set -eu
BASE=${BASE:-}
LIMITS=${LIMITS:-$([ -n "$BASE" ] && echo messages=1.1,CREATE=1.1 || echo messages=14,CREATE=12)}
directory=$(realpath "${1:?usage: guard.sh DIRECTORY COMMAND...}")
shift
[ $# -gt 0 ] || { echo "guard.sh: no command" >&2; exit 2; }
smbd=$(PATH=$PATH:/usr/sbin command -v smbd) || { echo "guard.sh: smbd is not installed (package samba)" >&2; exit 2; }

work=$(mktemp -d)
server=
stop_server() {
    [ -n "$server" ] || return 0
    kill -- "-$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
}
finish() {
    stop_server
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# One try: another program may have the port, or take it before smbd does.
start_server() {
    local port=$1
    ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 1
    mkdir -p "$work"/{private,lock,state,cache,pid,ncalrpc}
    chmod 755 "$work" "$work/ncalrpc"
    cat >"$work/smb.conf" <<CONF
[global]
  server role = standalone server
  map to guest = bad user
  guest account = $([ "$(id -u)" = 0 ] && echo nobody || id -un)
  interfaces = 127.0.0.1/8
  bind interfaces only = yes
  smb ports = $port
  disable netbios = yes
  disable spoolss = yes
  load printers = no
  private dir = $work/private
  lock directory = $work/lock
  state directory = $work/state
  cache directory = $work/cache
  pid directory = $work/pid
  ncalrpc dir = $work/ncalrpc
  log file = $work/log
[app]
  path = $directory
  guest ok = yes
  force user = $(stat -c %U "$directory")
CONF
    setsid "$smbd" -F --no-process-group -s "$work/smb.conf" </dev/null >"$work/out" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        kill -0 "$server" 2>/dev/null || return 1
        larder ls -o guest "//127.0.0.1:$port/app" >/dev/null 2>"$work/ls" && return
        sleep 0.1
    done
    return 1
}

port=
for _ in 1 2 3 4 5; do
    try=$((20000 + RANDOM % 12000))
    if start_server "$try"; then
        port=$try
        break
    fi
    stop_server
done
[ -n "$port" ] || { tail -n 5 "$work"/{out,log,ls} >&2; echo "guard.sh: smbd did not start" >&2; exit 1; }

limits=()
IFS=, read -ra each <<<"$LIMITS"
for limit in "${each[@]}"; do limits+=(--max-ratio "$limit"); done
compare=(--profile 23h2 --profile 25h2 "${limits[@]}")
if [ -n "$BASE" ] && [ -e "$BASE" ]; then
    compare=(--profile larder --base "$BASE" "${limits[@]}")
elif [ -n "$BASE" ]; then
    compare=(--profile larder --json "$BASE")
fi
larder compare "//127.0.0.1:$port/app" -o guest --markdown "${compare[@]}" -- "$@"
