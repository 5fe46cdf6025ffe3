# What the scripts that start a private server share (smbd.sh, ksmbd.sh): they source it.

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# A port that nobody listens on, and that no other test gets in the next minutes: they are given out in turn, by a number
# that all tests of this user share. Samba lets two servers listen on one port and hands each half of what comes, so no
# test may be given what another has just been given, or the port of a server that is away for a while.
free_port() {
    local port counter=/tmp/larder-test-port-$UID
    (
        flock 8
        read -r port <&8 && [[ $port =~ ^[23][0-9]{4}$ ]] || port=$((20000 + RANDOM % 12000))
        for _ in $(seq 200); do
            port=$((port < 31999 ? port + 1 : 20000))
            if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
                echo "$port" | tee "$counter"
                exit
            fi
        done
        exit 1
    ) 8<>"$counter" || die "no free port"
}

# Before a program and its arguments: its mounts are for it alone and go with it, so that nothing is ever removed through them.
apart=(unshare --mount "$here/leave-mounts.sh")
