# A command in a real pseudo-terminal. Lines of JSON on stdin say what to wait for and what to type then; what it shows comes out.
import fcntl, json, os, pty, select, struct, sys, termios, time

columns, command = int(sys.argv[1]), sys.argv[2:]
steps = [json.loads(line) for line in sys.stdin if line.strip()]
pid, fd = pty.fork()
if pid == 0:
    # Before the program asks how wide it is.
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.execvp(command[0], command)

shown, seen, until = b"", 0, time.time() + 110


def more():
    global shown
    if not select.select([fd], [], [], 0.1)[0]:
        return time.time() < until
    try:
        part = os.read(fd, 65536)
    except OSError:
        return False
    shown += part
    return part != b""


is_open = True
for step in steps:
    while is_open and step["after"].encode() not in shown[seen:]:
        is_open = more()
    seen = len(shown)
    if is_open:
        os.write(fd, step["type"].encode())
while is_open:
    is_open = more()
if time.time() >= until:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
print(json.dumps({"shown": shown.decode(), "exit": os.waitstatus_to_exitcode(status)}))
