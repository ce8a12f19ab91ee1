"""The decoder on which the planner of layouts is tested and measured."""

import paddle
import paddle.nn.functional as F
from paddle import nn


class Block(nn.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, width = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).reshape([b, s, self.heads, width // self.heads]) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.reshape([b, s, width]))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Layer):
    def __init__(self, width, heads, layers, words, length):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.LayerList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias_attr=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(paddle.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
