"""python_serve.py -- runs Python for tests/python.sh, one script after the other, in one process.

    python_serve.py FOLDER < REQUESTS > STATUSES

A request is COUNT, the current folder, and COUNT words, each with a NUL behind it: -c SCRIPT
ARG... or FILE ARG..., as for python3.  What the script prints is left in FOLDER/.python-out
and FOLDER/.python-err; then its exit status is written, a line.
"""
import os
import sys

OUTPUTS = ((".python-out", 1), (".python-err", 2))


def words(source):
    left = b""
    while piece := os.read(source, 65536):
        *whole, left = (left + piece).split(b"\0")
        yield from map(os.fsdecode, whole)


def run(argv):
    """The exit status that python3 would have."""
    if argv[0] == "-c":
        argv = argv[1:]
        text, name, beside, sys.argv = argv[0], "<string>", "", ["-c"] + argv[1:]
    else:
        with open(argv[0], encoding="utf-8") as f:
            text, name, beside, sys.argv = f.read(), argv[0], os.path.dirname(argv[0]), argv
    path, space = sys.path[:], {"__name__": "__main__", "__builtins__": __builtins__}
    sys.path.insert(0, beside)
    try:
        exec(compile(text, name, "exec"), space)
        return 0
    except SystemExit as e:
        if e.code is not None and not isinstance(e.code, int):
            print(e.code, file=sys.stderr)
            return 1
        return e.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.path[:] = path
        space.clear()                   # files that it left open are written


def main(folder):
    source, statuses, errors = os.dup(0), os.dup(1), os.dup(2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    del sys.path[0]
    given = words(source)
    for count in given:
        os.chdir(next(given))
        argv = [next(given) for _ in range(int(count))]
        for file, number in OUTPUTS:
            fd = os.open(f"{folder}/{file}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(fd, number)
            os.close(fd)
        try:
            status = run(argv)
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:               # no such file, or output that cannot be written
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            status = 2
        os.dup2(errors, 2)
        os.write(statuses, b"%d\n" % (status & 255))


main(sys.argv[1])
