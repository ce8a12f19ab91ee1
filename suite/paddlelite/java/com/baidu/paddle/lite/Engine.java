package com.baidu.paddle.lite;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * The process that computes: the Python interpreter that PADDLE_LITE_PYTHON names, running paddlelite.worker, which
 * describes the messages. It ends when its input does, so also when the JVM ends, however it ends.
 */
final class Engine implements AutoCloseable {
    private static final String VARIABLE = "PADDLE_LITE_PYTHON";
    private static final long START_SECONDS = 120;

    private final Process process;
    private final DataInputStream in;
    private final DataOutputStream out;

    Engine() {
        String python = System.getenv(VARIABLE);
        if (python == null || python.isEmpty()) {
            throw new IllegalStateException("PaddlePredictor computes in a Python process: the environment variable "
                    + VARIABLE + " must name an interpreter that has paddlelite, numpy and onnxruntime");
        }
        try {
            process = new ProcessBuilder(python, "-m", "paddlelite.worker")
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        } catch (IOException e) {
            throw new IllegalStateException("the interpreter that " + VARIABLE + " names cannot be started: " + python, e);
        }
        in = new DataInputStream(process.getInputStream());
        out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream(), 1 << 16));
    }

    /** Loads a model; the result is its inputs and its outputs. */
    Tensor[][] load(MobileConfig config, byte[] model) {
        Thread watch = new Thread(this::endIfSilent);
        watch.setDaemon(true);
        watch.start();
        try {
            ByteArrayOutputStream head = new ByteArrayOutputStream();
            DataOutputStream fields = new DataOutputStream(head);
            fields.writeByte(config.getPowerModeInt());
            fields.writeInt(config.getThreads());
            fields.writeUTF(config.getBackend());
            begin('L', (long) head.size() + model.length);
            head.writeTo(out);
            out.write(model);
            out.flush();
            answer();
            return new Tensor[][] {ports(false), ports(true)};
        } catch (IOException e) {
            throw gone(e);
        } finally {
            watch.interrupt();
        }
    }

    private void endIfSilent() {
        try {
            TimeUnit.SECONDS.sleep(START_SECONDS);
            process.destroyForcibly();
        } catch (InterruptedException e) {
            // it has answered
        }
    }

    private Tensor[] ports(boolean readOnly) throws IOException {
        Tensor[] ports = new Tensor[in.readInt()];
        for (int i = 0; i < ports.length; i++) {
            byte[] name = new byte[in.readUnsignedShort()];
            in.readFully(name);
            int type = in.readUnsignedByte();
            ports[i] = new Tensor(new String(name, StandardCharsets.UTF_8), type, lengths(), readOnly);
        }
        return ports;
    }

    private long[] lengths() throws IOException {
        long[] shape = new long[in.readUnsignedByte()];
        for (int i = 0; i < shape.length; i++) {
            shape[i] = in.readLong();
        }
        return shape;
    }

    /** Sends the inputs and fills the outputs. */
    synchronized void run(Tensor[] inputs, Tensor[] outputs) {
        try {
            long size = 4;
            for (Tensor tensor : inputs) {
                size += 2 + 8L * tensor.shape().length + Tensor.bytes(tensor.type, tensor.shape());
            }
            begin('R', size);
            out.writeInt(inputs.length);
            for (Tensor tensor : inputs) {
                long[] shape = tensor.shape();
                out.writeByte(tensor.type);
                out.writeByte(shape.length);
                for (long n : shape) {
                    out.writeLong(n);
                }
                out.write(tensor.contents().array());
            }
            out.flush();
            answer();
            int count = in.readInt();
            for (int i = 0; i < count; i++) {
                int type = in.readUnsignedByte();
                long[] shape = lengths();
                byte[] contents = new byte[Tensor.bytes(type, shape)];
                in.readFully(contents);
                outputs[i].assign(shape, ByteBuffer.wrap(contents));
            }
        } catch (IOException e) {
            throw gone(e);
        }
    }

    private void begin(char kind, long size) throws IOException {
        out.writeByte(kind);
        out.writeLong(size);
    }

    /** Reads the head of an answer; an error there becomes an exception here. */
    private void answer() throws IOException {
        int kind = in.readByte();
        long size = in.readLong();
        if (kind == 'K') {
            return;
        }
        if (kind != 'E' || size < 0 || size > 1 << 24) {
            process.destroyForcibly();
            throw new IllegalStateException("what " + VARIABLE + " names does not answer like paddlelite.worker");
        }
        byte[] text = new byte[(int) size];
        in.readFully(text);
        throw new IllegalStateException(new String(text, StandardCharsets.UTF_8));
    }

    private IllegalStateException gone(IOException e) {
        process.destroyForcibly();
        String end = e instanceof EOFException ? "it ended without an answer" : String.valueOf(e.getMessage());
        return new IllegalStateException("the process that computes (" + VARIABLE + ", -m paddlelite.worker) is gone: "
                + end, e);
    }

    @Override
    public void close() {
        try {
            out.close();
        } catch (IOException e) {
            // it is gone already
        }
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
