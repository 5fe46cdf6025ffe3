#!/usr/bin/python3
"""Where POSIX and SMB cannot agree: what larder does there, each as docs/posix.md says (differences.py LARDER). A
local directory beside the mount shows what POSIX has."""
import ctypes
import errno
import fcntl
import mmap
import os
import re
import socket
import stat
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from bed import Samba, check, equal, finish, mounted, wait_until  # noqa: E402

OLD = 800000000 * 10**9  # a time that no clock gives any more
LIBC = ctypes.CDLL(None, use_errno=True)
tests = []


def difference(test):
    tests.append(test)
    return test


def code(call, *args, **more):
    """The name of the error that a call ends in; "" where it succeeds."""
    try:
        got = call(*args, **more)
        if call is os.open:
            os.close(got)
        return ""
    except OSError as e:
        return errno.errorcode[e.errno]


def put(path, data=b"text"):
    with open(path, "wb") as f:
        f.write(data)
    return path


def renamed(*names):
    return LIBC.renameat2(-100, os.fsencode(names[0]), -100, os.fsencode(names[1]), 2) and errno.errorcode[ctypes.get_errno()]


# ---- modes and owners ----

@difference
def only_the_w_bit_of_files_is_kept(mount, local, share):
    for place, kept in ((mount, 0o755), (local, 0o600)):
        put(f"{place}/f")
        os.chmod(f"{place}/f", 0o600)
        equal("mode 0600", stat.S_IMODE(os.stat(f"{place}/f").st_mode), kept)
    os.chmod(f"{mount}/f", 0o400)
    equal("without any w bit it is read-only", os.stat(f"{mount}/f").st_mode & 0o222, 0)


@difference
def modes_of_directories_are_accepted_and_ignored(mount, local, share):
    for place, kept in ((mount, 0o755), (local, 0o500)):
        os.mkdir(f"{place}/d")
        os.chmod(f"{place}/d", 0o500)
        equal("mode 0500", stat.S_IMODE(os.stat(f"{place}/d").st_mode), kept)


@difference
def set_user_id_and_sticky_bits_are_not_kept(mount, local, share):
    for place, kept in ((mount, 0), (local, 0o7000)):
        put(f"{place}/f")
        os.chmod(f"{place}/f", 0o7755)
        equal("mode 07755", os.stat(f"{place}/f").st_mode & 0o7000, kept)


@difference
def owners_are_those_of_the_mount(mount, local, share):
    put(f"{mount}/f")
    owner = os.stat(f"{mount}/f").st_uid
    equal("chown is accepted", code(os.chown, f"{mount}/f", 12345, 12345) if os.getuid() == 0 else "", "")
    equal("and without effect", os.stat(f"{mount}/f").st_uid, owner)


@difference
def there_are_no_sockets_devices_and_fifos(mount, local, share):
    equal("a FIFO", code(os.mkfifo, f"{mount}/f"), "EPERM")
    with socket.socket(socket.AF_UNIX) as s:
        equal("a socket", code(s.bind, f"{mount}/s"), "EPERM")


# ---- times ----

@difference
def a_write_may_change_the_time_late_but_a_close_does_at_once(mount, local, share):
    for place in (local, mount):
        os.utime(put(f"{place}/f"), ns=(OLD, OLD))
        with open(f"{place}/f", "ab", buffering=0) as f:
            f.write(b"more")
            told = os.fstat(f.fileno()).st_mtime_ns
            check("the time is the old one or now", told == OLD and place == mount or time.time_ns() - told < 10**11)
        late = 0
        for _ in range(200):  # the release of a file comes after its close, in a thread of its own
            os.utime(f"{place}/f", ns=(OLD, OLD))
            put(f"{place}/f")
            late += os.stat(f"{place}/f").st_mtime_ns == OLD
        equal("after the close it is now", late, 0)
        late = 0
        for _ in range(50):  # somebody reads it meanwhile
            os.utime(f"{place}/f", ns=(OLD, OLD))
            with open(f"{place}/f", "wb"), open(f"{place}/f", "rb"):
                told = os.stat(f"{place}/f").st_mtime_ns
            if not (told == OLD and place == mount or time.time_ns() - told < 10**11):
                check("emptied, the time is the old one or now", False, told)
            code(os.open, f"{place}/f", os.O_CREAT | os.O_EXCL)  # the server is asked
            late += os.stat(f"{place}/f").st_mtime_ns == OLD
        equal("after both closes it is now", late, 0)


@difference
def a_time_that_was_set_stays_while_the_file_is_open(mount, local, share):
    for place, stays in ((mount, True), (local, False)):
        with open(f"{place}/f", "wb", buffering=0) as f:
            os.utime(f.fileno(), ns=(OLD, OLD))
            f.write(b"more")
        equal("it is the one that was set", os.stat(f"{place}/f").st_mtime_ns == OLD, stays)


@difference
def truncation_to_the_same_size_leaves_the_time(mount, local, share):
    for place, stays in ((mount, True), (local, False)):
        os.utime(put(f"{place}/f"), ns=(OLD, OLD))
        os.truncate(f"{place}/f", 4)
        equal("it stays", os.stat(f"{place}/f").st_mtime_ns == OLD, stays)


@difference
def times_are_kept_in_steps_of_100_ns(mount, local, share):
    for place, last in ((mount, 0), (local, 77)):
        os.utime(put(f"{place}/f"), ns=(OLD + 177, OLD + 177))
        equal("the last two digits", os.stat(f"{place}/f").st_mtime_ns % 100, last)


@difference
def the_time_of_access_is_the_servers_affair(mount, local, share):
    os.utime(put(f"{mount}/f"), ns=(OLD, OLD))
    equal("it can be set", os.stat(f"{mount}/f").st_atime_ns, OLD)
    with open(f"{mount}/f", "rb") as f:
        f.read()
    check("a read may change it or not", os.stat(f"{mount}/f").st_atime_ns >= OLD)


# ---- links ----

@difference
def directories_have_one_link(mount, local, share):
    for place, links in ((mount, 1), (local, 3)):
        os.makedirs(f"{place}/d/e")
        equal("links of a directory with one in it", os.stat(f"{place}/d").st_nlink, links)


@difference
def a_removed_name_of_an_open_file_still_counts_while_the_file_has_others(mount, local, share):
    for place, most in ((mount, 2), (local, 1)):
        os.link(put(f"{place}/f"), f"{place}/g")
        with open(f"{place}/f", "rb") as f:
            os.unlink(f"{place}/f")
            check("meanwhile", 1 <= os.fstat(f.fileno()).st_nlink <= most)
        check("the other name leads to it", os.path.exists(f"{place}/g"))


@difference
def listings_do_not_tell_how_many_links_there_are(mount, local, share):
    put(f"{share}/f")
    os.link(f"{share}/f", f"{share}/g")
    check("until it is asked for a file may have one", all(os.stat(e.path).st_nlink in (1, 2) for e in os.scandir(mount)))
    equal("an open of it tells both", (len(os.listdir(mount)), open(f"{mount}/g", "rb").read()), (2, b"text"))


@difference
def without_mfsymlinks_a_server_without_reparse_points_has_no_symbolic_links(mount, local, share):
    equal("symlink", code(os.symlink, "target", f"{mount}/l"), "ENOTSUP")


# ---- names that are open ----

@difference
def a_directory_is_not_renamed_while_something_beneath_it_is_open(mount, local, share):
    for place, error in ((mount, "EACCES"), (local, "")):
        os.mkdir(f"{place}/d")
        with open(put(f"{place}/d/f"), "rb"):
            equal("rename", code(os.rename, f"{place}/d", f"{place}/e"), error)
    equal("after the close", code(os.rename, f"{mount}/d", f"{mount}/e"), "")


@difference
def others_see_a_removed_file_under_a_hidden_name_while_it_is_open(mount, local, share):
    with open(put(f"{mount}/f"), "rb") as f:
        os.unlink(f"{mount}/f")
        equal("here it is gone", os.listdir(mount), [])
        check("and not on the server", [n[:16] for n in os.listdir(share)] == [".larder-removed-"], os.listdir(share))
        equal("its data is there", f.read(), b"text")
    check("after the close it is gone there too", wait_until(lambda: os.listdir(share) == []))


@difference
def a_directory_that_had_such_a_file_is_removed_only_after_its_close(mount, local, share):
    for place in (mount, local):
        os.mkdir(f"{place}/t")
        with open(put(f"{place}/t/f"), "rb"):
            os.unlink(f"{place}/t/f")
            os.utime(f"{place}/t", ns=(OLD, OLD))
    equal("a local directory's times stay", os.stat(f"{local}/t").st_mtime_ns, OLD)
    check("here they change with the close", wait_until(lambda: os.stat(f"{share}/t").st_mtime_ns != OLD))
    for place, error in ((mount, "ENOTEMPTY"), (local, "")):
        os.mkdir(f"{place}/d")
        with open(put(f"{place}/d/f"), "rb"):
            os.unlink(f"{place}/d/f")
            equal("it looks empty", os.listdir(f"{place}/d"), [])
            equal("rmdir", code(os.rmdir, f"{place}/d"), error)
    equal("after the close", code(os.rmdir, f"{mount}/d"), "")
    refused = []
    for _ in range(50):  # the release of a file comes after its close, in a thread of its own
        os.mkdir(f"{mount}/d")
        with open(put(f"{mount}/d/f"), "rb"):
            os.unlink(f"{mount}/d/f")
        refused += filter(None, [code(os.rmdir, f"{mount}/d")])
        os.makedirs(f"{mount}/d", exist_ok=True)
        os.mkdir(f"{mount}/e")
        with open(put(f"{mount}/d/f"), "rb"):
            os.unlink(f"{mount}/d/f")
        refused += filter(None, [code(os.rename, f"{mount}/e", f"{mount}/d")])
        os.rmdir(f"{mount}/d")
    equal("at once after each of 100 closes", refused, [])


@difference
def a_file_without_a_name_that_is_only_read_keeps_its_times_and_mode(mount, local, share):
    for place, error in ((mount, "ESTALE"), (local, "")):
        with open(put(f"{place}/f"), "rb") as f:
            os.unlink(f"{place}/f")
            equal("futimens", code(os.utime, f.fileno(), ns=(OLD, OLD)), error)


@difference
def hidden_names_cannot_be_made(mount, local, share):
    equal("a file of such a name", code(os.open, f"{mount}/.larder-removed-1", os.O_CREAT | os.O_RDWR), "EPERM")


@difference
def names_are_not_exchanged(mount, local, share):
    for place, error in ((mount, "EINVAL"), (local, 0)):
        equal("RENAME_EXCHANGE", renamed(put(f"{place}/f"), put(f"{place}/g")), error)


# ---- spellings ----

@difference
def a_name_in_another_case_is_the_same_name(mount, local, share):
    put(f"{mount}/Name")
    equal("it is found", open(f"{mount}/nAME", "rb").read(), b"text")
    equal("and not made anew", code(os.open, f"{mount}/nAME", os.O_CREAT | os.O_EXCL | os.O_RDWR), "EEXIST")
    equal("its spelling is kept", os.listdir(mount), ["Name"])
    os.rename(f"{mount}/Name", f"{mount}/NAME")
    equal("the kernel does not pass on a rename that changes only the case", os.listdir(mount), ["Name"])


@difference
def characters_that_a_server_reserves_are_mapped(mount, local, share):
    for name in ('a:b', 'a*b?', '<">|', "dot.", "blank ", "back\\slash", "\x01"):
        put(f"{mount}/{name}")
        equal(f"{name!r} is listed as it is", os.listdir(mount), [name])
        equal(f"{name!r} stands on the server in the private use area", any("\uf000" <= c <= "\uf0ff" for c in os.listdir(share)[0]), True)
        os.unlink(f"{mount}/{name}")


@difference
def names_are_utf_8(mount, local, share):
    equal("a byte that is none", code(os.open, os.fsencode(f"{mount}/") + b"\xff", os.O_CREAT | os.O_RDWR), "EINVAL")


# ---- data ----

@difference
def room_inside_a_sparse_file_cannot_be_asked_for(mount, local, share):
    for place, error in ((mount, "ENOTSUP"), (local, "")):
        with open(f"{place}/f", "wb") as f:
            f.truncate(1 << 20)
            got = LIBC.fallocate(f.fileno(), 0, ctypes.c_long(4096), ctypes.c_long(4096)) and errno.errorcode[ctypes.get_errno()]
            equal("fallocate in a hole", got or "", error)


@difference
def ranges_are_not_collapsed_inserted_or_zeroed(mount, local, share):
    with open(put(f"{mount}/f", bytes(65536)), "r+b") as f:
        for mode in (8, 32, 16):  # COLLAPSE_RANGE, INSERT_RANGE, ZERO_RANGE
            LIBC.fallocate(f.fileno(), mode, ctypes.c_long(4096), ctypes.c_long(4096))
            equal(f"fallocate mode {mode}", errno.errorcode[ctypes.get_errno()], "ENOTSUP")


# ---- locks ----

def lock_and_write(place, sync):
    """A mapping changes a page, a byte of it is locked shared and written: what the page has then, and the error."""
    with open(put(f"{place}/f", bytes(4096)), "r+b") as f, mmap.mmap(f.fileno(), 4096) as page:
        page[:4] = b"page"
        if sync:
            page.flush()
        fcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB, 10, 100)
        return bytes(page[:4]), code(os.pwrite, f.fileno(), b"x", 105)


@difference
def a_range_that_is_locked_shared_is_not_written(mount, local, share):
    equal("on a local disk", lock_and_write(local, False), (b"page", ""))
    equal("on the mount", lock_and_write(mount, True), (b"page", "EAGAIN"))


a_range_that_is_locked_shared_is_not_written.options = ("Leases=false",)  # Samba does not look for locks where nobody else has it open


@difference
def with_nobrl_locks_do_not_stand_against_data(mount, local, share):
    equal("on the mount", lock_and_write(mount, False), (b"page", ""))


with_nobrl_locks_do_not_stand_against_data.options = ("nobrl",)


def run(test):
    with Samba() as samba, tempfile.TemporaryDirectory(prefix="larder-local-") as local:
        samba.start()
        with mounted(samba, *getattr(test, "options", ())) as mount:
            print(f"-- {test.__name__.replace('_', ' ')}", flush=True)
            test(mount, local, samba.share)


told = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "posix.md")).read()
told = {name for group in re.findall(r"\[([a-z0-9_, ]+)\](?!\()", told) for name in group.split(", ")}
equal("docs/posix.md names these tests, and no other", told, {test.__name__ for test in tests})
for each in tests:
    if len(sys.argv) < 3 or sys.argv[2] in each.__name__:
        run(each)
finish()
