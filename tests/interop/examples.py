#!/usr/bin/python3
"""What another program gets: the installed header, library and pkg-config file, and examples/ built and run on them.

    examples.py LARDER BUILD

The tree is installed into a directory of its own, and pkg-config is told where it is, so that nothing of the build directory or
of a larder on this machine is what was tested."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

from bed import PASSWORD, Samba, check, equal, finish, larder, user_name, wait_until

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
EXAMPLES = os.path.join(TOP, "examples")
BUILD = sys.argv[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, **more).stdout


def find(root, name, under=""):
    for directory, _, files in os.walk(root):
        if name in files and directory.endswith(under):
            return os.path.join(directory, name)
    raise FileNotFoundError(name)


def install(root):
    """Into root; sets the environment for what is built and run on it."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], env=dict(os.environ, DESTDIR=root), check=True)
    os.environ["PKG_CONFIG_SYSROOT_DIR"] = root
    os.environ["PKG_CONFIG_LIBDIR"] = os.path.dirname(find(root, "larder.pc"))
    os.environ["LD_LIBRARY_PATH"] = os.path.dirname(find(root, "liblarder.so"))
    os.environ["PATH"] = os.path.dirname(find(root, "larder", "bin")) + ":" + os.environ["PATH"]


def declared():
    """The functions of the public header."""
    text = re.sub(r"/\*.*?\*/", "", open(os.path.join(TOP, "include/larder/larder.h")).read(), flags=re.S)
    return set(re.findall(r"\b(larder_\w+)\(", text))


def the_library_is_what_its_header_says(root):
    library = find(root, "liblarder.so")
    exported = dict(line.split()[-1].split("@@") for line in output("nm", "-D", "--defined-only", library).splitlines()
                    if line.split()[1] == "T")
    equal("what is exported is what the header declares", set(exported), declared())
    equal("under one version", set(exported.values()), {"LARDER_0"})
    dynamic = output("objdump", "-p", library)
    equal("the soname", re.search(r"SONAME\s+(\S+)", dynamic)[1], "liblarder.so.0")
    check("without the FUSE library, which it does not need", "libfuse" not in dynamic, dynamic)
    equal("a program links liblarder alone", output("pkg-config", "--libs-only-l", "larder").split(), ["-llarder"])
    equal("pkg-config and the library agree on the version", output("pkg-config", "--modversion", "larder").strip(),
          os.path.basename(os.path.realpath(library)).split(".so.")[1])
    changelog = open(os.path.join(TOP, "packaging/debian/changelog")).readline()
    equal("and so does Debian's changelog", re.search(r"\((.*?)\)", changelog)[1], output("pkg-config", "--modversion", "larder").strip())
    symbols = os.path.join(TOP, "packaging/debian/liblarder0.symbols")
    listed = set(re.findall(r"^ (larder_\w+)@LARDER_0 ", open(symbols).read(), flags=re.M))
    equal("Debian's list of symbols has them all: packaging/debian/liblarder0.symbols", listed, declared())


def the_header_is_one_of_its_own(work):
    flags = output("pkg-config", "--cflags", "larder").split()
    for language, standard in (("c", "c11"), ("c", "gnu17"), ("c++", "c++11")):
        source = os.path.join(work, "alone.c")
        with open(source, "w") as f:
            f.write("#include <larder/larder.h>\n")
        run = subprocess.run(["clang", "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS, *flags, source],
                             stderr=subprocess.PIPE, text=True)
        check(f"the header alone is {standard}", run.returncode == 0, run.stderr)


def build(work, name):
    """As the comment at its top says, with warnings as errors."""
    source, program = f"{EXAMPLES}/{name}.c", f"{work}/{name}"
    command = re.search(r"^ \* +(cc .*)$", open(source).read(), flags=re.M)[1].replace(f"{name}.c", source).replace(f"-o {name}", f"-o {program}")
    run = subprocess.run(["sh", "-c", f"{command} {' '.join(WARNINGS)}"], stderr=subprocess.PIPE, text=True)
    check(f"{name}.c builds as it says", run.returncode == 0 and os.path.exists(program), run.stderr)
    return program


def a_directory_is_listed(program, samba, options):
    run = subprocess.run([program, samba.target + "/dir", options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    equal("list: the names with their sizes", sorted(run.stdout.split("\n")), sorted(["           5 five", "           0 ünder/", ""])
          if run.returncode == 0 else run.stderr)
    run = subprocess.run([program, samba.target + "/nowhere", options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    check("list: an error is one line and exit 1", (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1) and "nowhere" in run.stderr, run)


def events_are_shown(program, samba, options):
    run = subprocess.Popen([program, samba.target, options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(map(json.loads, run.stdout)))  # each line is JSON, or this ends
    reader.start()

    def seen(name, path):
        return [e for e in list(lines) if e.get("name") == name and e.get("path") == path]

    def ask():
        run.stdin.write("dir/five\n")
        run.stdin.flush()

    ask()
    check("events: an answer that the cache keeps", wait_until(lambda: seen("SmbUpdateInfoCache", "dir/five")), lines)
    ask()
    check("events: an answer out of it", wait_until(lambda: any(e["status"] == 0 for e in seen("SmbFetchInfoCache", "dir/five"))), lines)

    def told():
        larder("put", "-o", f"user={user_name()}", f"{EXAMPLES}/list.c", samba.target + "/dir/")
        return wait_until(lambda: seen("SmbChangeNotice", "dir/list.c"), 2)

    check("events: what another client does", wait_until(told, 20), lines)  # again, until the watch stands
    run.stdin.close()
    equal("events: the end of the input ends it", run.wait(timeout=60), 0)
    reader.join()
    check("events: the last line is what was counted", lines[-1].get("round_trips", 0) > 0 and lines[-1]["events_lost"] == 0, lines[-1])


def application(work, name, directories):
    """Imports forty modules, the last directory of its search path has them."""
    top = f"{work}/{name}"
    for d in range(directories):
        os.makedirs(f"{top}/path{d}")
    for m in range(40):
        with open(f"{top}/path{directories - 1}/module{m}.py", "w") as f:
            f.write(f"value = {m}\n")
    with open(f"{top}/tool.py", "w") as f:
        f.write(f"import os, sys\ntop = os.path.dirname(__file__)\nsys.path[:0] = [f'{{top}}/path{{d}}' for d in range({directories})]\n"
                "print(sum(__import__(f'module{m}').value for m in range(40)))\n")
    subprocess.run(["chmod", "-R", "a+rX", top], check=True)
    return top


def the_job_guards_a_start(work):
    job = open(f"{EXAMPLES}/ci/github.yml").read()
    step = re.search(r"run: \./(guard\.sh .*)$", job, flags=re.M)[1]
    for name, directories, code in (("thrifty", 1, 0), ("searching", 16, 3)):
        summary = f"{work}/{name}.md"
        env = dict(os.environ, APPLICATION=application(work, name, directories), GITHUB_STEP_SUMMARY=summary)
        run = subprocess.run(["bash", "-eo", "pipefail", "-c", f"{EXAMPLES}/ci/{step}"], env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        equal(f"guard: the {name} application: exit {code}", run.returncode, code) or print(run.stderr)
        check("guard: the job's summary has the table", "| QUERY_DIRECTORY" in open(summary).read(), run.stdout)
        equal("guard: what was too much is named", [m for m in ("SMB2 messages of 25h2", "CREATE of 25h2") if m in run.stderr],
              ["SMB2 messages of 25h2", "CREATE of 25h2"] if code else [])
    base = dict(os.environ, BASE=f"{work}/base.json")
    for name, code in (("thrifty", 0), ("thrifty", 0), ("searching", 3)):
        run = subprocess.run([f"{EXAMPLES}/ci/guard.sh", f"{work}/{name}", "python3", "-B", "{mnt}/tool.py"], env=base, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        equal(f"guard with a base: the {name} application: exit {code}", run.returncode, code) or print(run.stdout, run.stderr)
        check("guard with a base: what is too much is named", ("CREATE of larder" in run.stderr) == (code == 3), run.stderr)


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.chmod(work, 0o755)
    os.makedirs(f"{samba.share}/dir/ünder")
    with open(f"{samba.share}/dir/five", "w") as f:
        f.write("five\n")
    samba.start()
    credentials = f"{work}/credentials"
    with open(os.open(credentials, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(f"username={user_name()}\npassword={PASSWORD}\n")
    install(f"{work}/root")
    the_library_is_what_its_header_says(f"{work}/root")
    the_header_is_one_of_its_own(work)
    a_directory_is_listed(build(work, "list"), samba, f"credentials={credentials}")
    events_are_shown(build(work, "events"), samba, f"credentials={credentials}")
    the_job_guards_a_start(work)
finish()
