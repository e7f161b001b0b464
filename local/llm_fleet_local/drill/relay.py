"""Forwards connections from the drill's network to a server on the machine's loopback interface, over a Unix socket.

The two are in different network namespaces, which share only the file system:

    python -m llm_fleet_local.drill.relay 10.66.0.1:80 ./aws.sock        inside the drill's network
    python -m llm_fleet_local.drill.relay ./aws.sock 127.0.0.1:40123     on the machine
"""

import asyncio
import contextlib
import sys
from pathlib import Path

_PIECE = 65536
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def relay(source: str, target: str) -> None:
    """Listen at `source` and forward each connection to `target`, without end. Each is a path or `host:port`."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            beyond = await _connect(target)
        except OSError:
            writer.close()  # the client's connection ends immediately, as with a server that is down
            return
        await asyncio.gather(_copy(reader, beyond[1]), _copy(beyond[0], writer))
        for end in (writer, beyond[1]):
            end.close()

    if _is_path(source):
        Path(source).unlink(missing_ok=True)
        server = await asyncio.start_unix_server(carry, source)
    else:
        host, _, port = source.rpartition(":")
        server = await asyncio.start_server(carry, host, int(port), backlog=512)
    async with server:
        await server.serve_forever()


async def _connect(target: str) -> Pair:
    if _is_path(target):
        return await asyncio.open_unix_connection(target)
    host, _, port = target.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError, RuntimeError):
        writer.write_eof()


def _is_path(place: str) -> bool:
    return "/" in place


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(relay(sys.argv[1], sys.argv[2]))
