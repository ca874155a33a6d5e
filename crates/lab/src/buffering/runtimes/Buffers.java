import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/** Usage: Buffers three|ten|fill|version PATH plain|buffered: small writes through a stream. */
final class Buffers {
    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("version")) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        FileOutputStream file = new FileOutputStream(arguments[1]);
        try (OutputStream out =
                arguments[2].equals("buffered") ? new BufferedOutputStream(file) : file) {
            write(arguments[0], out);
        }
    }

    private static void write(String program, OutputStream out) throws IOException {
        if (program.equals("three")) {
            out.write("one".getBytes());
            out.write("two".getBytes());
            out.write("three".getBytes());
            out.flush();
        } else if (program.equals("ten")) {
            byte[] record = new byte[1024];
            Arrays.fill(record, (byte) 'x');
            for (int i = 0; i < 10; i++) {
                out.write(record);
            }
        } else {
            for (int i = 0; i < 300000; i++) {
                out.write('x');
            }
        }
    }
}
