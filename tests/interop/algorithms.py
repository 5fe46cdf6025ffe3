#!/usr/bin/env python3
"""Every signing algorithm of SMB 3.1.1, with a server that has no other and with a client that allows no other: data goes
through a mount both ways; and the line where they have none in common."""

from bed import Samba, check, data_goes_both_ways, equal, finish, mounted, stats, tool

ALGORITHMS = (("AES-128-GMAC", "AES-GMAC", "AES_GMAC"), ("AES-128-CMAC", "AES-CMAC", "AES_CMAC"),
              ("HMAC-SHA256", "HMAC-SHA256", "HMAC_SHA256"))


def signs(samba, name, *options):
    with mounted(samba, "sign", *options) as place:
        equal(f"{name} is agreed on", stats(place)["connection"]["signing"], name)
        data_goes_both_ways(samba, place)


with Samba("signing=mandatory") as samba:
    samba.start()
    for _, name, setting in ALGORITHMS:
        signs(samba, name, f"SigningAlgorithms={setting}")
for server, name, _ in ALGORITHMS:
    with Samba("signing=mandatory", f"server smb3 signing algorithms={server}") as samba:
        samba.start()
        signs(samba, name)
        other = "HMAC_SHA256" if server != "HMAC-SHA256" else "AES_GMAC"
        run = tool("ls", samba, options=("sign", f"SigningAlgorithms={other}"))
        check(f"none in common with {name}: a line says which setting decides", run.returncode == 1 and run.stderr.count("\n") == 1
              and "SigningAlgorithms" in run.stderr and "127.0.0.1" in run.stderr, run.stderr)
with Samba("signing=mandatory") as samba:
    samba.start()
    run = tool("ls", samba, options=("vers=3.0", "SigningAlgorithms=AES_GMAC"))
    check("an older dialect's only algorithm is not allowed", "SigningAlgorithms" in run.stderr and "AES-CMAC" in run.stderr, run.stderr)
finish()
