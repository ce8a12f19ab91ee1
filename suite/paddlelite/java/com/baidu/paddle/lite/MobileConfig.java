package com.baidu.paddle.lite;

import java.util.Arrays;

/** A model in an .nb file or in memory, and how it is run. */
public class MobileConfig extends ConfigBase {
    private PowerMode powerMode = PowerMode.LITE_POWER_HIGH;
    private int threads = 1;
    private String modelFile;
    private byte[] modelBuffer;
    private String backend = "";

    public void setPowerMode(PowerMode powerMode) {
        if (powerMode == null) {
            throw new IllegalArgumentException("setPowerMode: a PowerMode is needed, got null");
        }
        this.powerMode = powerMode;
    }

    public PowerMode getPowerMode() {
        return powerMode;
    }

    public int getPowerModeInt() {
        return powerMode.value();
    }

    public void setThreads(int threads) {
        if (threads < 1) {
            throw new IllegalArgumentException("setThreads: a number from 1 is needed, got " + threads);
        }
        this.threads = threads;
    }

    public int getThreads() {
        return threads;
    }

    /** Names the .nb file. */
    public void setModelFromFile(String modelFile) {
        this.modelFile = modelFile;
        this.modelBuffer = null;
    }

    public String getModelFromFile() {
        return modelFile;
    }

    /** Takes the first {@code size} bytes as the contents of an .nb file. */
    public void setModelFromBuffer(byte[] buffer, int size) {
        if (buffer == null || size < 0 || size > buffer.length) {
            throw new IllegalArgumentException("setModelFromBuffer: the size is " + size + ", but the buffer has "
                    + (buffer == null ? "no" : buffer.length) + " bytes");
        }
        this.modelBuffer = Arrays.copyOf(buffer, size);
        this.modelFile = null;
    }

    public byte[] getModelFromBuffer() {
        return modelBuffer;
    }

    /** What runs the model, such as "nnapi", in place of what its file says. */
    public void setBackend(String name) {
        this.backend = name == null ? "" : name;
    }

    public String getBackend() {
        return backend;
    }
}
