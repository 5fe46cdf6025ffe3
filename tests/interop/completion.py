#!/usr/bin/python3
"""What the keys of a shell find: `larder complete` itself, then bash, zsh and fish with their scripts, at a terminal of
their own. It finds shares and paths on a server where a credential is at hand, and otherwise nothing: in time, without a
prompt and without a word of error."""
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time

from bed import HERE, LARDER, PASSWORD, Samba, check, equal, finish, larder, mounted, user_name, wait_until

SCRIPTS = os.path.join(HERE, "..", "..", "completion")


def words(*line, password=None, **more):
    """The words that may stand in place of the last one."""
    run = larder("complete", "--", "larder", *line, password=password, timeout=20, **more)
    if run.returncode != 0 or run.stderr:
        check(f"complete {line} says nothing else", False, (run.returncode, run.stderr))
    return [text.split("\t")[0] for text in run.stdout.splitlines()]


def flags_of_help(text):
    """What stands in front of the descriptions, behind the example that a help leads with."""
    flags = set()
    for line in text.partition("\n\n")[2].split("\n"):
        while option := re.match(r" {0,4}(--?[a-zA-Z][\w-]*)(?: [^- \n]\S*)?,? ?", line):
            flags.add(option[1])
            line = line[option.end():]
    return flags


def without_server():
    shown = larder("--help").stdout
    names = [w for w in words("") if not w.startswith("-")]
    check("every subcommand, and only they, in the order of the help", len(names) > 20 and all(f" {n} " in shown for n in names), names)
    equal("by its beginning", words("ex"), ["explain"])
    for name in names:
        told = flags_of_help(larder(name, "--help").stdout)
        equal(f"the options of {name}", set(words(name, "--")) | set(words(name, "-")), told | {"--help"})
    equal("a setting, in any case", words("ls", "-o", "seal,directorycachel"), ["seal,DirectoryCacheLifetime="])
    equal("its value", words("ls", "-o", "FileInfoCache="), ["FileInfoCache=true", "FileInfoCache=false"])
    equal("in one word with -o", words("ls", "-oprof"), ["-oprofile="])
    equal("a profile", words("ls", "-o", "profile=2"), ["profile=23h2", "profile=25h2"])
    equal("a setting in a profile", words("compare", "--profile", "23h2:Leases=true,Watche"), ["23h2:Leases=true,Watches="])
    equal("a value in a profile", words("analyze", "--what-if=off:BlockNTLM=t"), ["--what-if=off:BlockNTLM=true"])
    check("a setting for its own sake", "CacheMaxAge" in words("analyze", "--sweep", ""))
    equal("profiles of settings", words("settings", ""), ["23h2", "25h2", "larder", "off"])
    equal("nothing behind what is no subcommand", words("nonsense", ""), [])
    equal("no options behind `--`", words("compare", "//h/s", "--", "--prof"), [])
    # whatever is offered is taken: it fails for want of a server, and not of sense
    for item in [w for w in words("ls", "-o", "") if w.endswith("=")]:
        for value in words("ls", "-o", item):
            if not os.path.exists(value.partition("=")[2].rstrip("/")):
                run = larder("ls", "-o", f"user=nobody,{value}", "//127.0.0.1:1/share", password="x")
                check(f"{value} is taken", run.returncode in (0, 1) or "above" in run.stderr, run.stderr)
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(f"{work}/Photos of 2031")
        for name in ("photo.pcap", ".hidden"):
            open(f"{work}/{name}", "w").close()
        equal("files", sorted(words("analyze", f"{work}/")), [f"{work}/Photos of 2031/", f"{work}/photo.pcap"])
        equal("files as typed", words("analyze", f"{work}/ph"), [f"{work}/photo.pcap"])
        equal("hidden ones when asked for", words("analyze", f"{work}/."), [f"{work}/.hidden"])
        equal("directories alone to mount on", words("mount", "//h/s", f"{work}/"), [f"{work}/Photos of 2031/"])
        equal("a file in a list of options", words("mount", "-o", f"seal,credentials={work}/photo"), [f"seal,credentials={work}/photo.pcap"])
        run = subprocess.run([LARDER, "complete", "--", "larder", "analyze", "~/ph"], env={**os.environ, "HOME": work}, stdout=subprocess.PIPE, text=True)
        equal("one at home", run.stdout, "~/photo.pcap\n")


def on_a_server(samba):
    os.makedirs(f"{samba.share}/Reports/2031 plans")
    for name in ("Reports/summary.txt", "readme.txt", "what[1].txt", "evil\u009b2J.txt", ".profile"):
        open(f"{samba.share}/{name}", "w").close()
    target, user = samba.target, f"user={user_name()}"
    login = ["-o", user]
    server = target.rsplit("/", 1)[0]

    def asked(*line):
        return sorted(words(*line, password=PASSWORD))

    # a Samba begins to serve that pipe when it is first asked for, which takes longer than anybody waits at a key
    wait_until(lambda: asked("ls", *login, f"{server}/"), 60)
    equal("a share", asked("ls", *login, f"{server}/sha"), [f"{server}/share/"])
    equal("what is on it", asked("ls", *login, f"{target}/"), [f"{target}/{n}" for n in ("Reports/", "readme.txt", "what\\[1].txt")])
    equal("hidden names when asked for", asked("cat", *login, f"{target}/.p"), [f"{target}/.profile"])
    equal("below it", asked("get", *login, f"{target}/Reports/"), [f"{target}/Reports/2031 plans/", f"{target}/Reports/summary.txt"])
    equal("in another case", asked("ls", *login, f"{target}/rep"), [f"{target}/Reports/"])
    equal("a path on the share", asked("stat", *login, target, "Reports/s"), ["Reports/summary.txt"])
    equal("with the password in the line", words("ls", "-o", f"{user},password={PASSWORD},uid=0", f"{target}/read"), [f"{target}/readme.txt"])
    with tempfile.NamedTemporaryFile("w") as cred, tempfile.TemporaryDirectory() as work:
        cred.write(f"username={user_name()}\npassword={PASSWORD}\n")
        cred.flush()
        equal("with a file of credentials", words("ls", "-o", f"credentials={cred.name}", f"{target}/read"), [f"{target}/readme.txt"])
        words("ls", "-o", f"credentials={cred.name},events={work}/e,keylog={work}/k", "--keylog", f"{work}/k", f"{target}/read")
        equal("no file is written", os.listdir(work), [])
    with mounted(samba) as place:
        equal("a mount", words("stats", place[:-2]), [place])
        check("its share is known", target in words("ls", "//127"))
    return server, target


def without_credential(target):
    """No prompt though there is a terminal, and no waiting for a server that says nothing."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("LARDER_PASSWORD", None)
        os.execv(LARDER, [LARDER, "complete", "--", "larder", "ls", "-o", "user=somebody", f"{target}/r"])
    said = b""
    try:
        while piece := os.read(terminal, 1000):
            said += piece
    except OSError:
        pass  # the terminal's end
    equal("nobody is prompted", (os.waitpid(child, 0)[1], said), (0, b""))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        equal("of a server that says nothing", words("ls", "-o", "user=x", f"//127.0.0.1:{silent.getsockname()[1]}/share/", password="x"), [])
        took = time.monotonic() - began
        check("nothing, in two seconds", 1.5 < took < 4, took)
    equal("nor of a wrong password", words("ls", f"{target}/", "-o", "user=x", f"{target}/", password="wrong"), [])


class Shell:
    """A shell at a terminal of its own; control-T shows the line that is being typed, as <LINE>."""

    def __init__(self, argv, setup, env):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.environ.update(env, TERM="dumb", PS1="$ ")
            os.execvp(argv[0], argv)
        self.pid = pid
        for line in setup:
            os.write(self.terminal, line.encode() + b"\n")
        os.write(self.terminal, b"echo re''ady\n")
        self.until(rb"ready\r")

    def until(self, pattern):
        said, end = b"", time.monotonic() + 30
        while not re.search(pattern, said):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                return said
            said += os.read(self.terminal, 4096)
        return said

    def line(self, typed):
        os.write(self.terminal, b"\x15" + typed.encode() + b"\t\x14")
        said = self.until(rb"<<[^\r]*>>")
        found = re.search(rb"<<([^\r]*)>>", said)
        return found[1].decode() if found else said

    def end(self):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def in_shells(target):
    bare = target + "/"
    env = {"PATH": f"{os.path.dirname(LARDER)}:{os.environ['PATH']}", "LARDER_PASSWORD": PASSWORD}
    login = f"-o user={user_name()}"
    cases = [
        ("a subcommand", "larder expl", "larder explain "),
        ("a setting", "larder ls -o DirectoryCacheL", "larder ls -o DirectoryCacheLifetime="),
        ("its value, behind a =", "larder ls -o profile=lar", "larder ls -o profile=larder "),
        ("a profile's setting, behind a :", "larder compare --profile off:CacheMax", "larder compare --profile off:CacheMaxAge="),
        ("a path", f"larder ls {login} {bare}rea", f"larder ls {login} {bare}readme.txt "),
        ("a directory", f"larder ls {login} {bare}Rep", f"larder ls {login} {bare}Reports/"),
        ("a name with a space", f"larder ls {login} {bare}Reports/20", f"larder ls {login} {bare}Reports/2031\\ plans/"),
    ]
    shells = {
        "bash": (["bash", "--norc", "--noprofile", "-i"],
                 [f"source {SCRIPTS}/larder.bash", """bind -x '"\\C-t": printf "<<%s>>\\n" "$READLINE_LINE"'""", "bind 'set enable-bracketed-paste off'"]),
        "zsh": (["zsh", "-f", "-i"],
                [f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste 2>/dev/null",
                 "show() { print -r -- \"<<$BUFFER>>\" }; zle -N show; bindkey '^T' show; bindkey '^U' kill-whole-line"]),
    }
    for shell, (argv, setup) in shells.items():
        if not shutil.which(shell):
            print(f"skipped: {shell} is not installed")
            continue
        s = Shell(argv, setup, env)
        for what, typed, wanted in cases:
            equal(f"{shell}: {what}", s.line(typed), wanted)
        if shell == "bash":
            equal("bash: within quotes", s.line(f'larder ls {login} "{bare}Reports/20'), f'larder ls {login} "{bare}Reports/2031 plans/"')
        s.end()
    if not shutil.which("fish"):
        print("skipped: fish is not installed")
        return
    for what, typed, wanted in cases:
        run = subprocess.run(["fish", "--no-config", "-c", f"source {SCRIPTS}/larder.fish; complete -C (printf %s $argv)", typed],
                             env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        last = wanted.split(" ", 4)[-1].strip().replace("\\ ", " ") if bare in typed else wanted.strip().split(" ")[-1]
        check(f"fish: {what}", run.stdout.split("\t")[0].strip() in (last, last.replace(" ", "\\ ")), (run.stdout, run.stderr))


with Samba() as bed:
    without_server()
    bed.start()
    _, share = on_a_server(bed)
    without_credential(share)
    in_shells(share)

finish()
