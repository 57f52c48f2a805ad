"""Starts a program with a listening socket, as systemd does, and prints its port: PROGRAM ARGUMENT..."""
import os, socket, sys

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
