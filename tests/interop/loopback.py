"""The loopback interface captured while something runs, and the capture cut into its connections."""
import contextlib
import re
import struct
import subprocess
import time

from bed import check


@contextlib.contextmanager
def capturing(port, path):
    dump = subprocess.Popen(["dumpcap", "-i", "lo", "-q", "-P", "-B", "64", "-w", path, "-f", f"tcp port {port}"],
                            stderr=subprocess.PIPE, text=True)
    for line in dump.stderr:  # says so when it captures
        if line.startswith("File:"):
            break
    time.sleep(0.5)
    yield
    time.sleep(1)
    dump.terminate()
    rest = dump.stderr.read()
    dump.wait()
    check("the capture lost no packet", re.search(r"received/dropped on interface .*: \d+/0 ", rest), rest)


def packets(data):
    """(begin, end) of every packet of a little-endian pcap."""
    at = 24
    while at + 16 <= len(data):
        end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        yield at, end
        at = end


def by_connection(path, port):
    """Writes a capture for each connection (of IPv4 in Ethernet frames); the names, in order of their beginning."""
    data = open(path, "rb").read()
    parts = {}
    for begin, end in packets(data):
        tcp = begin + 16 + 14 + (data[begin + 16 + 14] & 15) * 4
        ports = struct.unpack_from(">HH", data, tcp)
        client = ports[0] if ports[1] == port else ports[1]
        parts.setdefault(client, bytearray(data[:24])).extend(data[begin:end])
    names = []
    for part in parts.values():
        names.append(f"{path}.{len(names)}")
        open(names[-1], "wb").write(part)
    return names
