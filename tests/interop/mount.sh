#!/bin/bash
# Mounts of a private Samba: what programs see, what goes over the wire for it, and how mounts end.
# usage: mount.sh LARDER
set -u
larder=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
[ -w /dev/fuse ] || { echo "no /dev/fuse: skipped"; exit 77; }

dir=$(mktemp -d) mnt=$dir/mnt smb=$dir/smb
chmod 755 "$dir"
mkdir "$mnt"
checks=0 failures=0

# What a sanitizer finds in a daemon, whose stderr is gone, is kept where the end of this looks for it.
export LSAN_OPTIONS=suppressions=$here/../fault/lsan.supp:print_suppressions=0:log_path=$dir/sanitizer
export ASAN_OPTIONS=fast_unwind_on_malloc=1:log_path=$dir/sanitizer
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$dir/sanitizer
export TSAN_OPTIONS=log_path=$dir/sanitizer
export KRB5_CONFIG=$here/krb5.conf

finish() {
    while mountpoint -q "$mnt" 2>/dev/null || grep -q " $mnt fuse" /proc/mounts; do
        "$larder" umount --lazy "$mnt" || break
    done
    "$here/smbd.sh" stop "$smb"
    rm -rf "$dir"
}
trap finish EXIT

# check NAME COMMAND...: counts, and says what failed.
check() {
    local name=$1
    shift
    checks=$((checks + 1))
    if ! "$@"; then
        failures=$((failures + 1))
        echo "FAILED: $name: $*" >&2
    fi
}

not() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "  \"$1\" is not \"$2\"" >&2; false; }; }
mounted() { grep -q " $mnt fuse.larder" /proc/mounts; }
# The processes that were started for this mount point.
served() { pgrep -f "mount .*$mnt" >/dev/null; }
wait_for() { # at most 10 seconds for a command to become true
    for _ in $(seq 200); do "$@" && return; sleep 0.05; done
    false
}

port=$("$here/smbd.sh" start "$smb") || exit 1
share=$smb/share
target=//127.0.0.1:$port/share
export LARDER_PASSWORD=Passw0rd
user=user=$([ "$(id -u)" = 0 ] && echo larder || id -un)

mkdir -p "$share/many" "$share/tree/a/b/c" "$share/empty" "$share/with space, comma"
for i in $(seq -w 1000); do echo "$i" >"$share/many/file$i"; done
head -c 3000000 /dev/urandom >"$share/tree/a/big"
: >"$share/tree/a/b/nothing"
echo deep >"$share/tree/a/b/c/deep"
echo 'grüße' >"$share/tree/grüße.txt"
echo x >"$share/with space, comma/x"

mount_with() { "$larder" mount "$target" "$mnt" -o "$user,$1"; }
requests() { "$larder" stats --json "$mnt" | python3 -c '
import json, sys
print(sum(n for what, n in json.load(sys.stdin)["requests"].items() if what != "ECHO"))'; }
# The watch begins beside whatever else is done, with requests of its own.
watching() { [ "$("$larder" stats --json "$mnt" | python3 -c '
import json, sys
print(json.load(sys.stdin)["watch"]["state"])')" = watching ]; }
mount_with_watch() { mount_with "$1" && wait_for watching; }
upcalls() { "$larder" stats --json "$mnt" | python3 -c '
import json, sys
print(json.load(sys.stdin)["mount"]["upcalls"][sys.argv[1]])' "$1"; }

# ---- what programs see ----

for profile in larder 23h2 25h2 off; do
    check "$profile mounts" mount_with "profile=$profile,ro"
    check "$profile: the same names" same "$(cd "$mnt" && find . | sort | md5sum)" \
        "$(cd "$share" && find . | sort | md5sum)"
    check "$profile: the same sizes and times" same \
        "$(cd "$mnt" && find . -type f -printf '%p %s %T@\n' | sort | md5sum)" \
        "$(cd "$share" && find . -type f -printf '%p %s %T@\n' | sort |
            awk '{ split($NF, t, "."); $NF = t[1] "." substr(t[2], 1, 7) "000"; print }' | md5sum)" # 100 ns
    check "$profile: the same content" diff -r "$mnt" "$share"
    check "$profile: no such file" not cat "$mnt/missing" 2>/dev/null
    check "$profile: no such directory" not ls "$mnt/missing/there" 2>/dev/null
    check "$profile: bytes that are no UTF-8" not stat "$mnt/"$'\xff\xfe' 2>/dev/null
    check "$profile: read-only" same "$(touch "$mnt/new" 2>&1 | grep -c 'Read-only')" 1
    check "$profile: free space" df "$mnt" >/dev/null
    check "$profile: parallel users" same "$(for _ in $(seq 16); do
        (cd "$mnt" && find . -type f -size -5k -name '*00*' -exec cat {} + | md5sum) & done |
        sort -u | wc -l)" 1
    check "$profile: stats names it" grep -q "profile .*$profile" <("$larder" stats "$mnt")
    check "$profile unmounts" "$larder" umount "$mnt"
    check "$profile: no mount is left" not mounted
    check "$profile: no process is left" wait_for not served # the watchdog sees the end of the other one
done

# ---- what goes over the wire ----

fresh_requests() { # of a command on a fresh mount, less those of connecting and ending
    mount_with_watch profile=larder || return 1
    local before after
    before=$(requests)
    "$@" >/dev/null
    after=$(requests)
    "$larder" umount "$mnt"
    echo $((after - before))
}
listing=$(fresh_requests ls -f "$mnt/many")
check "a listing asks something" [ "$listing" -gt 0 ]
check "ls -l of 1,000 files asks no more than the listing" same \
    "$(fresh_requests ls -l "$mnt/many")" "$listing"

check "mounts" mount_with_watch profile=larder,actimeo=600
ls -l "$mnt/many" >/dev/null
before=$(requests) calls=$(upcalls LOOKUP)
ls -l "$mnt/many" >/dev/null
check "ls -l again asks nothing" same "$(requests)" "$before"
check "ls -l again makes no look-up" same "$(upcalls LOOKUP)" "$calls"
for i in $(seq 50); do stat "$mnt/many/missing" "$mnt/many/missing$i" >/dev/null 2>&1; done
check "missing names in a known directory ask nothing" same "$(requests)" "$before"
cat "$mnt/many/file0001" >/dev/null
before=$(requests)
calls=$(upcalls READ)
cat "$mnt/many/file0001" >/dev/null
check "an unchanged file is not read again" same "$(upcalls READ)" "$calls"
check "unmounts" "$larder" umount "$mnt"

check "mounts without caches" mount_with profile=off
stat "$mnt/many/file0001" >/dev/null
before=$(requests)
stat "$mnt/many/file0001" >/dev/null
check "without caches every look asks" [ "$(requests)" -gt "$before" ]
check "unmounts" "$larder" umount "$mnt"

# ---- a part of the share, modes, the daemon's end ----

target=$target/tree/a check "a directory of the share mounts" mount_with ro
check "the mount starts there" same "$(ls "$mnt")" $'b\nbig'
check "the source is shown" grep -q "^$target/tree/a $mnt fuse.larder" /proc/mounts
check "unmounts" "$larder" umount "$mnt"

check "modes by option" mount_with "file_mode=0640,dir_mode=0750,uid=12,gid=34"
check "a file's mode" same "$(stat -c '%a %u %g' "$mnt/tree/a/big")" "640 12 34"
check "a directory's mode" same "$(stat -c '%a %u %g' "$mnt/tree")" "750 12 34"
check "unmounts" "$larder" umount "$mnt"
check "owners by name, a umask" mount_with "file_mode=0777,dir_mode=0775,umask=027,uid=daemon,gid=bin"
check "a file's mode" same "$(stat -c '%a %U %G' "$mnt/tree/a/big")" "750 daemon bin"
check "a directory's mode" same "$(stat -c '%a %U %G' "$mnt/tree")" "750 daemon bin"
pid=$(pgrep -f "mount .*$mnt" | head -1)
check "SIGTERM" kill -TERM "$pid"
check "SIGTERM ends it" wait_for not served
check "SIGTERM unmounts" not mounted

"$larder" mount -f "$target" "$mnt" -o "$user" &
pid=$!
check "in the foreground" wait_for mounted
check "in the foreground it answers" wait_for ls "$mnt/many" >/dev/null
kill -INT $pid
wait $pid
check "Ctrl-C in the foreground is a clean end" same $? 0
check "Ctrl-C unmounts" not mounted

check "mounts" mount_with profile=larder
exec 9<"$mnt/many/file0001"
check "a mount in use is not unmounted" not "$larder" umount "$mnt" 2>/dev/null
check "it is still there" cat "$mnt/many/file0002" >/dev/null
check "--lazy unmounts it" "$larder" umount --lazy "$mnt"
check "the open file is still read" same "$(cat <&9)" 0001
exec 9<&-
check "it ends with its last user" wait_for not served

# ---- a larder that is killed ----

check "mounts" mount_with profile=larder
check "a password is not in ps" same "$(cat /proc/"$(pgrep -f "mount .*$mnt" | head -1)"/environ |
    tr '\0' '\n' | grep -c Passw0rd)" 0
if [ -e "/sys/fs/fuse/connections/$(stat -c %Ld "$mnt")" ]; then
    check "a watchdog stands by" wait_for pgrep -x -P "$(pgrep -f "mount .*$mnt" | head -1)" larder-watchdog >/dev/null
fi
kill -9 "$(pgrep -f "mount .*$mnt" | head -1)"
check "a killed larder is gone, its watchdog too" wait_for not served
check "its mount is dead" same "$(ls "$mnt" 2>&1 | grep -c 'not connected')" 1
check "stats says so" same "$("$larder" stats "$mnt" 2>&1 | grep -c 'umount')" 1
check "mounting there says so" same \
    "$(mount_with profile=larder 2>&1 | grep -c 'larder umount')" 1
check "umount clears it" "$larder" umount "$mnt"
check "it is cleared" not mounted
check "the directory is usable again" mount_with profile=larder
check "unmounts" "$larder" umount "$mnt"

# ---- failures: one line, an exit code, nothing left ----

# fails NAME CODE PATTERN ARGS...
fails() {
    local name=$1 code=$2 pattern=$3 out
    shift 3
    out=$("$larder" "$@" 2>&1 >/dev/null </dev/null)
    check "$name: exit code" same $? "$code"
    check "$name: one line" same "$(wc -l <<<"$out")" 1
    check "$name: says $pattern" grep -q -- "$pattern" <<<"$out"
    check "$name: no mount" not mounted
    check "$name: no process" wait_for not served
}
LARDER_PASSWORD=wrong fails "wrong password" 1 STATUS_LOGON_FAILURE mount "$target" "$mnt" -o "$user"
fails "unknown share" 1 STATUS_BAD_NETWORK_NAME mount "//127.0.0.1:$port/nosuch" "$mnt" -o "$user"
fails "refused connection" 1 refused mount //127.0.0.1:1/share "$mnt" -o "$user"
fails "unknown host" 1 no-such-host.invalid mount //no-such-host.invalid/share "$mnt" -o "$user"
fails "no such path" 1 nosuch mount "$target/nosuch/dir" "$mnt" -o "$user"
fails "a file as root" 1 "not a directory" mount "$target/tree/a/big" "$mnt" -o "$user"
fails "no such mount point" 1 "No such file" mount "$target" "$mnt/nowhere" -o "$user"
fails "a file as mount point" 1 "not a directory" mount "$target" "$larder" -o "$user"
fails "unknown option" 2 nonsense mount "$target" "$mnt" -o "$user,nonsense"
fails "bad mode" 2 "0 to 0777" mount "$target" "$mnt" -o "$user,file_mode=999"
fails "bad umask" 2 "0 to 0777" mount "$target" "$mnt" -o "$user,umask=8"
fails "no such user" 2 "0 to 4294967294" mount "$target" "$mnt" -o "$user,uid=no-such-user"
fails "no such group" 2 "0 to 4294967294" mount "$target" "$mnt" -o "$user,gid=-1"
fails "a value for ro" 2 ro mount "$target" "$mnt" -o "$user,ro=1"
fails "no directory given" 2 directory mount "$target"
fails "no target" 2 //HOST mount share "$mnt"
fails "umount of nothing" 1 "nothing is mounted" umount "$mnt"
fails "umount of another file system" 1 "of type proc" umount /proc
fails "stats of nothing" 1 "nothing is mounted" stats "$mnt"

check "mounts" mount_with profile=larder
out=$(mount_with profile=larder 2>&1)
check "mounted already: exit code" same $? 1
check "mounted already: one line" same "$(wc -l <<<"$out")" 1
check "mounted already: once" same "$(grep -c " $mnt fuse.larder" /proc/mounts)" 1
check "the first one works on" ls "$mnt/many" >/dev/null

# ---- only for the owner's eyes ----

if [ "$(id -u)" = 0 ]; then
    sockets=/run/larder-0
    check "the sockets' directory is private" same "$(stat -c %a $sockets)" 700
    check "the socket is private" same "$(stat -c %a "$sockets/$(stat -c '%Hd:%Ld' "$mnt")")" 600
    cp "$larder" "$dir/larder"
    chmod 755 "$dir/larder"
    check "another user gets no stats" same \
        "$(setpriv --reuid=65534 --clear-groups "$dir/larder" stats "$mnt" 2>&1 | grep -c 'only root')" 1
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@" 2>/dev/null; }
    check "another user sees nothing" not other ls "$mnt"
    check "unmounts" "$larder" umount "$mnt"
    check "mounts for others" mount_with allow_other,file_mode=0640,dir_mode=0755
    check "another user may list" other ls "$mnt/tree" >/dev/null
    check "another user may not read what the mode forbids" not other cat "$mnt/tree/a/big"
    check "the owner may" cmp "$mnt/tree/a/big" "$share/tree/a/big"
fi

# ---- the server goes away ----

"$here/smbd.sh" stop "$smb"
check "without a server a look-up fails" not timeout 60 stat "$mnt/tree/unseen" 2>/dev/null
check "stats says so" grep -q fault <("$larder" stats "$mnt")
check "without a server it unmounts" "$larder" umount "$mnt"
check "no process is left" wait_for not served

cat "$dir"/sanitizer.* >&2 2>/dev/null
check "no sanitizer complained" same "$(ls "$dir" | grep -c sanitizer)" 0

echo "$checks checks, $failures failed"
[ $failures = 0 ]
