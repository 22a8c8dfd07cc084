"""http_client.py -- requests as raw bytes, for cli_serve.sh; Python's standard library only.

    ask PORT LINE [HEADER...] [--body TEXT] [--no-host]
                    sends the request line and headers as they stand (escapes such as \\x90
                    mean bytes), with Host and "Connection: close"; prints the answer: its
                    status, headers, an empty line, and the body
    asks FOLDER     answers many, for Python takes longer to start than an answer: reads the words
                    of `ask`, each with a NUL behind it, from the pipe FOLDER/.ask; leaves what
                    `ask` prints in FOLDER/.answer, and writes the status to the pipe FOLDER/.status
    leave PORT TIMES GET|POST TARGET [BODY]
                    so often: asks, reads the headers, and closes; an answer that is
                    busy (503) is asked for again.  Prints how many had status 200
    watch PORT TARGET [END]
                    prints what a stream sends, as it comes, until it has sent END or is
                    closed; some minutes at most
    idle PORT COUNT SECONDS
                    opens so many connections that say nothing, asks on one more, and
                    waits at most that long until the server has closed all: prints how
                    many it has, if the answer came while they were open
    keep PORT TARGET...
                    one connection for all targets; prints each status, and "same" where
                    the connection stayed
"""
import socket
import sys
import time

PATIENCE = 300      # seconds: beyond what a busy machine needs, so that only what never comes is missed


def as_bytes(text):
    return text.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")


def connect(port):
    return socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE)


def read_all(s, until=None):
    got = b""
    while until is None or until not in got:
        try:
            piece = s.recv(65536)
        except (socket.timeout, ConnectionResetError):
            break
        if not piece:
            break
        got += piece
    return got


def ask(port, line, *words):
    headers, body, host = [], b"", True
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--body":
            body = as_bytes(words.pop(0))
        elif word == "--no-host":
            host = False
        else:
            headers.append(as_bytes(word))
    names = [h.split(b":")[0].lower() for h in headers]
    if host and b"host" not in names:
        headers.append(b"Host: 127.0.0.1:" + port.encode())
    if body and b"content-length" not in names and b"transfer-encoding" not in names:
        headers.append(b"Content-Length: %d" % len(body))
    headers.append(b"Connection: close")
    with connect(port) as s:
        s.sendall(b"\r\n".join([as_bytes(line)] + headers) + b"\r\n\r\n" + body)
        got = read_all(s)
    head, _, rest = got.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        whole = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            n = int(size, 16)
            if n == 0:
                break
            whole, rest = whole + rest[:n], rest[n + 2:]
        rest = whole
    status, _, others = head.partition(b"\r\n")
    return b" ".join(status.split(b" ")[1:2]) + b"\n" + others.replace(b"\r\n", b"\n") + b"\n\n" + rest


def asks(folder):
    while True:
        with open(f"{folder}/.ask", encoding="utf-8", errors="surrogateescape", newline="") as f:
            words = f.read().split("\0")[:-1]
        try:
            answer = ask(*words)
        except Exception as e:          # whoever asked reads it
            answer = repr(e).encode()
        with open(f"{folder}/.answer", "wb") as f:
            f.write(answer)
        with open(f"{folder}/.status", "wb") as f:
            f.write(answer.partition(b"\n")[0] + b"\n")


def leave(port, times, method, target, body=""):
    good, until = 0, time.monotonic() + PATIENCE
    for _ in range(int(times)):
        while time.monotonic() < until:
            with connect(port) as s:
                s.sendall(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
                head = read_all(s, b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 503"):
                good += head.startswith(b"HTTP/1.1 200")
                break
            time.sleep(0.05)
    print(good)


def watch(port, target, end=None):
    until = time.monotonic() + PATIENCE
    with connect(port) as s:
        s.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        got = b""
        while time.monotonic() < until and (end is None or end.encode() not in got):
            s.settimeout(max(0.01, until - time.monotonic()))
            try:
                piece = s.recv(65536)
            except socket.timeout:
                break
            if not piece:
                break
            got += piece
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


def is_open(s):
    s.setblocking(False)
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    finally:
        s.setblocking(True)


def idle(port, count, seconds):
    for _ in range(5):                  # slow to connect, the first may be closed before the answer
        silent = [connect(port) for _ in range(int(count))]
        with connect(port) as s:
            s.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            answered = read_all(s).startswith(b"HTTP/1.1 200")
        if answered and is_open(silent[0]):
            break
        for s in silent:
            s.close()
    else:
        print("no answer while they were open")
        return
    until = time.monotonic() + float(seconds)
    closed = 0
    for s in silent:
        s.settimeout(max(0.01, until - time.monotonic()))
        try:
            closed += s.recv(1) == b""
        except socket.timeout:
            pass
        s.close()
    print(closed, "closed")


def keep(port, *targets):
    import http.client                  # takes longer to load than all the rest
    c = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
    before = None
    for target in targets:
        c.request("GET", target)
        answer = c.getresponse()
        answer.read()
        print(answer.status, "same" if c.sock is not None and c.sock is before else "new")
        before = c.sock


def ask_and_print(*words):
    sys.stdout.buffer.write(ask(*words))


{"ask": ask_and_print, "asks": asks, "leave": leave, "watch": watch, "idle": idle, "keep": keep}[sys.argv[1]](*sys.argv[2:])
