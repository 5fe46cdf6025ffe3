#!/bin/bash
# ksmbd in an emulated machine for tests, in the manner of smbd.sh: its own disk, users and state in one directory,
# free high ports on 127.0.0.1.
#
#   KSMBD_ROOT=ROOT ksmbd.sh start DIR [key=value ...]    prints its port, and that of a shell in the machine
#   ksmbd.sh stop DIR
#
# ROOT is made by ksmbd-root.sh. Keys: user (larder), password (Passw0rd), port (a free one), protocol_min (SMB2_10),
# protocol_max (SMB3_11), signing (auto, mandatory, ...); every other key goes into [global] of ksmbd.conf as it is
# ("smb3 encryption=mandatory"), keys with `share:` before them into [share]. What the kernel and ksmbd say is in
# DIR/console. The share is on an ext4 of 4 GB, at /srv/share over there. KVM is not tried: where it is offered and does
# not work, nothing tells.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/private.sh"

write_config() {
    cat <<CONF
[global]
  netbios name = LARDERKSMBD
  workgroup = LARDERGRP
  smb2 leases = yes
  durable handles = yes
$global
[share]
  path = /srv/share
  read only = no
  force user = $user
  force group = $user
  hide dot files = no
$share
CONF
}

# What is the machine's own, in an archive that the kernel unpacks over its RAM disk.
write_overlay() {
    local d=$1
    mkdir -p "$d/overlay/etc/ksmbd"
    write_config >"$d/overlay/etc/ksmbd/ksmbd.conf"
    printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n%s:x:1000:1000::/:/bin/false\n' "$user" >"$d/overlay/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n%s:x:1000:\n' "$user" >"$d/overlay/etc/group"
    printf '%s:%s\n' "$user" "$password" >"$d/overlay/etc/login"
}

# With DIR under its own name in the root: it is mounted for these programs alone, and goes with them.
in_root='root=$1 dir=$2
shift 2
mkdir -p "$root$dir"
mount --bind "$dir" "$root$dir"
exec chroot "$root" "$@"'

# In there: the disk, and one RAM disk out of two archives. A second one that is not packed would have to be aligned.
make_disks='cd "$1/overlay"
{ cat /kernel/initrd; find . | cpio --quiet -o -H newc | gzip -1; } >"$1/initrd"
truncate -s 4G "$1/disk"
mke2fs -q -t ext4 "$1/disk"'

start() {
    local d=$1
    shift
    root=${KSMBD_ROOT:?the root that ksmbd-root.sh has made}
    user=larder password=Passw0rd port= global= share=
    for pair in "$@"; do
        case $pair in
        user=* | password=* | port=*) printf -v "${pair%%=*}" '%s' "${pair#*=}" ;;
        signing=*) global+="  server signing = ${pair#*=}"$'\n' ;;
        protocol_m??=*) global+="  server ${pair:9:3} protocol = ${pair#*=}"$'\n' ;;
        share:*=*) pair=${pair#share:}; share+="  ${pair%%=*} = ${pair#*=}"$'\n' ;;
        *=*) global+="  ${pair%%=*} = ${pair#*=}"$'\n' ;;
        *) die "not key=value: $pair" ;;
        esac
    done
    [ -n "$port" ] || port=$(free_port)
    local shell_port pid
    shell_port=$(free_port)
    mkdir -p "$d"
    d=$(cd "$d" && pwd)
    chmod 700 "$d"
    local -a run=("${apart[@]}" bash -euc "$in_root" in_root "$root" "$d")
    write_overlay "$d"
    "${run[@]}" sh -euc "$make_disks" make_disks "$d" 2>"$d/out"
    setsid "${run[@]}" qemu-system-x86_64 -M q35 -accel tcg -cpu max -m 768 -nodefaults -no-user-config -display none \
        -no-reboot -serial "file:$d/console" -kernel "$(cd "$root" && echo kernel/usr/lib/modules/*/vmlinuz)" \
        -initrd "$d/initrd" -append "console=ttyS0 quiet panic=-1 mitigations=off" \
        -drive "file=$d/disk,format=raw,if=virtio,cache=unsafe" \
        -netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:445,hostfwd=tcp:127.0.0.1:$shell_port-:7777" \
        -device virtio-net-pci,netdev=net,romfile= </dev/null >>"$d/out" 2>&1 &
    pid=$!
    echo "$pid" >"$d/qemu.pid"
    for _ in $(seq 1200); do
        if grep -qs '^READY' "$d/console"; then
            echo "$port $shell_port"
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 20 "$d/out" "$d/console" >&2 || true
    stop "$d"
    die "ksmbd did not start on port $port"
}

# The directory in its arguments tells it from a stranger who got the same number later.
runs() { [ -e "/proc/$1/cmdline" ] && tr "\0" " " <"/proc/$1/cmdline" 2>/dev/null | grep -qF "$2/initrd"; }

stop() {
    local d=$1 pid
    [ -f "$d/qemu.pid" ] || return 0
    d=$(cd "$d" && pwd)
    pid=$(cat "$d/qemu.pid")
    if runs "$pid" "$d"; then
        kill -KILL "$pid" # nobody will look at its disk again
        while runs "$pid" "$d"; do sleep 0.02; done
    fi
    rm -f "$d/qemu.pid" "$d/disk"
}

case ${1:-} in
start) [ $# -ge 2 ] || die "start DIR [key=value ...]"; shift; start "$@" ;;
stop) [ $# -eq 2 ] || die "stop DIR"; stop "$2" ;;
*) die "start or stop" ;;
esac
