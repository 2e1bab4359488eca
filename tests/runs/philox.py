"""Philox 4x32-10 (Salmon et al. 2011), from its definition. And the order of seeds that it makes."""
import numpy as np


def philox(counter, key):
    """Four words for each counter [n, 4]."""
    c, k = counter.astype(np.uint64), [np.uint64(key & 0xffffffff), np.uint64(key >> 32)]
    low = np.uint64(0xffffffff)
    for i in range(10):
        a, b = c[:, 0] * np.uint64(0xD2511F53), c[:, 2] * np.uint64(0xCD9E8D57)
        c = np.stack([(b >> np.uint64(32)) ^ c[:, 1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[:, 3] ^ k[1], a & low], 1)
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c


def words(seed, stream, item, batch=0, epoch=0, layer=0):
    """The words of items, by what numbers them: four columns."""
    item, batch, epoch = np.broadcast_arrays(np.asarray(item, np.uint64), np.uint64(batch), np.uint64(epoch))
    return philox(np.stack([item, batch, epoch, np.full_like(item, stream << 24 | layer << 16)], 1), seed)


def long_words(*args, **more):
    """The first 64 bits."""
    w = words(*args, **more)
    return w[:, 0] << np.uint64(32) | w[:, 1]


def shuffled(n, seed, epoch):
    """Where each of n places leads. A Feistel network of eight rounds over an even number of bits, until it ends below n."""
    bits = 3
    while 1 << 2 * bits < n:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    x = np.arange(n, dtype=np.uint64)
    left_over = np.arange(n)
    while len(left_over):
        left, right = x[left_over] >> np.uint64(bits), x[left_over] & mask
        for layer in range(8):
            left, right = right, (left ^ words(seed, 2, right, batch=n, epoch=epoch, layer=layer)[:, 0]) & mask
        x[left_over] = left << np.uint64(bits) | right
        left_over = left_over[x[left_over] >= n]
    return x.astype(np.int64)
