package com.baidu.paddle.lite;

/** Which cores work; docs/lite.md tells what each mode does. */
public enum PowerMode {
    LITE_POWER_HIGH,
    LITE_POWER_LOW,
    LITE_POWER_FULL,
    LITE_POWER_NO_BIND,
    LITE_POWER_RAND_HIGH,
    LITE_POWER_RAND_LOW;

    /** The number of the mode. */
    public int value() {
        return ordinal();
    }
}
