"""Ports for servers that cannot choose one themselves, because others must know it before they start."""

import socket
import sys

_HELD = []  # until the tests end


def held_ports(number):
    """Ports that nobody listens at, and that the system gives to nobody who asks for any port.

    They stay bound. On Linux a server that sets SO_REUSEADDR, as all of ours and nginx, PostgreSQL, Node and Java do,
    can listen at a port that another socket has bound with that option, unless that one listens, too. Elsewhere the
    port has to be let go, and somebody may be quicker.
    """
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    if sys.platform == "linux":
        _HELD.extend(sockets)
    else:
        for each in sockets:
            each.close()
    return ports
