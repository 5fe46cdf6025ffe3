"""A private KDC (MIT) for tests: its own realm, configuration, database and port, nothing shared with the machine's."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from bed import HERE, PASSWORD, Samba, user_name, wait_until

REALM = "LARDER.TEST"
HOST = "srv.larder.test"


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_port():
    """As those of the servers: what the system gives out may be a client's before the KDC has it."""
    return int(subprocess.run(["bash", "-c", '. "$0"; free_port', os.path.join(HERE, "private.sh")],
                              stdout=subprocess.PIPE, text=True, check=True).stdout)


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Kdc:
    """`keytab` holds the server's key; `env` leads programs to this realm and to the ticket cache `cache`."""

    def __init__(self, password, users, max_life="10h"):
        self.password, self.users, self.max_life = password, users, max_life

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="larder-kdc-")
        self.port, self.processes = free_port(), []
        self.keytab, self.cache = f"{self.dir}/smb.keytab", f"FILE:{self.dir}/cc"
        self.env = {"KRB5_CONFIG": f"{self.dir}/krb5.conf", "KRB5CCNAME": self.cache}
        self.write("krb5.conf", self.configuration())
        self.write("kdc.conf", f"""[kdcdefaults]
 kdc_listen = 127.0.0.1:{self.port}
 kdc_tcp_listen = 127.0.0.1:{self.port}
[realms]
 {REALM} = {{
  database_name = {self.dir}/principal
  key_stash_file = {self.dir}/stash
  supported_enctypes = aes256-cts:normal aes128-cts:normal
  max_life = {self.max_life}
  max_renewable_life = 1d
  disable_pac = true
 }}
""")
        self.run("kdb5_util", "-r", REALM, "create", "-s", "-P", "master")
        self.admin(*[f"addprinc -pw {self.password} {user}" for user in self.users],
                   f"addprinc -randkey cifs/{HOST}", f"ktadd -k {self.keytab} cifs/{HOST}")
        self.log = open(f"{self.dir}/kdc.log", "w")
        self.start()
        return self

    def configuration(self, port=None, more=""):
        return f"""[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 clockskew = 1
{more}[realms]
 {REALM} = {{
  kdc = 127.0.0.1:{port or self.port}
 }}
[domain_realm]
 .larder.test = {REALM}
"""

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)
        return f"{self.dir}/{name}"

    def run(self, name, *args, text=None, check=True, env=None):
        env = dict(os.environ, **self.env, KRB5_KDC_PROFILE=f"{self.dir}/kdc.conf", **(env or {}))
        return subprocess.run([program(name), *args], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=check, env=env, timeout=60)

    def admin(self, *commands):
        out = self.run("kadmin.local", "-r", REALM, text="".join(c + "\n" for c in commands)).stdout
        assert "rror" not in out and "nable" not in out, out

    def serve(self, port, profile, *before):
        env = dict(os.environ, **self.env, KRB5_KDC_PROFILE=profile)
        # in a session of its own: what is run before it may not hand signals on
        self.processes.append(subprocess.Popen([*before, program("krb5kdc"), "-n", "-r", REALM], stdin=subprocess.DEVNULL,
                                               stdout=self.log, stderr=self.log, env=env, start_new_session=True))
        assert wait_until(lambda: answers(port)), "no KDC"

    def start(self):
        self.serve(self.port, f"{self.dir}/kdc.conf")

    def another(self, *before):
        """A second one over the same database, run by the command `before`; its port."""
        port = free_port()
        with open(f"{self.dir}/kdc.conf") as f:
            profile = self.write("another.conf", f.read().replace(f":{self.port}", f":{port}"))
        self.serve(port, profile, *before)
        return port

    def stop(self):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(10)
        self.processes = []

    def kinit(self, user, life="1h", cache=None, check=True):
        """A first ticket of that length."""
        return self.run("kinit", "-l", life, "-c", cache or self.cache, user, text=self.password + "\n", check=check)

    def destroy(self):
        self.run("kdestroy", "-q", check=False)

    def __exit__(self, *_):
        self.stop()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def samba_keys(self):
        """What smbd.sh needs, besides KRB5_CONFIG, to take this realm's tickets."""
        return (f"realm={REALM}", "kerberos method=dedicated keytab", f"dedicated keytab file=FILE:{self.keytab}")


class Renewer(threading.Thread):
    """Keeps a ticket in the cache that ends every `life` seconds, as k5start does: a new cache takes the old one's place.
    In turn it does so at half of the time and, unless `early`, half a second before the end. `tickets` is how many there were."""

    def __init__(self, kdc, user, life, early=False):
        super().__init__(daemon=True)
        self.kdc, self.user, self.life, self.early = kdc, user, life, early
        self.tickets, self.failed, self.over = 0, None, threading.Event()
        self.end = self.ticket(kdc.cache)

    def ticket(self, cache):
        """Its end, at the earliest: a KDC counts in whole seconds."""
        end = int(time.time()) + self.life
        self.kdc.kinit(self.user, f"{self.life}s", cache=cache)
        self.tickets += 1
        return end

    def rest_until(self, when):
        return self.over.wait(max(0, when - time.time()))

    def renew(self, late):
        fresh = f"{self.kdc.dir}/cc-fresh"
        if self.rest_until(self.end - (5 if late else self.life / 2)):
            return
        end = self.ticket(f"FILE:{fresh}")
        if not late or not self.rest_until(self.end - .5):
            os.rename(fresh, self.kdc.cache.removeprefix("FILE:"))
            self.end = end

    def run(self):
        try:
            while not self.over.is_set():
                self.renew(late=not self.early and self.tickets % 2 == 0)
        except Exception as e:  # whoever has the thread shows it
            self.failed = e

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


@contextlib.contextmanager
def kerberos_samba(*keys, users=("other",), root=None):
    """A KDC and a Samba that takes its tickets; this process and its children go by that KDC. A ticket for user_name() is there."""
    user = user_name()
    before = {name: os.environ.get(name) for name in ("KRB5_CONFIG", "KRB5CCNAME")}
    with Kdc(PASSWORD, [user, *users]) as kdc, Samba(*kdc.samba_keys(), *keys, root=root) as samba:
        os.environ.update(kdc.env)
        samba.env.update(kdc.env)
        try:
            samba.start()
            samba.target = f"//{HOST}:{samba.port}/share"
            kdc.kinit(user)
            yield kdc, samba
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name)
                else:
                    os.environ[name] = value
