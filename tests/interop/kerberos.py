#!/usr/bin/python3
"""Logging on: by a ticket from the cache, a keytab or a password, by NTLM, not at all; and what is said where it fails."""
import os
import subprocess

from bed import PASSWORD, Samba, check, equal, finish, larder, mounted, stats, user_name
from kdc import HOST, REALM, kerberos_samba, program

user = user_name()
IP = "ip=127.0.0.1"


def ls(target, *options, password=None):
    flags = [f"-o{o}" for o in (IP, *options)]
    return larder("ls", *flags, target, password=password)


def lists(what, target, *options, password=None):
    run = ls(target, *options, password=password)
    equal(what, (run.returncode, run.stdout, run.stderr), (0, "here.txt\n", ""))


def refuses(what, target, *options, says, password=None):
    run = ls(target, *options, password=password)
    check(f"{what}: one line and nothing listed", run.returncode == 1 and not run.stdout and run.stderr.count("\n") == 1,
          (run.returncode, run.stdout, run.stderr))
    for text in (says,) if isinstance(says, str) else says:
        check(f"{what}: {text}", text in run.stderr, run.stderr)
    check(f"{what}: without the password", PASSWORD not in run.stderr)


def ways_in(kdc, samba, keytab):
    target = samba.target
    lists("a ticket and no password: Kerberos", target)
    lists("sec=krb5", target, "sec=krb5")
    lists("sec=krb5 for a user by name", target, "sec=krb5", f"user={user}")
    lists("sec=krb5i signs", target, "sec=krb5i", "RequireSecuritySignature=false")
    for dialect in ("2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"):
        lists(f"sec=krb5i, {dialect}", target, "sec=krb5i", f"vers={dialect}")
    for cipher in ("AES_128_CCM", "AES_128_GCM", "AES_256_CCM", "AES_256_GCM"):  # the last two by all 32 bytes of the key
        lists(f"sec=krb5, seal, {cipher}", target, "sec=krb5", "seal", f"EncryptionCiphers={cipher}")
    for options, logon, name in ((("sec=krb5",), "Kerberos", f"{user}@{REALM}"), (("sec=ntlmssp",), "NTLM", user),
                                 (("sec=ntlmsspi",), "NTLM", user), ((), "NTLM", user)):
        with mounted(samba, IP, *options) as place:
            with open(f"{place}/by", "w") as f:
                f.write(logon)
            equal(f"{options}: what is written is there", open(f"{samba.share}/by").read(), logon)
            connection = stats(place)["connection"]
            equal(f"{options}: what the mount says", (connection["logon"], connection["user"]), (logon, name))
        os.unlink(f"{samba.share}/by")
    kdc.destroy()
    lists("a keytab", target, f"keytab={keytab}", f"user={user}")
    lists("a keytab, realm and all", target, f"keytab={keytab}", f"user={user}@{REALM}")
    lists("sec=krb5 and a password", target, "sec=krb5", f"user={user}", password=PASSWORD)
    lists("BlockNTLM and a password", target, "BlockNTLM=true", f"user={user}", f"domain={REALM.lower()}", password=PASSWORD)
    lists("the name of a host by its address", target.replace(HOST, HOST.upper()), "sec=krb5", f"user={user}", password=PASSWORD)


def anonymous(samba):
    for dialect in ("2.0.2", "2.1", "3.0", "3.1.1"):
        lists(f"sec=none, {dialect}", samba.target, "sec=none", f"vers={dialect}")
    with mounted(samba, IP, "sec=none") as place:
        connection = stats(place)["connection"]
        equal("what an anonymous mount says", (connection["logon"], connection["signing"]), ("anonymous", "none"))
        equal("and it reads", open(f"{place}/here.txt").read(), "here")
    run = ls(samba.target, "sec=none", "sign")
    check("sec=none and sign: no", run.returncode == 1 and "no key to sign with" in run.stderr, run.stderr)


def other_users_cache(kdc, samba):
    """Root mounts for a user whose cache only that user may read."""
    import pwd
    entry = pwd.getpwnam(user)
    os.chmod(kdc.dir, 0o711)
    config = kdc.write("cruid.conf", kdc.configuration(more=f" default_ccache_name = FILE:{kdc.dir}/cc_%{{uid}}\n"))
    cache = f"{kdc.dir}/cc_{entry.pw_uid}"
    kdc.kinit(user, cache=cache)
    os.chown(cache, entry.pw_uid, entry.pw_gid)
    os.environ["KRB5_CONFIG"] = config
    os.environ.pop("KRB5CCNAME")
    refuses("without cruid=: root has no ticket", samba.target, "sec=krb5", says=(f"cc_{os.getuid()}", "run kinit"))
    lists("cruid=", samba.target, "sec=krb5", f"cruid={user}")
    lists("cruid= alone finds the ticket", samba.target, f"cruid={entry.pw_uid}")
    equal("the cache is still the user's", os.stat(cache).st_uid, entry.pw_uid)
    refuses("cruid= of nobody", samba.target, "sec=krb5", "cruid=65533", says="run kinit")
    os.environ.update(kdc.env)


def what_is_missing(kdc, samba, plain, keytab):
    target = samba.target
    kdc.destroy()
    refuses("no ticket", target, "sec=krb5", says=(HOST, "run kinit", "keytab=FILE", "sec=ntlmssp"))
    refuses("BlockNTLM without a ticket", target, "BlockNTLM=true", says=(HOST, "run kinit"))
    refuses("BlockNTLM and sec=ntlmssp", target, "BlockNTLM=true", "sec=ntlmssp", f"user={user}", password=PASSWORD,
            says=(HOST, "BlockNTLM=true"))
    refuses("a wrong password", target, "sec=krb5", f"user={user}", password="wrong", says=(HOST, "wrong password"))
    refuses("an unknown user", target, "sec=krb5", "user=stranger", password="wrong", says=("stranger", "see user="))
    refuses("a keytab without that user", target, f"keytab={keytab}", "user=other", says=(keytab, "klist -k"))
    refuses("a keytab that is not there", target, f"keytab={keytab}.not", f"user={user}", says=f"{keytab}.not")
    refuses("another realm", target, "sec=krb5", f"user={user}@ELSEWHERE.TEST", password="x", says=("ELSEWHERE.TEST", "/etc/krb5.conf"))

    kdc.kinit(user)
    refuses("a user who has no ticket", target, "sec=krb5", "user=other", says=("other", "run kinit"))
    refuses("a server by its address", target.replace(HOST, "127.0.0.1"), "sec=krb5", says=("cifs/127.0.0.1", "ip=ADDRESS"))
    plain_target = f"//{HOST}:{plain.port}/share"
    refuses("a server without Kerberos", plain_target, "sec=krb5", says=(HOST, "sec=ntlmssp"))
    refuses("BlockNTLM and a server without Kerberos", plain_target, "BlockNTLM=true", says=(HOST, "BlockNTLM=true"))

    kdc.admin("modprinc -maxlife 1s other")
    kdc.kinit("other", "1s")
    subprocess.run(["sleep", "2.1"], check=True)
    refuses("an expired ticket", target, "sec=krb5", says=(HOST, "expired", "run kinit"))
    kdc.admin("modprinc -pwexpire yesterday other")
    refuses("an expired password", target, "sec=krb5", "user=other", password=PASSWORD, says=("expired", "kpasswd"))
    kdc.admin("modprinc -pwexpire never -allow_tix other")
    refuses("a locked account", target, "sec=krb5", "user=other", password=PASSWORD, says="locked or disabled")


def a_clock_that_differs(kdc, samba, keytab):
    """A second KDC over the same database, an hour ahead."""
    ahead = kdc.another("faketime", "-f", "+1h")
    config = kdc.write("ahead.conf", kdc.configuration(port=ahead, more=" kdc_timesync = 0\n"))
    os.environ["KRB5_CONFIG"] = config
    refuses("clock skew", samba.target, f"keytab={keytab}", f"user={user}", says=(HOST, "clocks"))
    os.environ.update(kdc.env)


def what_samba_says(plain):
    def account(*arguments):
        subprocess.run([program("pdbedit"), "-s", f"{plain.dir}/smb.conf", "-u", user, *arguments], stdout=subprocess.DEVNULL, check=True)

    target = f"//{HOST}:{plain.port}/share"
    for control, says in (("[D]", "disabled"), ("[L]", "locked")):
        account("-c", control)
        refuses(f"an account that is {says}", target, f"user={user}", password=PASSWORD, says=(HOST, user, says))
    account("-c", "[]")
    subprocess.run([program("net"), "-s", f"{plain.dir}/smb.conf", "sam", "set", "pwdmustchangenow", user, "yes"],
                   stdout=subprocess.DEVNULL, check=True)
    refuses("a password that must be changed", target, f"user={user}", password=PASSWORD, says="must be changed")
    refuses("a wrong password", target, f"user={user}", password="wrong", says="wrong user or password")


with kerberos_samba("share:guest ok=yes") as (the_kdc, the_samba), Samba() as plain_samba:
    plain_samba.start()
    with open(f"{the_samba.share}/here.txt", "w") as f:
        f.write("here")
    keys = f"{the_kdc.dir}/user.keytab"
    the_kdc.admin(f"ktadd -norandkey -k {keys} {user}")
    ways_in(the_kdc, the_samba, keys)
    anonymous(the_samba)
    if os.getuid() == 0:
        other_users_cache(the_kdc, the_samba)
    what_is_missing(the_kdc, the_samba, plain_samba, keys)
    a_clock_that_differs(the_kdc, the_samba, keys)
    what_samba_says(plain_samba)
finish()
