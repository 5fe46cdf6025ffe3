"""The loopback interface captured while something runs, and the capture cut into its connections."""
import contextlib
import json
import os
import re
import struct
import subprocess
import time

from bed import check, larder


class Dump:
    """A capture; `lost`: what dumpcap says of it at the end, where it is not that no packet was lost."""
    lost = None


@contextlib.contextmanager
def capturing(port, path):
    dump = subprocess.Popen(["dumpcap", "-i", "lo", "-q", "-P", "-B", "64", "-w", path, "-f", f"tcp port {port}"],
                            stderr=subprocess.PIPE, text=True)
    for line in dump.stderr:  # says so when it captures
        if line.startswith("File:"):
            break
    time.sleep(0.5)
    result, size = Dump(), -1
    yield result
    while size != os.path.getsize(path):  # it is handed what passed in pieces
        size = os.path.getsize(path)
        time.sleep(1)
    dump.terminate()
    rest = dump.stderr.read()
    dump.wait()
    result.lost = None if re.search(r"received/dropped on interface .*: \d+/0 ", rest) else rest


def gaps(port, path):
    run = larder("analyze", "--json", "--port", str(port), path)
    return json.loads(run.stdout)["captures"][0]["gaps"]["count"] if run.stdout else 0


def captured(port, path, work):
    """What `work` returns; its packets are in the capture. A busy machine loses some, also without a word: then all is done again."""
    for _ in range(6):
        with capturing(port, path) as dump:
            result = work()
        if not dump.lost and gaps(port, path) == 0:
            break
    check("the capture lost no packet", not dump.lost, dump.lost)
    return result


def packets(data):
    """(begin, end) of every packet of a little-endian pcap."""
    at = 24
    while at + 16 <= len(data):
        end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        yield at, end
        at = end


def tcp_header(data, begin):
    """Where it begins in a packet of IPv4 in an Ethernet frame."""
    return begin + 16 + 14 + (data[begin + 16 + 14] & 15) * 4


def move_port(path, port, to):
    """Rewrites a capture in place, as if the server had been at another port; TCP checksums are not looked at by tshark."""
    data = bytearray(open(path, "rb").read())
    for begin, _ in packets(data):
        tcp = tcp_header(data, begin)
        for place in (tcp, tcp + 2):
            if struct.unpack_from(">H", data, place)[0] == port:
                struct.pack_into(">H", data, place, to)
    open(path, "wb").write(data)


def by_connection(path, port):
    """Writes a capture for each connection (of IPv4 in Ethernet frames); the names, in order of their beginning."""
    data = open(path, "rb").read()
    parts = {}
    for begin, end in packets(data):
        ports = struct.unpack_from(">HH", data, tcp_header(data, begin))
        client = ports[0] if ports[1] == port else ports[1]
        parts.setdefault(client, bytearray(data[:24])).extend(data[begin:end])
    names = []
    for part in parts.values():
        names.append(f"{path}.{len(names)}")
        open(names[-1], "wb").write(part)
    return names
