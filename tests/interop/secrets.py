#!/usr/bin/python3
"""A password never appears in ps, in the environment of what keeps running, in logs, errors or mount tables."""
import glob
import os
import tempfile

from bed import PASSWORD, Samba, check, equal, finish, larder, mounted, stats, user_name

SECRET = "S3same,Str33t"


def seen_in_proc(secret):
    """Every process of this user whose arguments or environment hold the secret."""
    places = []
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as f:
                if secret.encode() in f.read() and int(path.split("/")[2]) != os.getpid():
                    places.append(path)
        except OSError:
            pass
    return places


with Samba() as samba, tempfile.TemporaryDirectory() as place:
    samba.start()
    user = user_name()
    host = samba.target[2:]
    with open(f"{place}/credentials", "w") as f:
        os.chmod(f.fileno(), 0o600)
        f.write(f"username={user}\npassword={PASSWORD}\n")
    os.mkdir(f"{place}/mnt")
    ways = {
        "-o password=": ([samba.target], f"user={user},password={PASSWORD}"),
        "a quoted password": ([samba.target], f'user={user},password="{PASSWORD}",vers=3.0'),
        "user%password": ([samba.target], f"user={user}%{PASSWORD}"),
        "an URL": ([f"smb://{user}:{PASSWORD}@{host}"], "vers=3.1.1"),
        "a credentials file": ([samba.target], f"credentials={place}/credentials"),
    }
    for way, (target, options) in ways.items():
        run = larder("mount", *target, f"{place}/mnt", "-o", options, password=None)
        equal(f"{way}: mounts", (run.returncode, run.stderr), (0, ""))
        equal(f"{way}: no process shows it", seen_in_proc(PASSWORD), [])
        check(f"{way}: nor does the mount table", PASSWORD not in open("/proc/self/mountinfo").read())
        check(f"{way}: nor do the stats", PASSWORD not in str(stats(f"{place}/mnt")))
        larder("umount", f"{place}/mnt")
    run = larder("mount", samba.target, f"{place}/mnt", "-o", f"user={user}")
    equal("LARDER_PASSWORD: mounts", run.returncode, 0)
    equal("LARDER_PASSWORD: no process keeps it", seen_in_proc(PASSWORD), [])
    larder("umount", f"{place}/mnt")

    for arguments in (["ls", "-o", f"user={user}", "-o", f"password={SECRET}", samba.target],
                      ["ls", "-o", "vers=9", "-o", f"password={SECRET}", samba.target],
                      ["mount", samba.target, f"{place}/mnt", "-o", f'user={user},password="{SECRET}"'],
                      ["mount", samba.target, f"{place}/mnt", "-o", f'user={user},password="{SECRET}",nonsense=1'],
                      ["mount", f"smb://{user}:{SECRET}@{host}x", f"{place}/mnt"],
                      ["compare", samba.target, "-o", f'user={user},password="{SECRET}"', "--", "true"]):
        run = larder(*arguments, password=None)
        check(f"{arguments[0]}: fails in one line", run.returncode != 0 and run.stderr.count("\n") == 1, run.stderr)
        check(f"{arguments[0]}: without the password", "S3same" not in run.stderr + run.stdout, run.stderr)

finish()
