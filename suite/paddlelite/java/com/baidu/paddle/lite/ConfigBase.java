package com.baidu.paddle.lite;

/** What every configuration has. */
public class ConfigBase {
    private String modelDir;

    public String getModelDir() {
        return modelDir;
    }

    /** Names a folder; models as they were saved are not run from Java, optimise them first. */
    public void setModelDir(String modelDir) {
        this.modelDir = modelDir;
    }
}
