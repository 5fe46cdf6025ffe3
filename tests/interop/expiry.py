#!/usr/bin/python3
"""Tickets that end while a mount is at work: renewed in time, renewed late, not renewed, and had again; by a cache and by a keytab."""
import errno
import os
import threading
import time

from bed import check, equal, finish, larder, mounted, stats, user_name, wait_until
from kdc import HOST, kerberos_samba

user = user_name()
LIFE = 4  # seconds of a ticket


def renewals(place):
    return stats(place)["connection"]["reauthentications"]


class Writer(threading.Thread):
    """Appends numbered records with fsync, and lists the directory, until it is told to stop or fails."""

    def __init__(self, path):
        super().__init__()
        self.path, self.acknowledged, self.failed, self.over = path, 0, None, False

    def run(self):
        try:
            with open(self.path, "w") as f:
                while not self.over:
                    f.write(f"record {self.acknowledged}\n")
                    f.flush()
                    os.fsync(f.fileno())
                    self.acknowledged += 1
                    os.listdir(os.path.dirname(self.path))
                    time.sleep(0.02)
        except OSError as e:
            self.failed = e

    def end(self):
        self.over = True
        self.join(60)


def all_is_there(what, writer, local):
    equal(f"{what}: the writer never noticed", writer.failed, None)
    lines = open(local).read().split("\n")
    equal(f"{what}: every record once, in order", lines, [f"record {i}" for i in range(writer.acknowledged)] + [""])


def by_a_keytab(kdc, samba, options):
    """Nobody has to renew anything."""
    keytab = f"{kdc.dir}/user.keytab"
    kdc.admin(f"modprinc -maxlife {LIFE}s {user}")
    with mounted(samba, "ip=127.0.0.1", f"keytab={keytab}", *options) as place:
        writer = Writer(f"{place}/keytab")
        writer.start()
        check("keytab: renewed twice while a writer works", wait_until(lambda: renewals(place) >= 2, 6 * LIFE))
        writer.end()
    all_is_there("keytab", writer, f"{samba.share}/keytab")
    kdc.admin(f"modprinc -maxlife 10h {user}")


def by_a_cache(kdc, samba, options):
    kdc.kinit(user, f"{LIFE}s")
    with mounted(samba, "ip=127.0.0.1", "sec=krb5", *options) as place:
        held = open(f"{place}/held", "w+")
        held.write("before")
        held.flush()
        writer = Writer(f"{place}/cache")
        writer.start()
        time.sleep(LIFE / 2)
        kdc.kinit(user, f"{LIFE}s")
        check("a new ticket in the cache is used ahead of time", wait_until(lambda: renewals(place) >= 1, 3 * LIFE))
        writer.end()
        all_is_there("cache", writer, f"{samba.share}/cache")

        def refused():
            try:
                os.listdir(place)
                return False
            except OSError as e:
                return e.errno == errno.EKEYEXPIRED

        check("without a new one the server ends it: EKEYEXPIRED", wait_until(refused, 4 * LIFE))
        run = larder("stats", place)
        check("the mount is not lost", "does not come back" not in run.stdout, run.stdout)
        try:
            os.mkdir(f"{place}/made")
            check("nor is anything done", False)
        except OSError as e:
            equal("nor is anything done", e.errno, errno.EKEYEXPIRED)
        said = larder("ls", "-oip=127.0.0.1", "-osec=krb5", samba.target, password=None).stderr
        check("what to do is said", HOST in said and "run kinit" in said, said)

        before = renewals(place)
        kdc.kinit(user, "1h")
        check("a new ticket brings it back", wait_until(lambda: not refused(), 10))
        check("by a renewal", renewals(place) > before)
        held.write(", and behind")
        held.close()
        equal("an open of before goes on", open(f"{samba.share}/held").read(), "before, and behind")


with kerberos_samba() as (the_kdc, the_samba):
    the_kdc.admin(f"ktadd -norandkey -k {the_kdc.dir}/user.keytab {user}")
    by_a_keytab(the_kdc, the_samba, ())
    by_a_cache(the_kdc, the_samba, ())
finish()
