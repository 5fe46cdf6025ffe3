"""A relay between a client and a server of this machine that can be far away, stand still, or be cut in two."""
import collections
import socket
import threading
import time


class Relay:
    """`target` is what the server's is, by way of the relay. delay: seconds that everything is on its way, one way.
    hold_at: after so many bytes in both directions it stands still (`held` is set) until release() or cut()."""

    def __init__(self, samba, delay=0.0, hold_at=None):
        self.port, self.delay, self.hold_at = samba.port, delay, hold_at
        self.passed, self.sockets, self.dead = 0, [], False
        self.counting = threading.Lock()
        self.held, self.released = threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"//127.0.0.1:{self.listener.getsockname()[1]}/share"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.dead:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            self.sockets += [client, server]
            for a, b in ((client, server), (server, client)):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line = collections.deque(), threading.Condition()
                threading.Thread(target=self.take, args=(a, line), daemon=True).start()
                threading.Thread(target=self.give, args=(b, line), daemon=True).start()

    def take(self, source, line):
        queue, changed = line
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            with changed:
                while len(queue) > 64 and data and not self.dead:
                    changed.wait(1)
                queue.append((time.monotonic() + self.delay, data))
                changed.notify_all()
            if not data:
                return

    def give(self, sink, line):
        queue, changed = line
        while True:
            with changed:
                while not queue:
                    changed.wait()
                at, data = queue.popleft()
                changed.notify_all()
            time.sleep(max(0, at - time.monotonic()))
            if self.hold_at is not None and self.passed >= self.hold_at:
                self.held.set()
                self.released.wait()
                if self.dead:  # what was held back when it was cut is not passed on
                    return
            try:
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
            except OSError:
                return
            with self.counting:
                self.passed += len(data)

    def release(self):
        self.released.set()

    def cut(self):
        """Every connection is gone at once, and no new one comes."""
        self.dead = True
        self.released.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # else its thread waits on, and takes what comes to the next that gets its port
        except OSError:
            pass
        self.listener.close()
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
