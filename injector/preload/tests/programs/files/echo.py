"""Servers and clients on asyncio, over TCP and UDP: so many messages each, and as many back."""

import asyncio
import sys


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.transport.sendto(data, address)


class Client(asyncio.DatagramProtocol):
    def __init__(self):
        self.came = asyncio.Queue()

    def datagram_received(self, data, address):
        self.came.put_nowait(data)


async def answer(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


async def main(messages):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    came = 0
    for index in range(messages):
        writer.write(b"%d\n" % index)
        came += int(await reader.readline())
    writer.close()
    server.close()

    loop = asyncio.get_running_loop()
    there, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    address = there.get_extra_info("sockname")
    here, client = await loop.create_datagram_endpoint(Client, remote_addr=address)
    for index in range(messages):
        here.sendto(b"%d" % index)
        came += int(await client.came.get())
    print(came)


asyncio.run(main(int(sys.argv[1])))
