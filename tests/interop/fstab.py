#!/usr/bin/python3
"""mount -t larder and lines of /etc/fstab, by root and by a user, as mount(8) and systemd's automount make them; what df,
mount and findmnt show; how such mounts end; what is written to the log. usage: fstab.py LARDER"""
import fcntl
import os
import pwd
import signal
import socket
import struct
import subprocess
import time

import machine

machine.enter()

from bed import LARDER, PASSWORD, Samba, check, equal, finish, user_name, wait_until  # noqa: E402
from machine import NOBODY, Machine, mount_line, run  # noqa: E402

NOBODY_ID = pwd.getpwnam("nobody").pw_uid


def served(place):
    """The processes that serve this place."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if place in words and words[0].endswith(("mount.larder", "mount.fuse.larder", "larder")):
            found.append(int(pid))
    return found


def daemon(place):
    """That of them which is no other's child."""
    all_of_them = served(place)
    for pid in all_of_them:
        with open(f"/proc/{pid}/stat") as f:
            if int(f.read().rpartition(")")[2].split()[1]) not in all_of_them:
                return pid
    return None


def ends(what, place, *command):
    done = run(*command)
    equal(f"{what}: {command[-2]} ... ends it", (done.returncode, done.stderr), (0, ""))
    equal(f"{what}: no mount is left", mount_line(place), None)
    check(f"{what}: no process is left", wait_until(lambda: not served(place)), served(place))


def one_line(what, done, code, *says):
    """Failed with this code and one line that says all of it."""
    equal(f"{what}: its exit code", done.returncode, code)
    lines = done.stderr.splitlines()
    check(f"{what}: one line, with {', '.join(says)}", len(lines) == 1 and all(s in lines[0] for s in says), done.stderr)


def by_command(m, samba, cred):
    place = m.directory("by-command")
    done = run("mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred}")
    equal("mount -t larder", (done.returncode, done.stdout, done.stderr), (0, "", ""))
    source, kind, options = mount_line(place)
    equal("its source and type", (source, kind), (samba.target, "fuse.larder"))
    equal("df shows the source", run("df", "--output=source,fstype", place).stdout.split()[-2:], [samba.target, "fuse.larder"])
    equal("so does findmnt", run("findmnt", "-n", "-o", "SOURCE,FSTYPE", place).stdout.split(), [samba.target, "fuse.larder"])
    check("so does mount", f"{samba.target} on {place} type fuse.larder" in run("mount").stdout)
    equal("root's mount is for others, too", run(*NOBODY, "cat", f"{place}/file").stdout, "hello\n")
    check("as the modes say", run(*NOBODY, "touch", f"{place}/new").returncode != 0 and not os.path.exists(f"{place}/new"))
    one_line("mounted twice", run("mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred}"), 32, "already", "umount")
    one_line("remount", run("mount", "-o", "remount,ro", place), 1, "remount", "mount it anew")
    ends("umount", place, "umount", place)

    done = run("mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred},noallow_other,ro")
    equal("mount -o noallow_other,ro", (done.returncode, done.stderr), (0, ""))
    check("then it is for root alone", run(*NOBODY, "cat", f"{place}/file").returncode != 0)
    check("and read-only", "Read-only" in run("touch", f"{place}/new").stderr)
    ends("umount -t", place, "umount", "-t", "fuse.larder", place)

    done = run("mount", "-v", "-n", "-r", "-t", "larder", samba.target, place, "-o", f"credentials={cred}")
    equal("-v tells, -n is taken", (done.returncode, done.stdout), (0, f"larder: {samba.target} is mounted on {place}\n"))
    check("-r: read-only", "Read-only" in run("touch", f"{place}/new").stderr)
    ends("-r", place, "umount", place)

    equal("-f mounts nothing", (run("mount", "-f", "-t", "larder", samba.target, place).returncode, mount_line(place)), (0, None))
    one_line("-f checks the options", run("mount", "-f", "-t", "larder", samba.target, place, "-o", "rszie=3"), 1, "rszie", "rsize")
    done = run("mount", "-s", "-t", "larder", samba.target, place, "-o", f"credentials={cred},nonsense=3")
    equal("-s passes over what nobody knows", (done.returncode, done.stderr), (0, ""))
    ends("-s", place, "umount", place)
    done = run("mount", "-t", "fuse.larder", samba.target, place, "-o", f"user={user_name()},password=\"{PASSWORD}\"")
    equal("mount -t fuse.larder, with user= and a quoted password", (done.returncode, done.stderr), (0, ""))
    check("the password is not to be seen", all(PASSWORD not in open(f"/proc/{p}/cmdline").read() for p in served(place)))
    ends("fuse.larder", place, "umount", place)
    one_line("a wrong password", run("mount", "-t", "larder", samba.target, place, "-o", "username=larder,password=no"), 32, "password")
    equal("a failed mount leaves none", mount_line(place), None)


def by_fstab(m, samba, cred):
    place, mine = m.directory("by-fstab"), m.directory("mine", NOBODY_ID)
    own = m.credentials("own", user_name(), PASSWORD, NOBODY_ID)
    m.fstab(f"{samba.target} {place} larder credentials={cred},noauto,nofail,_netdev,x-systemd.automount,noatime,uid=nobody 0 0",
            f"{samba.target} {mine} larder credentials={own},noauto,user,comment=mine 0 0")
    done = run("mount", place)
    equal("a line of fstab", (done.returncode, done.stderr), (0, ""))
    equal("its owner is uid=", os.stat(f"{place}/file").st_uid, NOBODY_ID)
    equal("who may write", run(*NOBODY, "touch", f"{place}/by-nobody").returncode, 0)
    ends("a line of fstab", place, "umount", place)

    m.fstab(f"{samba.target} {place} larder credentials={cred},_netdev 0 0",
            f"{samba.target} {mine} larder credentials={own},noauto,user,comment=mine 0 0")
    equal("mount -a", (run("mount", "-a").returncode, mount_line(place)[1]), (0, "fuse.larder"))
    done = run("mount", "-a")
    equal("once more does nothing", (done.returncode, done.stderr, len([line for line in open("/proc/self/mounts") if f" {place} " in line])), (0, "", 1))
    ends("mount -a", place, "umount", place)

    done = run(*NOBODY, "mount", mine)
    if not equal("a user's line, by that user", (done.returncode, done.stderr), (0, "")):
        return
    source, kind, options = mount_line(mine)
    equal("its source and type", (source, kind), (samba.target, "fuse.larder"))
    check("its flags are those of users", {"nosuid", "nodev", "noexec", f"user_id={NOBODY_ID}"} <= set(options), options)
    equal("the user reads", run(*NOBODY, "cat", f"{mine}/file").stdout, "hello\n")
    check("root does not", run("cat", f"{mine}/file").returncode != 0)
    check("another user cannot end it", run("setpriv", "--reuid", "daemon", "--regid", "daemon", "--clear-groups", "umount", mine).returncode != 0
          and mount_line(mine))
    ends("the user's umount", mine, *NOBODY, "umount", mine)


def in_flight(m, samba, cred):
    """What write(2) has returned for is the server's, however the mount ends."""
    place = m.directory("in-flight")
    data = os.urandom(3 << 20)
    run("mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred},WriteDelay=60")
    fd = os.open(f"{place}/late", os.O_WRONLY | os.O_CREAT)
    os.write(fd, data)
    os.kill(daemon(place), signal.SIGTERM)
    check("SIGTERM ends a mount that is in use", wait_until(lambda: not served(place), 30))
    equal("what was written is on the server", open(f"{samba.share}/late", "rb").read() == data, True)
    equal("no mount is left", mount_line(place), None)
    try:
        os.close(fd)
    except OSError:
        pass


def by_automount(m, samba, cred):
    """What systemd does with x-systemd.automount: the place is autofs's, and only processes of the automounter's group may
    look at it while somebody waits for the mount. One that looked from outside would wait for itself."""
    place = m.directory("auto")
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    done = subprocess.run(["mount", "-t", "autofs", "-o", f"fd={writer},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct", "auto", place],
                          pass_fds=[writer], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"skipped: no autofs here: {done.stderr.strip()}")
        return
    os.close(writer)
    trigger = os.open(place, os.O_RDONLY)
    user = subprocess.Popen(["cat", f"{place}/file"], stdout=subprocess.PIPE, text=True, start_new_session=True)
    token = struct.unpack_from("I", os.read(reader, 4096), 8)[0]
    before = time.monotonic()
    mount = subprocess.Popen(["mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred},_netdev"])
    check("a mount is made while its place waits for it", wait_until(lambda: mount.poll() is not None, 15))
    ready = mount.poll() == 0
    fcntl.ioctl(trigger, 0x9360 if ready else 0x9361, token)
    equal("who waited for it reads", user.communicate(timeout=20)[0], "hello\n")
    check("in time", time.monotonic() - before < 30)
    if not ready:
        for pid in served(place):
            os.kill(pid, signal.SIGKILL)
    run("umount", place)
    os.close(trigger)
    run("umount", place)


def log(m, samba, cred):
    """The daemon's log goes to the system's, /dev/log, which is the journal's where there is one."""
    place = m.directory("logged")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind("/dev/log")
        journal.settimeout(20)
        run("mount", "-t", "larder", samba.target, place, "-o", f"credentials={cred},timeo=10")
        samba.kill()
        run("ls", f"{place}/nothing")
        line = journal.recv(4096).decode()
        check("the log has a line, its level and whose it is", line.startswith("<27>")
              and f"larder[{daemon(place)}]: {place}: the server is away" in line, line)
    ends("while the server is away", place, "umount", place)


with Machine(LARDER) as m, Samba() as samba:
    os.chmod(samba.dir, 0o755)
    samba.start()
    with open(f"{samba.share}/file", "w") as f:
        f.write("hello\n")
    cred = m.credentials("cred", user_name(), PASSWORD)
    by_command(m, samba, cred)
    by_fstab(m, samba, cred)
    by_automount(m, samba, cred)
    in_flight(m, samba, cred)
    log(m, samba, cred)
finish()
