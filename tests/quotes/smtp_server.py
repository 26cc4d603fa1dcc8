"""A mail server for tests: the few words of RFC 5321 that a client needs, with the moods of real ones."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message


class SmtpServer(socketserver.ThreadingTCPServer):
    """`refuse` maps a recipient to the reply that it gets; `hang_seconds` delays the answer to a whole mail."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.refuse: dict[str, str] = {}
        self.hang_seconds = 0.0
        self.drop_before_answer = False
        self.mails: list[Message] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Session(socketserver.StreamRequestHandler):
    server: SmtpServer

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self) -> None:
        self.say("220 test.invalid ESMTP")
        while line := self.rfile.readline():
            word = line.decode("ascii", "replace").strip()
            verb = word[:4].upper()
            if verb == "EHLO":
                self.say("250-test.invalid")
                self.say("250 8BITMIME")
            elif verb == "RCPT":
                address = word.split("<", 1)[1].split(">", 1)[0]
                self.say(self.server.refuse.get(address, "250 ok"))
            elif verb == "DATA":
                self.say("354 go on")
                if not self.receive():
                    return
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def receive(self) -> bool:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        self.server.mails.append(message_from_bytes(b"".join(lines)))
        if self.server.drop_before_answer:
            return False
        time.sleep(self.server.hang_seconds)
        self.say("250 taken")
        return True


@contextmanager
def running_server() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
