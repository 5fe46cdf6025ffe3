#!/usr/bin/env python3
"""Every signing algorithm of SMB 3.1.1 with a server that has no other: data goes through a mount both ways."""
import os

from bed import Samba, equal, finish, mounted, stats

for server, name in (("AES-128-GMAC", "AES-GMAC"), ("AES-128-CMAC", "AES-CMAC"), ("HMAC-SHA256", "HMAC-SHA256")):
    with Samba("signing=mandatory", f"server smb3 signing algorithms={server}") as samba:
        samba.start()
        with mounted(samba, "sign") as place:
            equal(f"{name} is agreed on", stats(place)["connection"]["signing"], name)
            data = os.urandom((3 << 20) + 17)
            with open(os.path.join(place, "file"), "wb") as f:
                f.write(data)
            equal("3 MiB that were written are on the server", open(os.path.join(samba.share, "file"), "rb").read() == data, True)
            with open(os.path.join(samba.share, "other"), "wb") as f:
                f.write(data[::-1])
            equal("3 MiB that are read are the server's", open(os.path.join(place, "other"), "rb").read() == data[::-1], True)
finish()
