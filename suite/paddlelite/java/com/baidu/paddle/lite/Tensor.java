package com.baidu.paddle.lite;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** An input or output of a predictor. Values are copied when they are given and when they are taken. */
public class Tensor {
    static final int FLOAT = 1;
    static final int INT8 = 2;
    static final int INT = 3;
    static final int BOOL = 6;
    static final int LONG = 7;
    static final int UINT8 = 9;
    private static final int[] SIZES = {0, 4, 1, 4, 0, 2, 1, 8, 2, 1, 8};

    final String name;
    final int type;
    private final long[] wanted; // -1 where a length may vary
    private final boolean readOnly;
    private long[] shape;
    private ByteBuffer value; // little endian

    Tensor(String name, int type, long[] wanted, boolean readOnly) {
        this.name = name;
        this.type = type;
        this.wanted = wanted;
        this.readOnly = readOnly;
    }

    public boolean isReadOnly() {
        return readOnly;
    }

    /** The shape of the value or of what resize announced; -1 for lengths that vary where there is neither. */
    public long[] shape() {
        return (shape == null ? wanted : shape).clone();
    }

    /** Announces the shape of the values that are given next; false for an output. */
    public boolean resize(long[] dims) {
        if (readOnly) {
            return false;
        }
        boolean fits = dims != null && dims.length == wanted.length;
        for (int i = 0; fits && i < dims.length; i++) {
            fits = dims[i] >= 0 && (wanted[i] < 0 || wanted[i] == dims[i]);
        }
        if (!fits) {
            throw new IllegalArgumentException("resize: the input " + name + " has shape " + Arrays.toString(wanted)
                    + ", got " + Arrays.toString(dims));
        }
        count(dims);
        if (!Arrays.equals(shape, dims)) {
            value = null;
        }
        shape = dims.clone();
        return true;
    }

    public boolean setData(float[] data) {
        if (readOnly) {
            return false;
        }
        room(data.length, FLOAT).asFloatBuffer().put(data);
        return true;
    }

    public boolean setData(byte[] data) {
        if (readOnly) {
            return false;
        }
        room(data.length, INT8, UINT8, BOOL).put(data);
        return true;
    }

    public boolean setData(int[] data) {
        if (readOnly) {
            return false;
        }
        room(data.length, INT).asIntBuffer().put(data);
        return true;
    }

    public boolean setData(long[] data) {
        if (readOnly) {
            return false;
        }
        room(data.length, LONG).asLongBuffer().put(data);
        return true;
    }

    public float[] getFloatData() {
        float[] data = new float[filled(FLOAT)];
        contents().asFloatBuffer().get(data);
        return data;
    }

    public byte[] getByteData() {
        byte[] data = new byte[filled(INT8, UINT8, BOOL)];
        contents().get(data);
        return data;
    }

    public int[] getIntData() {
        int[] data = new int[filled(INT)];
        contents().asIntBuffer().get(data);
        return data;
    }

    public long[] getLongData() {
        long[] data = new long[filled(LONG)];
        contents().asLongBuffer().get(data);
        return data;
    }

    // ---- for the predictor ----

    boolean hasValue() {
        return value != null;
    }

    void clear() {
        value = null;
        shape = null;
    }

    /** Takes over a value. */
    void assign(long[] newShape, ByteBuffer contents) {
        shape = newShape;
        value = contents.order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The value from its beginning, as a view. */
    ByteBuffer contents() {
        ByteBuffer view = value.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        view.rewind();
        return view;
    }

    /** How many bytes a value of this type and shape has. */
    static int bytes(int type, long[] shape) {
        int size = type > 0 && type < SIZES.length ? SIZES[type] : 0;
        if (size == 0) {
            throw new IllegalStateException("the type " + type + " is not supported");
        }
        return Math.multiplyExact(count(shape), size);
    }

    private static int count(long[] shape) {
        long total = 1;
        for (long n : shape) {
            if (n == 0) {
                return 0;
            }
        }
        for (long n : shape) {
            if (n < 0 || total > Integer.MAX_VALUE / 8 / n) {
                throw new IllegalArgumentException("a tensor of shape " + Arrays.toString(shape) + " is too large");
            }
            total *= n;
        }
        return (int) total;
    }

    private ByteBuffer room(int length, int... types) {
        checkType("setData", types);
        long[] now = shape == null ? wanted : shape;
        for (long n : now) {
            if (n < 0) {
                throw new IllegalStateException("setData: the shape of " + name + " is not known yet; call resize first");
            }
        }
        if (count(now) != length) {
            throw new IllegalArgumentException("setData: " + name + " of shape " + Arrays.toString(now) + " has "
                    + count(now) + " elements, got " + length);
        }
        shape = now.clone();
        value = ByteBuffer.allocate(bytes(type, now)).order(ByteOrder.LITTLE_ENDIAN);
        return contents();
    }

    private int filled(int... types) {
        checkType("getData", types);
        if (value == null) {
            throw new IllegalStateException("getData: " + name + " has no value yet"
                    + (readOnly ? "; run the predictor first" : ""));
        }
        return count(shape);
    }

    private void checkType(String where, int... types) {
        for (int t : types) {
            if (t == type) {
                return;
            }
        }
        throw new IllegalArgumentException(where + ": " + name + " has elements of another type (PrecisionType " + type
                + ")");
    }
}
