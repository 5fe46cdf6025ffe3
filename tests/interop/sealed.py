#!/usr/bin/env python3
"""Encryption: each cipher of each dialect, whoever demands it, and the line that says why it cannot be.

    sealed.py LARDER
"""
import os

from bed import Samba, check, data_goes_both_ways, equal, finish, larder, mounted, stats, tool, whole_stacks

CIPHERS = ("AES-128-GCM", "AES-128-CCM", "AES-256-GCM", "AES-256-CCM")


def encrypts(samba, name, *options, dialect="3.1.1"):
    """A mount says so, and carries data."""
    with mounted(samba, *options) as place:
        connection = stats(place)["connection"]
        equal(f"{name} is agreed on", (connection["encryption"], connection["dialect"]), (name, dialect))
        equal("what is encrypted is not signed", connection["signing"], "none")
        data_goes_both_ways(samba, place)
        equal("a listing of many replies is whole", len(os.listdir(os.path.join(place, "many"))), 1500)
        line = [l for l in larder("stats", place).stdout.splitlines() if l.startswith("dialect")][0]
        equal("stats says so", line.split(None, 1)[1], f"SMB {dialect}, encryption {name}")


def many_files(samba):
    os.mkdir(os.path.join(samba.share, "many"))
    for i in range(1500):
        open(os.path.join(samba.share, "many", f"file with a long name {i:05}"), "w").close()


def refused(what, samba, options, *words):
    run = tool("ls", samba, options=options)
    check(f"{what}: one line, exit 1", run.returncode == 1 and run.stderr.count("\n") == 1, (run.returncode, run.stderr))
    for word in words:
        check(f"{what}: the line says {word}", word in run.stderr, run.stderr)


def each_side_chooses():
    with Samba() as samba:
        samba.start()
        many_files(samba)
        encrypts(samba, "AES-128-GCM", "seal")
        for name in CIPHERS:
            encrypts(samba, name, "RequireEncryption", "EncryptionCiphers=" + name.replace("-", "_"))
        for dialect in ("3.0", "3.0.2"):
            encrypts(samba, "AES-128-CCM", "seal", f"vers={dialect}", dialect=dialect)
        with mounted(samba) as place:
            equal("nobody asks, nothing is encrypted", stats(place)["connection"]["encryption"], "none")
        refused("2.1 with seal", samba, ("vers=2.1", "seal"), "RequireEncryption", "Smb2DialectMax")
        refused("a guest with seal", samba, ("guest", "seal"), "guest", "RequireEncryption")
        refused("3.0 without its only cipher", samba, ("vers=3.0", "seal", "EncryptionCiphers=AES_256_GCM"), "RequireEncryption",
                "EncryptionCiphers", "AES-128-CCM")
        run = tool("ls", samba, options=("EncryptionCiphers=AES_512_GCM",))
        check("an unknown cipher is wrong usage, and told which there are", run.returncode == 2 and "AES_256_GCM" in run.stderr, run.stderr)
    for name in CIPHERS:
        with Samba(f"server smb3 encryption algorithms={name}") as samba:
            samba.start()
            with mounted(samba, "seal") as place:
                equal(f"{name} is all that the server has", stats(place)["connection"]["encryption"], name)
                with open(os.path.join(place, "file"), "w") as f:
                    f.write("in it\n")
                equal("what was written is there", open(os.path.join(samba.share, "file")).read(), "in it\n")
            other = "AES_128_GCM" if name != "AES-128-GCM" else "AES_256_CCM"
            refused(f"no cipher in common with {name}", samba, ("seal", f"EncryptionCiphers={other}"), "RequireEncryption",
                    "EncryptionCiphers", "127.0.0.1")


def the_server_insists():
    with Samba("server smb encrypt=required") as samba:
        samba.start()
        many_files(samba)
        encrypts(samba, "AES-128-GCM")
        encrypts(samba, "AES-128-CCM", "vers=3.0", dialect="3.0")
        refused("2.1 with a server that insists", samba, ("vers=2.1",), "encryption")
    with Samba("share:server smb encrypt=required") as samba:
        samba.start()
        many_files(samba)
        encrypts(samba, "AES-128-GCM")
        encrypts(samba, "AES-128-CCM", "vers=3.0.2", dialect="3.0.2")
        refused("2.1 with a share that insists", samba, ("vers=2.1",), "encryption")
    with Samba("protocol_max=SMB2_10") as samba:
        samba.start()
        refused("a server without encryption", samba, ("seal",), "127.0.0.1", "RequireEncryption", "Smb2DialectM")


whole_stacks()
each_side_chooses()
the_server_insists()
finish()
