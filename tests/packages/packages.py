#!/usr/bin/python3
"""The Debian packages on a clean system: what they bring, what works with nothing but them, and that they leave nothing.

    packages.py LARDER DIRECTORY

They are built by packaging/build-deb.sh; DIRECTORY keeps them, and the clean system (clean-root.sh). The server is a private
Samba of this machine, which the clean system reaches, since they share the network."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "interop"))
from bed import PASSWORD, Samba, check, equal, finish, user_name, wait_until  # noqa: E402
from clean import Clean  # noqa: E402

PACKAGES = ("larder", "liblarder0", "liblarder-dev")
KEPT = os.path.abspath(sys.argv[2])
CREDENTIALS, FSTAB = "/etc/larder.cred", "/etc/fstab"


def good(what, run):
    return check(what, run.returncode == 0, run.stdout[-1500:])


def built():
    """{package: its file}"""
    env = dict(os.environ, DEB_BUILD_OPTIONS="nocheck")  # the unit tests are run by `make check`
    run = subprocess.run([f"{TOP}/packaging/build-deb.sh", f"{KEPT}/debs"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not good("the packages build, and lintian has nothing to say", run):
        finish()
    check("and a source package with them", glob.glob(f"{KEPT}/debs/larder_*.dsc") and glob.glob(f"{KEPT}/debs/larder_*.tar.*"))
    debs = {os.path.basename(f).split("_")[0]: f for f in glob.glob(f"{KEPT}/debs/*.deb")}
    check("each has its debug symbols in a package of their own", {"larder-dbgsym", "liblarder0-dbgsym"} <= set(debs), debs)
    return {name: debs[name] for name in PACKAGES}


def later(debs, work):
    """The same as a later version, as an upgrade meets it."""
    made = {}
    for name, deb in debs.items():
        tree = f"{work}/{name}"
        subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
        with open(f"{tree}/DEBIAN/control", "r+") as f:
            text = f.read()
            version = re.search(r"^Version: (.*)$", text, flags=re.M)[1]
            text = re.sub(rf"^Version: .*$|\(= {re.escape(version)}\)", lambda m: m[0].replace(version, version + "+later"), text, flags=re.M)
            f.seek(0)
            f.write(text)
            f.truncate()
        made[name] = f"{work}/{name}_later_amd64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, made[name]], check=True, stdout=subprocess.DEVNULL)
    return made


def bring(clean, debs):
    """Into /tmp there, as files that apt reads as a user of its own; the command that installs them."""
    for deb in debs.values():
        shutil.copy(deb, clean.path("/tmp/"))
        os.chmod(clean.path(f"/tmp/{os.path.basename(deb)}"), 0o644)
    return ["apt-get", "install", "-y", "-q", "--no-install-recommends", *(f"/tmp/{os.path.basename(d)}" for d in debs.values())]


def what_is_there(clean):
    good("the command starts", clean.run("larder", "--version"))
    for page in ("larder", "larder-mount"):
        run = clean.run("man", page)
        check(f"man {page} shows", run.returncode == 0 and "SYNOPSIS" in run.stdout, run.stdout[:300])
    run = clean.run("man", "-l", "--warnings", "/usr/share/man/man1/larder-mount.1.gz")
    check("without a warning of its formatter", run.returncode == 0 and "warning" not in run.stdout, run.stdout[:300])
    good("the loader knows the library", clean.run("sh", "-c", "ldconfig -p | grep -q 'liblarder.so.0 '"))


def a_line_in_fstab(clean, samba):
    clean.write(CREDENTIALS, f"username={user_name()}\npassword={PASSWORD}\n", 0o600)
    os.mkdir(clean.path("/srv/share"))
    clean.write(FSTAB, f"{samba.target} /srv/share larder credentials={CREDENTIALS},_netdev,noauto,user,x-systemd.automount 0 0\n")
    os.mkdir(clean.path("/run/units"))
    good("systemd makes units of it", clean.run("/usr/lib/systemd/system-generators/systemd-fstab-generator", *["/run/units"] * 3))
    units = sorted(os.listdir(clean.path("/run/units")))
    check("a mount and an automount", {"srv-share.mount", "srv-share.automount"} <= set(units), units)
    run = clean.run("systemd-analyze", "verify", "/run/units/srv-share.mount", "/run/units/srv-share.automount")
    check("which it finds good", run.returncode == 0 and not run.stdout.strip(), run.stdout)
    shipped = clean.run("sh", "-c", "dpkg -L larder | grep -E '/(examples|systemd)/.*[.](auto)?mount$'").stdout.split()
    check("the packaged units are there", {os.path.splitext(u)[1] for u in shipped} == {".mount", ".automount"}, shipped)
    run = clean.run("systemd-analyze", "verify", *shipped)
    check("and good, too", run.returncode == 0 and not run.stdout.strip(), run.stdout)


def content(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return None


def a_file_goes_both_ways(clean, samba, place, user=None):
    with open(f"{samba.share}/from-server", "w") as f:
        f.write("from the server\n")
    equal(f"{place}: a file of the server is read", clean.run("cat", f"{place}/from-server", user=user).stdout, "from the server\n")
    run = clean.run("sh", "-c", f"echo from the client > {place}/from-client", user=user)
    equal(f"{place}: and one is written", (run.returncode, content(f"{samba.share}/from-client")), (0, "from the client\n"))
    clean.run("rm", "-f", f"{place}/from-client", user=user)
    run = clean.run("findmnt", "--noheadings", "--output=SOURCE,FSTYPE", place)
    equal(f"{place}: findmnt knows the source", run.stdout.split(), [samba.target, "fuse.larder"])


def ended(clean, place, user=None):
    good(f"{place}: umount", clean.run("umount", place, user=user))
    check(f"{place}: it is gone, and its daemon", wait_until(lambda: clean.run("findmnt", place).returncode != 0 and
                                                            clean.run("sh", "-c", "grep -qx larder /proc/[0-9]*/comm").returncode != 0))


def roots_mounts(clean, samba):
    good("mount -t larder", clean.run("mount", "-t", "larder", samba.target, "/srv/share", "-o", f"credentials={CREDENTIALS}"))
    a_file_goes_both_ways(clean, samba, "/srv/share")
    ended(clean, "/srv/share")
    good("mount by the line in fstab", clean.run("mount", "/srv/share"))
    a_file_goes_both_ways(clean, samba, "/srv/share")
    ended(clean, "/srv/share")


def a_users_mount(clean, samba):
    clean.write("/home/tester/cred", f"username={user_name()}\npassword={PASSWORD}\n", 0o600)
    clean.run("chown", "tester:tester", "/home/tester/cred")
    clean.run("mkdir", "/home/tester/share", user="tester")
    good("a user mounts", clean.run("larder", "mount", samba.target, "/home/tester/share", "-o", "credentials=/home/tester/cred", user="tester"))
    a_file_goes_both_ways(clean, samba, "/home/tester/share", user="tester")
    check("which root may not look into", clean.run("ls", "/home/tester/share").returncode != 0)
    good("and ends it", clean.run("larder", "umount", "/home/tester/share", user="tester"))
    clean.run("rm", "-r", "/home/tester/share", "/home/tester/cred", user="tester")


def an_upgrade(clean, samba, debs):
    good("mounted before an upgrade", clean.run("mount", "/srv/share"))
    good("an upgrade", clean.run(*bring(clean, debs)))
    check("to the later version", "+later" in clean.run("dpkg-query", "-W", "larder").stdout)
    a_file_goes_both_ways(clean, samba, "/srv/share")
    ended(clean, "/srv/share")
    roots_mounts(clean, samba)


def nothing_stays(clean, before):
    good("the packages are removed", clean.run("apt-get", "remove", "-y", "-q", *PACKAGES))
    check("the command is gone", clean.run("larder", "--version").returncode != 0)
    good("and purged", clean.run("dpkg", "--purge", *PACKAGES))
    good("with what only they needed", clean.run("apt-get", "autoremove", "--purge", "-y", "-q"))
    os.unlink(clean.path(CREDENTIALS))
    os.unlink(clean.path(FSTAB))
    os.rmdir(clean.path("/srv/share"))
    after = clean.files()
    equal("no file stays", sorted(set(after) - set(before)), [])
    equal("and none is missing", sorted(set(before) - set(after)), [])
    equal("nor changed", [f for f in before if f in after and before[f] != after[f]], [])


if subprocess.run([f"{os.path.dirname(os.path.abspath(__file__))}/clean-root.sh", f"{KEPT}/root"]).returncode:
    sys.exit(77)  # it has said what is lacking
debs = built()
with Samba() as samba, Clean(f"{KEPT}/root") as clean, tempfile.TemporaryDirectory() as work:
    samba.start()
    good("the lists of packages", clean.run("apt-get", "update", "-q"))
    os.unlink(clean.path(FSTAB))
    before = clean.files()
    good("they install with their dependencies", clean.run(*bring(clean, debs)))
    what_is_there(clean)
    a_line_in_fstab(clean, samba)
    roots_mounts(clean, samba)
    a_users_mount(clean, samba)
    an_upgrade(clean, samba, later(debs, work))
    nothing_stays(clean, before)
finish()
