package com.baidu.paddle.lite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Runs a model; one thread at a time. {@link #close} ends the process behind it, and so does the end of the JVM. */
public class PaddlePredictor implements AutoCloseable {
    private final Engine engine;
    private Tensor[] inputs;
    private Tensor[] outputs;

    public PaddlePredictor(ConfigBase config) {
        if (config instanceof PaddleMobileConfig) {
            config = ((PaddleMobileConfig) config).config;
        }
        if (!(config instanceof MobileConfig)) {
            throw new IllegalArgumentException("createPaddlePredictor: a MobileConfig is needed, got "
                    + (config == null ? "null" : config.getClass().getName()));
        }
        MobileConfig mobile = (MobileConfig) config;
        byte[] model = contents(mobile);
        engine = new Engine();
        try {
            Tensor[][] ports = engine.load(mobile, model);
            inputs = ports[0];
            outputs = ports[1];
        } catch (RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    /** Loads the model of a MobileConfig or PaddleMobileConfig. */
    public static PaddlePredictor createPaddlePredictor(ConfigBase config) {
        return new PaddlePredictor(config);
    }

    private static byte[] contents(MobileConfig config) {
        if (config.getModelFromBuffer() != null) {
            return config.getModelFromBuffer();
        }
        if (config.getModelFromFile() == null) {
            throw new IllegalArgumentException("createPaddlePredictor: the configuration names no .nb file");
        }
        try {
            return Files.readAllBytes(Paths.get(config.getModelFromFile()));
        } catch (IOException e) {
            throw new IllegalArgumentException("createPaddlePredictor: the file " + config.getModelFromFile()
                    + " cannot be read", e);
        }
    }

    /** An input by number. */
    public Tensor getInput(int offset) {
        return at("getInput", inputs, offset);
    }

    /** An output by number. */
    public Tensor getOutput(int offset) {
        return at("getOutput", outputs, offset);
    }

    /** An output or input by name; null where there is none. */
    public Tensor getTensor(String name) {
        for (Tensor[] tensors : new Tensor[][] {outputs, inputs}) {
            for (Tensor tensor : tensors) {
                if (tensor.name.equals(name)) {
                    return tensor;
                }
            }
        }
        return null;
    }

    private static Tensor at(String where, Tensor[] tensors, int offset) {
        if (offset < 0 || offset >= tensors.length) {
            throw new IndexOutOfBoundsException(where + ": the model has " + tensors.length
                    + ", numbered from 0; got " + offset);
        }
        return tensors[offset];
    }

    /** Computes the outputs from the inputs; after a failure there are none. */
    public synchronized boolean run() {
        for (Tensor tensor : inputs) {
            if (!tensor.hasValue()) {
                throw new IllegalStateException("run: the input " + tensor.name + " has no value; call setData first");
            }
        }
        for (Tensor tensor : outputs) {
            tensor.clear();
        }
        engine.run(inputs, outputs);
        return true;
    }

    public String getVersion() {
        return "0.1.0";
    }

    /** Ends the process that computes. */
    @Override
    public void close() {
        engine.close();
    }

    /** The power modes under the name that the calls of older applications use. */
    public static final class PowerMode {
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_HIGH =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_HIGH;
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_LOW =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_LOW;
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_FULL =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_FULL;
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_NO_BIND =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_NO_BIND;
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_RAND_HIGH =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_RAND_HIGH;
        public static final com.baidu.paddle.lite.PowerMode LITE_POWER_RAND_LOW =
                com.baidu.paddle.lite.PowerMode.LITE_POWER_RAND_LOW;

        private PowerMode() {}
    }

    /** A MobileConfig whose setters can be chained. */
    public static final class PaddleMobileConfig extends ConfigBase {
        final MobileConfig config = new MobileConfig();

        private PaddleMobileConfig() {}

        public static PaddleMobileConfig create() {
            return new PaddleMobileConfig();
        }

        public PaddleMobileConfig setModelFromFile(String modelFile) {
            config.setModelFromFile(modelFile);
            return this;
        }

        public PaddleMobileConfig setModelFromBuffer(byte[] buffer, int size) {
            config.setModelFromBuffer(buffer, size);
            return this;
        }

        public PaddleMobileConfig setPowerMode(com.baidu.paddle.lite.PowerMode powerMode) {
            config.setPowerMode(powerMode);
            return this;
        }

        public PaddleMobileConfig setThreads(int threads) {
            config.setThreads(threads);
            return this;
        }

        public PaddleMobileConfig setBackend(String name) {
            config.setBackend(name);
            return this;
        }
    }
}
