#!/usr/bin/python3
"""ls, cat and stat as people type them: lists of options, targets with a path, closed and full outputs."""
import json
import os
import pty
import signal
import subprocess
import tempfile
import termios

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, user_name, wait_until

with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.makedirs(f"{samba.share}/dir/sub")
    for name in ("a.txt", "dir/b.txt", "dir/sub/c.txt"):
        with open(f"{samba.share}/{name}", "w") as f:
            f.write(f"{name}\n" * 3)
    samba.start()
    user = f"user={user_name()}"
    target = samba.target

    run = larder("ls", "-o", f'{user},password="{PASSWORD}",vers=3.0', f"{target}/dir", password=None)
    equal("a list of options", (run.returncode, run.stdout), (0, "b.txt\nsub\n"))
    run = larder("ls", "-o", f"{user},password=sesame,nonsense=1", target, password=None)
    check("a wrong one in it is named, the password is not", run.returncode == 2 and "nonsense" in run.stderr
          and "sesame" not in run.stderr, run.stderr)
    equal("cat of a target that is a file", larder("cat", "-o", user, f"{target}/dir/b.txt").stdout, "dir/b.txt\n" * 3)
    equal("cat of a path below a target's path", larder("cat", "-o", user, f"{target}/dir", "sub/c.txt").stdout, "dir/sub/c.txt\n" * 3)
    equal("stat of a target that is a file", json.loads(larder("stat", "-o", user, "--json", f"{target}/a.txt").stdout)["size"], 18)
    check("ls of a target that is a file shows it", "a.txt" in larder("ls", "-o", user, f"{target}/a.txt").stdout
          or larder("ls", "-o", user, f"{target}/a.txt").returncode == 0)
    run = larder("cat", "-o", user, target)
    check("cat of a directory", run.returncode == 1 and "irectory" in run.stderr and run.stderr.count("\n") == 1, run.stderr)
    host, port = target[2:].split("/")[0].split(":")
    for tool in ("ls", "mount"):
        place = [work] if tool == "mount" else []
        run = larder(tool, "-o", f"{user},port=1", target, *place)
        check(f"{tool}: an option wins over the target", run.returncode == 1 and "refused" in run.stderr, run.stderr)
    run = larder("ls", "-o", "guest,sign", target)
    check("guest and sign contradict each other", run.returncode == 1 and "guest" in run.stderr, run.stderr)

    env = {**os.environ, "LARDER_PASSWORD": PASSWORD}
    for command in (["cat", "-o", user, target, "a.txt"], ["ls", "-o", user, target], ["stat", "-o", user, target], ["--help"]):
        for where in (">/dev/full", ">&-"):
            run = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", LARDER, *command], stderr=subprocess.PIPE, text=True, env=env)
            check(f"{command[0]} {where}: failed, and said so", run.returncode == 1 and "output" in run.stderr, (run.returncode, run.stderr))
    equal("the file on the server is as it was", open(f"{samba.share}/a.txt").read(), "a.txt\n" * 3)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", LARDER, "mount", "-o", user, target, work], env=env)
        check(f"a mount with {closed} works", os.path.exists(f"{work}/a.txt") and open(f"{work}/a.txt").read() == "a.txt\n" * 3)
        equal(f"and ends", larder("umount", work).returncode, 0)
    os.symlink(work, f"{work}-link")
    larder("mount", "-o", user, target, f"{work}-link")
    equal("a mount point by a symlink can be asked", larder("stats", f"{work}-link").returncode, 0)
    equal("and unmounted", larder("umount", f"{work}-link").returncode, 0)
    os.unlink(f"{work}-link")

    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("LARDER_PASSWORD", None)
        os.execv(LARDER, [LARDER, "ls", "-o", user, target])
    echoes = lambda: bool(termios.tcgetattr(terminal)[3] & termios.ECHO)  # as a new terminal does
    shown = b""
    while b"Password" not in shown:
        shown += os.read(terminal, 200)
    check("the prompt shows nothing of what is typed", wait_until(lambda: not echoes()))
    os.kill(child, signal.SIGINT)
    check("Ctrl-C at the prompt leaves the terminal as it was", wait_until(echoes))
    equal("and ends it", os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGINT)

finish()
