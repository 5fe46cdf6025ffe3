#!/usr/bin/python3
"""What the installation puts where, staged (DESTDIR), and the systemd units that refer to it.

    installed.py BUILD UNIT...

mount(8) finds its helpers by name, each a link to the one binary; units pass `systemd-analyze verify` where there is one, and one
with a wrong key does not."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, UNITS = sys.argv[1], sys.argv[2:]
passed = failed = 0


def check(what, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f": {str(detail)[:1000]}"))


def options():
    asked = subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], stdout=subprocess.PIPE, check=True, text=True)
    return {option["name"]: option["value"] for option in json.loads(asked.stdout)}


def what_is_installed(root):
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], env=dict(os.environ, DESTDIR=root), check=True)
    at = options()
    prefix = at["prefix"]
    binary = os.path.join(prefix, at["bindir"], "larder")
    helpers = at["mount_helper_dir"] or ("/sbin" if prefix in ("/usr", "/usr/local") else os.path.join(prefix, at["sbindir"]))
    version = subprocess.run([root + binary, "--version"], stdout=subprocess.PIPE, text=True).stdout
    check("the binary runs", version.startswith("larder "), version)
    for name in ("mount.larder", "mount.fuse.larder"):
        link = root + os.path.join(helpers, name)
        check(f"{name} leads to it", os.path.islink(link) and os.readlink(link) == binary, helpers)
        os.remove(link)
        os.symlink(root + binary, link)  # as it will be when it is at its place
        run = subprocess.run([link, "--version"], stdout=subprocess.PIPE, text=True)
        check(f"{name} is mount(8)'s helper", (run.returncode, run.stdout.split()[0]) == (0, "mount.larder"), run)
    for name in ("include/larder/larder.h", "share/man/man8/mount.larder.8"):
        check(f"{name} is there", os.path.exists(root + os.path.join(prefix, name)))
    for name in ("liblarder.so.0", "pkgconfig/larder.pc"):
        check(f"{name} is there", os.path.exists(root + os.path.join(prefix, at["libdir"], name)))


def verify(*units):
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout + ("" if run.returncode == 0 else f"exit code {run.returncode}")


def units(root):
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze")
        return
    check("the units are in order", verify(*UNITS) == "", verify(*UNITS))
    for unit in UNITS:
        wrong = os.path.join(root, os.path.basename(unit))
        with open(unit) as f, open(wrong, "w") as g:
            g.write(f.read().replace("Where=", "Were="))
        check(f"{os.path.basename(unit)} with a wrong key is not", verify(wrong) != "")


with tempfile.TemporaryDirectory(prefix="larder-installed-") as root:
    what_is_installed(root)
    units(root)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
