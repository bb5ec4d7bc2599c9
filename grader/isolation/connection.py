"""One side of the line between judge and worker: frames with the id of their request."""

from __future__ import annotations

import socket
import struct
import time

from grader.isolation.wire import LARGEST_FRAME, Closed, Garbled, TimedOut, decode, encode

# The id of the request, and the length of the frame that follows.
PREFIX = struct.Struct("<QQ")
# Memory follows what has come, not what the other side says will come.
CHUNK = 1 << 20


class Connection:
    """Send and receive messages over a stream socket, which belongs to this object from now on.

    After TimedOut, Garbled or an interruption in the midst of a frame nobody
    knows where the next one begins: every later call raises Closed.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._usable = True

    def fileno(self) -> int:
        return self._channel.fileno()

    def close(self) -> None:
        self._usable = False
        self._channel.close()

    def send(self, message: object, request_id: int, timeout: float | None = None) -> None:
        """Send one message, within `timeout` seconds where given.

        Raises WireError, with the line still usable, where the message cannot
        be encoded; Closed or TimedOut where the other side is gone or does not read.
        """
        frame = encode(message)
        self._expect_usable()
        self._usable = False
        try:
            self._channel.settimeout(timeout)
            self._channel.sendall(PREFIX.pack(request_id, len(frame)) + frame)
        except TimeoutError as error:
            raise TimedOut(f"not read within {timeout:g} s") from error
        except OSError as error:
            raise Closed(f"the other side is gone: {error.strerror}") from error
        self._usable = True

    def receive(
        self, timeout: float | None = None, request_id: int | None = None
    ) -> tuple[int, object]:
        """Return the next message and its id.

        One deadline holds for the whole frame, however its bytes trickle in;
        what has come by then counts. With `request_id`, any other id is
        Garbled. Raises Closed, TimedOut or Garbled.
        """
        self._expect_usable()
        self._usable = False
        deadline = None if timeout is None else time.monotonic() + timeout
        found, length = PREFIX.unpack(self._read(PREFIX.size, deadline))
        if length > LARGEST_FRAME:
            raise Garbled(f"a frame said to be {length} bytes long")
        if request_id is not None and found != request_id:
            raise Garbled("an answer to another request")
        message = decode(self._read(length, deadline))
        self._usable = True
        return found, message

    def _read(self, length: int, deadline: float | None) -> bytearray:
        data = bytearray()
        while len(data) < length:
            left = None if deadline is None else deadline - time.monotonic()
            late = left is not None and left <= 0
            # Once late, one look without waiting: this process may have been stopped meanwhile.
            self._channel.settimeout(0.0 if late else left)
            try:
                chunk = self._channel.recv(min(length - len(data), CHUNK))
            except (TimeoutError, BlockingIOError):
                if late:
                    raise TimedOut(f"{len(data)} of {length} bytes in time") from None
                continue
            except OSError as error:
                raise Closed(f"the other side is gone: {error.strerror}") from error
            if not chunk:
                raise Closed("the other side has closed the line")
            data += chunk
            if late and len(data) < length:
                raise TimedOut(f"{len(data)} of {length} bytes in time")
        return data

    def _expect_usable(self) -> None:
        if not self._usable:
            raise Closed("the line was closed, or is out of step")
