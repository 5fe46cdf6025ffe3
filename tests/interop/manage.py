#!/usr/bin/python3
"""mkdir, rm, mv, cp, df, tree and ls with wildcards: what they do to a share, and what they refuse."""
import errno
import json
import os
import re
import subprocess
import tempfile

from bed import Samba, check, equal, finish, larder, mounted, user_name

USER = f"user={user_name()}"


def write(path, data=b""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def own(samba):
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)


def run(command, *args):
    return larder(command, "-o", USER, *args)


def done(what, result, out=None):
    equal(what, (result.returncode, result.stderr) + (() if out is None else (result.stdout,)), (0, "") + (() if out is None else (out,)))


def refused(what, result, *says, code=1):
    check(what, result.returncode == code and result.stderr.count("\n") == 1 and all(s in result.stderr for s in says),
          (result.returncode, result.stderr))


def wildcards(samba, target):
    names = ["a.txt", "B.TXT", "c.txt", "song [live].mp3", "song 1.mp3", ".hidden", "caf\u00e9.txt", "one-two", "caret^"]
    for name in names:
        write(f"{samba.share}/wild/{name}", name.encode())
    write(f"{samba.share}/wild/sub/a.txt", b"sub")
    own(samba)

    def ls(pattern):
        result = run("ls", target, pattern)
        return sorted(result.stdout.split("\n")[:-1]) if result.returncode == 0 else result.stderr

    equal("* matches in any case", ls("wild/*.txt"), sorted(["wild/a.txt", "wild/B.TXT", "wild/c.txt", "wild/caf\u00e9.txt"]))
    equal("? is one character, whatever its bytes", ls("wild/caf?.txt"), ["wild/caf\u00e9.txt"])
    equal("[a-c]", ls("wild/[a-b].txt"), ["wild/B.TXT", "wild/a.txt"])
    equal("[!a-b]", ls("wild/[!a-b].txt"), ["wild/c.txt"])
    equal("non-ASCII in any case", ls("wild/CAF\u00c9.*"), ["wild/caf\u00e9.txt"])
    equal("a leading dot is nothing special", ls("wild/*hidden"), ["wild/.hidden"])
    equal("a wildcard in the middle", ls("wild/s*/a.txt"), ["wild/sub/a.txt"])
    equal("the same behind a target's path", run("ls", f"{target}/w?ld/s*/*").stdout, "wild/sub/a.txt\n")
    equal("a name with brackets, where the pattern matches nothing", ls("wild/song [live].mp3"), ["wild/song [live].mp3"])
    equal("the same with a backslash", ls("wild/song \\[live\\].mp3"), ["wild/song [live].mp3"])
    equal("one directory that matches is listed", ls("wild/s?b"), ["a.txt"])
    check("what matches nothing is an error", "nothing matches" in ls("wild/*.pdf"))
    with tempfile.TemporaryDirectory() as work:
        done("get of what matches", run("get", f"{target}/wild/*.TXT", work))
        equal("is all of it", sorted(os.listdir(work)), sorted(["a.txt", "B.TXT", "c.txt", "caf\u00e9.txt"]))
    done("rm of a literal name", run("rm", f"{target}/wild/song \\[live\\].mp3"))
    check("removes that alone", not os.path.exists(f"{samba.share}/wild/song [live].mp3") and os.path.exists(f"{samba.share}/wild/song 1.mp3"))
    done("rm by a pattern", run("rm", target, "wild/*.txt"))
    equal("leaves the rest", sorted(os.listdir(f"{samba.share}/wild")), sorted([".hidden", "caret^", "one-two", "song 1.mp3", "sub"]))
    long = "a" * 200
    write(f"{samba.share}/wild/{long}")
    equal("a pattern of many stars is matched at once", ls("wild/" + "*a" * 40 + "*b").count("nothing matches"), 1)


def directories(samba, target):
    done("mkdir", run("mkdir", f"{target}/one"))
    refused("mkdir of what is there", run("mkdir", f"{target}/one"), "one", "COLLISION")
    refused("mkdir below nothing", run("mkdir", f"{target}/no/such"), "no")
    done("mkdir -p", run("mkdir", "-p", f"{target}/p/q/r", f"{target}/p/q/s"))
    done("mkdir -p of what is there", run("mkdir", "-p", f"{target}/p/q/r"))
    done("mkdir of two below a target", run("mkdir", target, "two", "three"))
    equal("all are there", [os.path.isdir(f"{samba.share}/{d}") for d in ("one", "p/q/r", "p/q/s", "two", "three")], [True] * 5)
    write(f"{samba.share}/p/file")
    own(samba)
    refused("mkdir -p through a file", run("mkdir", "-p", f"{target}/p/file/x"), "file")


def removals(samba, target):
    for i in range(30):
        write(f"{samba.share}/rm/deep/{'d/' * (i % 7)}{i}")
    write(f"{samba.share}/rm/file")
    write(f"{samba.share}/rm/locked")
    own(samba)
    refused("rm of a directory without -r", run("rm", f"{target}/rm"), "rm", "-r")
    refused("rm of the top", run("rm", "-r", target), "top")
    refused("rm of what is not there", run("rm", f"{target}/rm/absent"), "absent")
    done("rm -f of what is not there", run("rm", "-f", f"{target}/rm/absent", f"{target}/rm/*.absent"))
    with tempfile.NamedTemporaryFile() as f:
        os.chmod(f.name, 0o444)
        done("put of a read-only file", run("put", f.name, f"{target}/rm/ro"))
    check("keeps it so", "readonly" in run("stat", target, "rm/ro").stdout)
    done("rm of a read-only file", run("rm", f"{target}/rm/ro"))
    refused("a file that is there and one that is not", run("rm", target, "rm/file", "rm/absent"), "absent")
    check("the one that is there is gone", not os.path.exists(f"{samba.share}/rm/file"))
    done("rm -r of a tree", run("rm", "-r", f"{target}/rm/deep"))
    equal("and nothing else", os.listdir(f"{samba.share}/rm"), ["locked"])
    if os.getuid() == 0:  # somebody else's directory, in which nothing can be removed
        write(f"{samba.share}/keep/a/locked/file")
        write(f"{samba.share}/keep/b/file")
        own(samba)
        subprocess.run(["chown", "root", f"{samba.share}/keep/a/locked"], check=True)
        refused("a file that cannot be removed is named, once", run("rm", "-r", f"{target}/keep"), "locked/file", "DENIED")
        equal("its directories stay, the rest is gone", (os.path.exists(f"{samba.share}/keep/a/locked/file"), os.path.exists(f"{samba.share}/keep/b")), (True, False))
    write(f"{samba.share}/m/kept", b"kept")
    own(samba)
    with tempfile.TemporaryDirectory() as work:
        os.symlink("../m", f"{work}/link")
        larder("mkdir", "-o", USER, f"{target}/links")
        done("a link to a directory is made", larder("put", "-r", "-o", f"{USER},mfsymlinks", work + "/", f"{target}/links"))
    done("rm -r does not follow it", larder("rm", "-r", "-o", f"{USER},mfsymlinks", f"{target}/links"))
    equal("what it led to is there", os.listdir(f"{samba.share}/m"), ["kept"])


def moves(samba, target):
    write(f"{samba.share}/mv/readme.txt", b"readme")
    write(f"{samba.share}/mv/other.txt", b"other")
    write(f"{samba.share}/mv/Dir/x", b"x")
    own(samba)
    here = f"{samba.share}/mv"
    done("mv that changes case alone", run("mv", f"{target}/mv/readme.txt", f"{target}/mv/README.txt"))
    done("of a directory too", run("mv", target, "mv/Dir", "mv/DIR"))
    equal("the server has the new spellings", sorted(os.listdir(here)), ["DIR", "README.txt", "other.txt"])
    done("mv into a directory", run("mv", f"{target}/mv/README.txt", f"{target}/mv/DIR"))
    check("keeps the name", os.path.exists(f"{here}/DIR/README.txt"))
    refused("mv -n replaces nothing", run("mv", "-n", f"{target}/mv/other.txt", f"{target}/mv/DIR/x"), "COLLISION")
    equal("and changes nothing", open(f"{here}/DIR/x").read(), "x")
    done("mv replaces a file", run("mv", f"{target}/mv/other.txt", f"{target}/mv/DIR/x"))
    equal("by the other", open(f"{here}/DIR/x").read(), "other")
    for name in ("1.log", "2.log", "3.log"):
        write(f"{here}/{name}")
    own(samba)
    refused("several onto what is no directory", run("mv", f"{target}/mv/*.log", f"{target}/mv/DIR/x"), "not a directory")
    done("several into a directory", run("mv", f"{target}/mv/*.log", f"{target}/mv/DIR/"))
    equal("are all there", sorted(os.listdir(f"{here}/DIR")), ["1.log", "2.log", "3.log", "README.txt", "x"])
    refused("into a directory that is not there", run("mv", f"{target}/mv/DIR/x", f"{target}/mv/absent/"), "no such directory")
    refused("the top", run("mv", target, f"{target}/x"), "top")
    with Samba() as other:
        other.start()
        refused("from one share to another", run("mv", f"{target}/mv/DIR/x", other.target), "two shares", code=2)


def refusals(samba, target):
    """What cannot be done says so, and leaves nothing behind."""
    write(f"{samba.share}/no/d/s/f", b"f")
    write(f"{samba.share}/no/file", b"file")
    own(samba)
    refused("df of a path that is not there", run("df", f"{target}/no/such"), "no/such")
    equal("df of one that is", run("df", f"{target}/no/file").returncode, 0)
    equal("ls of a wildcard with a slash shows directories alone", run("ls", target, "no/*/").stdout, "s\n")
    refused("and nothing where there are none", run("ls", target, "no/d/s/*/"), "nothing matches")
    refused("cat of the top", run("cat", target), "the top of the share")
    refused("put of an empty name", run("put", "", f"{target}/no/x"), "an empty name")
    for to in ("no/d/x", "no/d/s", "no/D/s/x"):
        refused(f"mv of a directory to {to}", run("mv", target, "no/d", to), "no/d: a directory cannot be moved into itself")
    refused("mv of a file beneath itself is another thing", run("mv", target, "no/file", "no/file/x"), "no/file")
    for to in ("no/d/s/t", "no/d/t", "no/d/s"):
        refused(f"cp -r of a directory to {to}", run("cp", "-r", target, "no/d", to), "no/d: a directory cannot be copied into itself")
    equal("leaves nothing behind", [sorted(os.listdir(f"{samba.share}/no/{d}")) for d in ("d", "d/s")], [["s"], ["f"]])
    long = "\u00e4" * 200  # 200 units, 400 bytes on the server's disk
    for what, result in (("mkdir", run("mkdir", target, f"no/{long}")), ("mv", run("mv", target, "no/file", f"no/{long}")),
                         ("put", run("put", "/etc/hostname", f"{target}/no/{long}"))):
        refused(f"{what} to a name that is too long for the server", result, "too long")
    refused("a name that no server could take", run("mkdir", target, "no/" + "a" * 256), "longer than 255")


def through_a_mount(samba, target):
    write(f"{samba.share}/names/f", b"f")
    own(samba)

    def fails(call, *args):
        try:
            call(*args)
        except OSError as e:
            return errno.errorcode[e.errno]
        return "it does not"
    with mounted(samba) as place:
        for name in ("\u00e4" * 200, "a" * 256):
            equal(f"a name of {len(name.encode())} bytes", [fails(os.mkdir, f"{place}/{name}"), fails(os.rename, f"{place}/names/f", f"{place}/{name}"),
                  fails(os.link, f"{place}/names/f", f"{place}/{name}"), fails(open, f"{place}/{name}", "w")], ["ENAMETOOLONG"] * 4)
    with Samba("share:read only=yes") as fixed:
        fixed.start()
        write(f"{fixed.share}/f", b"f")
        own(fixed)
        with mounted(fixed) as place:
            check("a hard link on a share that is read-only is refused", fails(os.link, f"{place}/f", f"{place}/g") in ("EROFS", "EACCES"))
            equal("so is a rename", fails(os.rename, f"{place}/f", f"{place}/g"), "EACCES")
        equal("nothing was made", os.listdir(fixed.share), ["f"])


def copies(samba, target):
    write(f"{samba.share}/cp/a", b"a")
    write(f"{samba.share}/cp/t/b", b"b")
    own(samba)
    done("cp of a file", run("cp", f"{target}/cp/a", f"{target}/cp/c"))
    done("cp -r into a directory that is made", run("cp", "-r", target, "cp/t", "cp/u"))
    done("the same again", run("cp", "-r", target, "cp/t", "cp/u"))
    equal("is the same", sorted(os.listdir(f"{samba.share}/cp/u")), ["t"])
    equal("the times are the sources'", os.stat(f"{samba.share}/cp/u/t/b").st_mtime_ns // 100, os.stat(f"{samba.share}/cp/t/b").st_mtime_ns // 100)


def looks(samba, target):
    for name in ("b/2", "b/10", "a/x/y/z", "file"):
        write(f"{samba.share}/tree/{name}", b"12345")
    own(samba)
    done("tree", run("tree", f"{target}/tree"), f"""{target}/tree
\u251c\u2500\u2500 a/
\u2502   \u2514\u2500\u2500 x/
\u2502       \u2514\u2500\u2500 y/
\u2502           \u2514\u2500\u2500 z (5)
\u251c\u2500\u2500 b/
\u2502   \u251c\u2500\u2500 10 (5)
\u2502   \u2514\u2500\u2500 2 (5)
\u2514\u2500\u2500 file (5)

4 directories, 4 files, 20 bytes
""")
    found = json.loads(run("tree", "-L", "2", "--json", target, "tree").stdout)
    equal("tree -L 2 --json", ([e["path"] for e in found["entries"]], found["directories"], found["files"], found["bytes"]),
          (["", "a", "a/x", "b", "b/10", "b/2", "file"], 3, 3, 15))
    for depth in ("0", "32768", "-1", "x", ""):
        refused(f"tree -L {depth!r}", run("tree", "-L", depth, target), f'"{depth}"', "1 to 32767", code=2)
    refused("tree of a file", run("tree", f"{target}/tree/file"), "not a directory")
    if os.getuid() == 0:
        os.mkdir(f"{samba.share}/tree/b/closed")
        os.chmod(f"{samba.share}/tree/b/closed", 0o700)
        result = run("tree", f"{target}/tree")
        check("a directory that cannot be read is shown with its reason", result.returncode == 1 and
              re.search(r"closed/\n.*\[.*STATUS_ACCESS_DENIED", result.stdout) and "10 (5)" in result.stdout, result.stdout)
        result = run("tree", "--json", f"{target}/tree")
        check("in JSON too", result.returncode == 1 and any(e["path"] == "b/closed" and "DENIED" in e.get("error", "")
                                                            for e in json.loads(result.stdout)["entries"]), result.stdout)
    disk = os.statvfs(samba.share)
    figures = json.loads(run("df", "--json", target).stdout)
    equal("df: one share", (len(figures), figures[0]["share"]), (1, target))
    check("its size is the disk's", abs(figures[0]["total"] - disk.f_blocks * disk.f_frsize) < 1 << 20, figures)
    check("df for people", re.search(r"size.*used.*available", run("df", "-h", target).stdout.split("\n")[0])
          and "iB" in run("df", "-h", target).stdout and "KiB" in run("df", target).stdout)
    equal("df of two", len(json.loads(run("df", "--json", target, target).stdout)), 2)


def usage(target):
    for command in ("mkdir", "rm", "mv", "cp", "df", "tree", "get", "put"):
        refused(f"{command}: an unknown option", run(command, "-Z", target), '"-Z"', f"larder {command} --help", code=2)
        refused(f"{command}: nothing", larder(command), f"larder {command} --help", code=2)
        refused(f"{command}: no target", run(command, "x"), "//HOST/SHARE", code=2)
    refused("mv of one", run("mv", f"{target}/x"), "where to", code=2)
    refused("a target without a share", run("rm", "//127.0.0.1"), "no share", code=2)


with Samba() as samba:
    samba.start()
    for scene in (wildcards, directories, removals, moves, refusals, through_a_mount, copies, looks):
        scene(samba, samba.target)
    usage(samba.target)
finish()
