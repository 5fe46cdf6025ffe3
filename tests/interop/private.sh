# What the scripts that start a private server share (smbd.sh, ksmbd.sh): they source it.

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

free_port() {
    local port
    for _ in $(seq 200); do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    die "no free port"
}

# Before a program and its arguments: its mounts are for it alone and go with it, so that nothing is ever removed through them.
apart=(unshare --mount "$here/leave-mounts.sh")
