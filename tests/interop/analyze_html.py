#!/usr/bin/python3
"""The HTML page of larder analyze: well-formed, complete in itself, nothing in a name is markup; and in a browser.

The captures are written here, with names that try to be markup, or to fetch something from a server that
listens for it. Headless Chromium shows the page at two widths and in both colour schemes; the pictures, each of the whole page,
stay in the build directory to be looked at: BUILD/screenshots/analyze-{1280,390}-{light,dark}.png. Without
Chromium that part is skipped.
"""
import html
import html.parser
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import xml.etree.ElementTree

from bed import LARDER, check, equal, finish, larder

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURES = os.path.join(os.path.dirname(LARDER), "..", "..", "screenshots")
WIDTHS = (1280, 390)
SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them
SCRIPT = "<script>alert(1)</script>"
LONG = "a_directory_with_a_very_long_name_and_no_place_to_break_it_" * 3


def hostile_names(port):
    there = f"http://127.0.0.1:{port}/stolen"
    return [SCRIPT, f"<img src={there} onerror=alert(1)>", f"<link rel=stylesheet href={there}>", f"</td></table><iframe src={there}>",
            f"\"'><svg onload=alert(1)>&lt;&#60;", f"</style><style>*{{background:url({there})}}", "--><!--]]>", LONG, "\u0645\u062c\u0644\u062f \u6587\u4ef6"]


# ---- captures ----

class Capture:
    """A client's connection to port 445, each message in a packet of its own."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        self.now, self.seq, self.id = 1_700_000_000_000_000, [1000, 9000], 0

    def packet(self, side, message):
        data = struct.pack(">I", len(message)) + message
        ports = (50000, 445) if side == 0 else (445, 50000)
        tcp = struct.pack(">HHIIBBHHH", *ports, self.seq[side], self.seq[1 - side], 0x50, 0x18, 65535, 0, 0)
        ends = (b"\x0a\0\0\1", b"\x0a\0\0\2")
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0x4000, 64, 6, 0, ends[side], ends[1 - side])
        frame = bytes(12) + b"\x08\0" + ip + tcp + data
        self.file.write(struct.pack("<IIII", self.now // 1_000_000, self.now % 1_000_000, len(frame), len(frame)) + frame)
        self.seq[side] += len(data)

    def exchange(self, command, request, response, status=0, wait=900):
        self.id += 1
        for side, body in ((0, request), (1, response)):
            self.packet(side, struct.pack("<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 1, status if side else 0, command, 1, side, 0, self.id, 0, 5, 7,
                                          bytes(16)) + body)
            self.now += wait

    def connect(self, share):
        path = share.encode("utf-16-le")
        self.exchange(3, struct.pack("<HHHH", 9, 0, 72, len(path)) + path, struct.pack("<HBBIII", 16, 1, 0, 0, 0, 0x1FF))

    def enumerate(self, directory, entries, wait):
        path, star = directory.encode("utf-16-le"), "*".encode("utf-16-le")
        handle = struct.pack("<QQ", self.id + 1, self.id + 1)
        self.exchange(5, struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, 1, 0, 7, 1, 1, 120, len(path), 0, 0) + path,
                      struct.pack("<HBBIQQQQQQII16sII", 89, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, handle, 0, 0), wait=wait)
        listing = b""
        for i in range(entries):
            name = f"file{i:03}".encode("utf-16-le")
            size = 104 + len(name) + -len(name) % 8
            listing += struct.pack("<IIQQQQQQIIIBB24sHQ", size if i + 1 < entries else 0, 0, 0, 0, 0, 0, 0, 0, 0x20, len(name), 0, 0, 0,
                                   bytes(24), 0, i + 1) + name + bytes(-len(name) % 8)
        query = struct.pack("<HBBI16sHHI", 33, 37, 0, 0, handle, 96, 2, 65536) + star
        self.exchange(14, query, struct.pack("<HHI", 9, 72, len(listing)) + listing, wait=wait)
        self.exchange(14, query, struct.pack("<HBBIB", 9, 0, 0, 0, 0), status=0x80000006, wait=wait // 3)
        self.exchange(6, struct.pack("<HHI16s", 24, 0, 0, handle), struct.pack("<HHIQQQQQQI", 60, 0, 0, 0, 0, 0, 0, 0, 0, 0), wait=wait // 2)


def write_capture(path, names, rounds):
    c = Capture(path)
    c.connect(f"\\\\server\\<b>{SCRIPT}")
    for turn in range(rounds):
        for i, name in enumerate(names):
            c.enumerate(name, 5 + 20 * i, 300 * (1 + (turn * 7 + i * 3) % 11) ** 2)
        c.now += 200_000
    c.file.close()


# ---- what the page is made of ----

class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.wrong, self.open = set(), set(), "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text += data


ALLOWED_TAGS = set("html head meta title style body h1 h2 h3 section p b i span div table thead tbody tr th td svg path rect".split())
ALLOWED_ATTRIBUTES = set("lang charset http-equiv content name class style viewbox preserveaspectratio role aria-label aria-hidden d width height".split())


def check_page(what, page, names):
    xml.etree.ElementTree.fromstring(page.encode())  # raises where it is not well-formed
    parsed = Tags(page)
    check(f"{what}: every element is closed where it should be", not parsed.wrong and not parsed.open, (parsed.wrong, parsed.open))
    check(f"{what}: only elements that fetch and run nothing", parsed.tags <= ALLOWED_TAGS, parsed.tags - ALLOWED_TAGS)
    check(f"{what}: only attributes that fetch and run nothing", parsed.attributes <= ALLOWED_ATTRIBUTES, parsed.attributes - ALLOWED_ATTRIBUTES)
    check(f"{what}: a policy that forbids the rest", "content=\"default-src 'none'; style-src 'unsafe-inline';" in page)
    for name in names:
        shown = name.replace("/", "\\")  # as Windows would spell it
        check(f"{what}: {name[:40]!r} is text", shown in parsed.text)


# ---- the browser ----

PROBE = """<script>
const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.table') && e.getBoundingClientRect().right > innerWidth + 1);
parent.postMessage(JSON.stringify({inner: innerWidth, scroll: document.documentElement.scrollWidth,
    height: Math.ceil(document.documentElement.getBoundingClientRect().height), wide: wide.map(e => e.className || e.tagName),
    page: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    bar: getComputedStyle(document.querySelector('rect')).fill, text: document.body.innerText.includes('<script>alert(1)</' + 'script>')}), '*');
</script></body>"""

FRAME = """<style>:root{color-scheme:light dark}</style><script>onmessage = e => document.body.textContent = e.data;</script>
<body><iframe style="border:0;width:%dpx;height:2000px" src="probe.html"></iframe></body>"""


def browse(work, width, scheme, *args, height=2400):
    run = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                          "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={work}/profile",
                          f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", *args],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env={**os.environ, "HOME": work})
    return run.stdout.decode()


def measure(work, page, width, scheme):
    """What a script says, in a copy whose policy lets only that one in; the style's policy stays. In a frame, since
    a window without a screen does not get narrower than 500 pixels."""
    with open(f"{work}/probe.html", "w") as f:
        f.write(page.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';").replace("</body>", PROBE))
    with open(f"{work}/frame.html", "w") as f:
        f.write(FRAME % width)
    dom = browse(work, width, scheme, "--dump-dom", "--virtual-time-budget=5000", f"file://{work}/frame.html")
    return json.loads(html.unescape(dom[dom.index("<body>") + 6:dom.index("</body>")]))


def listener():
    """A server nobody should come to; the list of who came."""
    came, server = [], socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                came.append(server.accept()[0].recv(200))
            except OSError:
                return
    threading.Thread(target=serve, daemon=True).start()
    return came, server.getsockname()[1]


def check_browser(work, page, came, port):
    colours = {}
    os.makedirs(PICTURES, exist_ok=True)
    for scheme in SCHEMES:
        for width in WIDTHS:
            what = f"{width} pixels, {scheme}"
            picture = os.path.join(PICTURES, f"analyze-{width}-{scheme}.png")
            seen = measure(work, page, width, scheme)
            browse(work, width, scheme, f"--screenshot={picture}", f"file://{work}/page.html", height=seen["height"])
            equal(f"{what}: a picture of the whole page", struct.unpack(">II", open(picture, "rb").read()[16:24]), (width, seen["height"]))
            check(f"{what}: nothing scrolls sideways", (seen["inner"], seen["scroll"], seen["wide"]) == (width, width, []), seen)
            check(f"{what}: the name that would be a script is text", seen["text"])
            colours[scheme] = (seen["page"], seen["ink"], seen["bar"])
    check("the schemes differ", all(a != b for a, b in zip(colours["dark"], colours["light"])), colours)
    shown = Tags(browse(work, 390, "light", "--dump-dom", f"file://{work}/page.html"))
    check("the browser finds no other element in it", shown.tags <= ALLOWED_TAGS, shown.tags - ALLOWED_TAGS)
    equal("nothing outside the file is asked for", came, [])
    with open(f"{work}/fetches.html", "w") as f:
        f.write(f"<img src=http://127.0.0.1:{port}/here>")
    browse(work, 390, "light", "--dump-dom", f"file://{work}/fetches.html")
    check("(a page that does ask is noticed)", any(b"/here" in request for request in came), came)


# ---- the file ----

def check_file(work):
    slow, out = f"{work}/slow.pcap", f"{work}/there.html"
    with open(out, "w") as f:
        f.write("as it was")
    before = sorted(os.listdir(work))
    for what, args, code in (("over what is read", [slow, "--html", slow], 2), ("a directory", [slow, "--html", work], 1),
                             ("no such directory", [slow, "--html", f"{work}/nowhere/p.html"], 1), ("a device", [slow, "--html", "/dev/null"], 1)):
        run = larder("analyze", *args)
        check(f"--html, {what}: exit {code} and one line", run.returncode == code and run.stderr.count("\n") == 1, (run.returncode, run.stderr))
    run = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 4; exec '{LARDER}' analyze '{slow}' --html '{out}'"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    check("no room: exit 1 and one line", run.returncode == 1 and run.stderr.count("\n") == 1 and out in run.stderr, (run.returncode, run.stderr))
    equal("no room: the old file stays", open(out).read(), "as it was")
    equal("and nothing else is left behind", sorted(os.listdir(work)), before)
    run = larder("analyze", "--json", slow, "--html", out)
    check("the output is beside the page", json.loads(run.stdout)["captures"] and open(out).read().endswith("</html>\n"), run.stderr)
    os.remove(out)


came, port = listener()
with tempfile.TemporaryDirectory() as work:
    names = hostile_names(port)
    write_capture(f"{work}/slow.pcap", names, 9)
    write_capture(f"{work}/good.pcap", names, 1)
    write_capture(f"{work}/plain.pcap", ["dir", "dir\\sub"], 3)
    check_file(work)
    run = larder("analyze", f"{work}/slow.pcap", "--against", f"{work}/good.pcap", "--what-if", "23h2", "--sweep", "DirectoryCacheEntriesMax",
                 "--html", f"{work}/page.html")
    if equal("the page is written", run.returncode, 0):
        page = open(f"{work}/page.html").read()
        check_page("hostile names", page, names)
        check("a share named so, too", f"\\<b>{SCRIPT}\\" in Tags(page).text)
        for part in ("Requests over time", "Responses by response time", "logarithmic scale", "estimate", "Operations answered", "directory cache inactive"):
            check(f"the page has {part!r}", part in page)
        if BROWSER:
            check_browser(work, page, came, port)
        else:
            print("skip the browser's part: no Chromium here")
    else:
        print(run.stderr)
    larder("analyze", f"{work}/plain.pcap", "--html", f"{work}/plain.html")
    page = open(f"{work}/plain.html").read()
    check_page("plain names", page, ["\\sub"])
    check("plain names: no address of anything", "http" not in page.replace("http-equiv", "") and "url(" not in page)

finish()
