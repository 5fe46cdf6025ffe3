#!/usr/bin/python3
"""People's work on a read-write mount: git, sqlite, fio, make, rsync and tar (workloads.py), whole and right.

    work.py LARDER [--full] [--only git,tar] [--as signed,2.1] [--newer DIR | --ksmbd DIR]

`--as` does it again for each kind of connection (`krb5`: by tickets that end in the middle, and are renewed); `--newer`
with the newer Samba that is in DIR (newer-samba.sh makes it), `--ksmbd` with the kernel's server (ksmbd-root.sh). At the end
stands what each workload cost: seconds, requests, round trips, calls of the kernel. Two runs of one size do the same work, so
tables can be compared; what is believed runs out by the clock, so no two are alike to the last request.
"""
import argparse
import contextlib
import os
import sys
import tempfile
import time

import workloads
from bed import Ksmbd, Samba, check, equal, finish, made, mounted, stats, user_name
from kdc import Renewer, kerberos_samba

SIZES = {  # small, full: files, transactions of a writer, MiB of a job, files of a program
    "git": (200, 2000),
    "sqlite": (30, 300),
    "fio": (4, 64),
    "build": (20, 60),
    "rsync": (200, 2000),
    "tar": (1000, 10000),
}
CONNECTIONS = {  # name: options of the mount, keys of smbd.sh, what the mount says of itself
    "plain": ((), (), {}),
    "signed": (("sign",), ("signing=mandatory",), {"signing": "AES-GMAC"}),
    "unsigned": (("RequireSecuritySignature=false",), ("signing=disabled",), {"signing": "none"}),
    "2.1": (("vers=2.1",), (), {"dialect": "2.1"}),
    "3.0": (("vers=3.0",), (), {"dialect": "3.0"}),
    "3.1.1": (("vers=3.1.1",), (), {"dialect": "3.1.1"}),
    "krb5": (("sec=krb5", "ip=127.0.0.1"), (), {"logon": "Kerberos"}),
    "krb5-sealed": (("sec=krb5", "ip=127.0.0.1", "seal", "EncryptionCiphers=AES_256_GCM"), (),
                    {"logon": "Kerberos", "encryption": "AES-256-GCM"}),
    "sealed": (("seal",), (), {"encryption": "AES-128-GCM", "signing": "none"}),
    "sealed-3.0": (("seal", "vers=3.0"), (), {"encryption": "AES-128-CCM", "dialect": "3.0"}),
    "sealed-share": ((), ("share:server smb encrypt=required",), {"encryption": "AES-128-GCM"}),
}
for cipher in ("AES-128-GCM", "AES-128-CCM", "AES-256-GCM", "AES-256-CCM"):
    CONNECTIONS[cipher] = (("seal", "EncryptionCiphers=" + cipher.replace("-", "_")), (), {"encryption": cipher})
for signer in ("AES-GMAC", "AES-CMAC", "HMAC-SHA256"):
    CONNECTIONS[signer] = (("sign", "SigningAlgorithms=" + signer.replace("-", "_")), (), {"signing": signer})
# one mode for all, in which a file keeps its w bits; and symbolic links, which this server does not keep as such
OPTIONS = ("file_mode=0755", "dir_mode=0755", "mfsymlinks")
LIFE = (10, 30)  # seconds of a ticket, small and full


class Costs:
    """What went over the wire and came from the kernel, workload by workload."""

    def __init__(self):
        self.rows = []

    def of(self, name, places, work):
        def counts():
            each = [stats(place) for place in places]
            return [sum(count(s) for s in each) for count in (
                lambda s: sum(s["requests"].values()), lambda s: s["round_trips"], lambda s: sum(s["mount"]["upcalls"].values()))]

        before, began = counts(), time.monotonic()
        skipped = work()
        seconds, after = time.monotonic() - began, counts()
        if skipped:
            print(f"skipped: {skipped}", flush=True)
        else:
            self.rows.append((name, seconds, *(a - b for a, b in zip(after, before))))
        return not skipped

    def show(self, title):
        print(f"\n{title:<24}{'seconds':>9}{'requests':>11}{'round trips':>13}{'kernel calls':>14}")
        for name, seconds, requests, trips, calls in self.rows:
            print(f"{name:<24}{seconds:>9.2f}{requests:>11,}{trips:>13,}{calls:>14,}")
        print(flush=True)


@contextlib.contextmanager
def server(args, connection, keys):
    """It, and who renews the tickets, or None."""
    if args.ksmbd:
        with Ksmbd(*keys, root=args.ksmbd) as ksmbd:
            yield ksmbd.start(), None
        return
    if connection.startswith("krb5"):
        with kerberos_samba(*keys, root=args.newer) as (kdc, samba), \
                Renewer(kdc, user_name(), LIFE[args.full], early=not args.full) as renewer:
            yield samba, renewer
        return
    with Samba(*keys, root=args.newer) as samba:
        yield samba.start(), None


def all_of_it(args, costs, samba, place, local, options):
    size = {name: sizes[args.full] for name, sizes in SIZES.items()}
    for name in args.only:
        os.makedirs(f"{place}/{name}")
        os.makedirs(f"{local}/{name}")
        went = costs.of(name, [place], lambda: getattr(workloads, name)(f"{place}/{name}", f"{local}/{name}", size[name]))
        if name == "sqlite":
            with mounted(samba, *OPTIONS, *options) as other:
                costs.of("sqlite, two mounts", [place, other],
                         lambda: workloads.sqlite_two_mounts(f"{place}/{name}", f"{other}/{name}", size[name]))
            with mounted(samba, *OPTIONS, *options, "nobrl") as other:
                costs.of("sqlite, wal, nobrl", [other], lambda: workloads.sqlite_wal(f"{other}/{name}", size[name]))
        if name == "fio" and went:
            with mounted(samba, *OPTIONS, *options) as other:
                costs.of("fio, fresh mount", [other], lambda: workloads.fio_verify(f"{other}/{name}", size[name]))


def tickets_ended(place, renewer, seconds):
    """What ends each `life` seconds was renewed as often, and nobody noticed."""
    equal("there is always a ticket", renewer.failed, None)
    renewals, least = stats(place)["connection"]["reauthentications"], int((seconds - 2) / renewer.life)
    check(f"{seconds:.0f} seconds with tickets of {renewer.life}: {renewals} renewals of the session", renewals >= least, (least, renewer.tickets))


def work(args, connection):
    options, keys, says = CONNECTIONS[connection]
    costs = Costs()
    with server(args, connection, keys) as (samba, renewer), tempfile.TemporaryDirectory(prefix="larder-local-") as local:
        with mounted(samba, *OPTIONS, *options) as place:
            began = time.monotonic()
            for name, value in says.items():
                equal(f"the connection's {name}", stats(place)["connection"][name], value)
            all_of_it(args, costs, samba, place, local, options)
            if renewer:
                tickets_ended(place, renewer, time.monotonic() - began)
            equal("the mount has nothing to complain of", stats(place)["faults"], [])
    costs.show(f"{connection}{', full' if args.full else ''}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("larder")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", type=lambda s: s.split(","), default=list(SIZES))
    parser.add_argument("--as", dest="connections", type=lambda s: s.split(","), default=["plain"])
    parser.add_argument("--newer", metavar="DIR")
    parser.add_argument("--ksmbd", metavar="DIR")
    args = parser.parse_args()
    if args.newer or args.ksmbd:
        version = made("newer-samba.sh", args.newer) if args.newer else made("ksmbd-root.sh", args.ksmbd)
        if not version:
            sys.exit(77)
        print(version, flush=True)
    for connection in args.connections:
        print(f"== {connection}", flush=True)
        work(args, connection)


main()
finish()
