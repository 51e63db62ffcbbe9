import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A server with a selector and a client that blocks, over TCP and UDP: so many longs each, and as many back. */
public class Nio {
    private static void serve(Selector selector) throws IOException {
        ByteBuffer data = ByteBuffer.allocateDirect(8);
        while (selector.isOpen()) {
            selector.select();
            for (SelectionKey key : selector.selectedKeys()) {
                data.clear();
                if (key.channel() instanceof ServerSocketChannel server) {
                    SocketChannel channel = server.accept();
                    channel.configureBlocking(false);
                    channel.register(selector, SelectionKey.OP_READ);
                } else if (key.channel() instanceof DatagramChannel channel) {
                    SocketAddress from = channel.receive(data);
                    channel.send(data.flip(), from);
                    if (data.getLong(0) < 0) {
                        return;
                    }
                } else if (key.channel() instanceof SocketChannel channel) {
                    if (channel.read(data) < 0) {
                        channel.close();
                    } else {
                        channel.write(data.flip());
                    }
                }
            }
            selector.selectedKeys().clear();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int messages = Integer.parseInt(arguments[0]);
        InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open().bind(any);
        server.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
        DatagramChannel there = DatagramChannel.open().bind(any);
        there.configureBlocking(false).register(selector, SelectionKey.OP_READ);
        Thread thread = new Thread(() -> {
            try {
                serve(selector);
            } catch (IOException error) {
                throw new RuntimeException(error);
            }
        });
        thread.start();

        long came = 0;
        ByteBuffer data = ByteBuffer.allocateDirect(8);
        try (SocketChannel channel = SocketChannel.open(server.getLocalAddress())) {
            for (int index = 0; index < messages; index++) {
                data.clear().putLong(0, index);
                channel.write(data);
                data.clear();
                while (data.hasRemaining()) {
                    channel.read(data);
                }
                came += data.getLong(0);
            }
        }
        try (DatagramChannel channel = DatagramChannel.open().connect(there.getLocalAddress())) {
            // The last one, below zero, ends the server.
            for (int index = messages - 1; index >= -1; index--) {
                data.clear().putLong(0, index);
                channel.write(data);
                data.clear();
                channel.read(data);
                came += data.getLong(0);
            }
        }
        thread.join();
        System.out.println(came);
    }
}
