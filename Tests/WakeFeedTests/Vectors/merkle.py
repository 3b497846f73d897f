"""Merkle trees from RFC 6962 section 2.1 alone: roots and proofs of random trees.

merkle.py START COUNT prints, for each tree of a number, one line: the tree's number, its size, a
leaf's index, a former size, the root, the former root, and the hashes of the inclusion proof
(section 2.1.1) and of the consistency proof (section 2.1.2), in hexadecimal, with commas.
The leaf I of the tree T is the text "T/I".
"""

import hashlib
import random
import sys


def leaf(data):
    return hashlib.sha256(b"\0" + data).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def split(count):
    power = 1
    while power * 2 < count:
        power *= 2
    return power


class Tree:
    def __init__(self, entries):
        self.entries = entries
        self.known = {}

    def mth(self, low, high):
        """MTH(D[low:high])"""
        if low == high:
            return hashlib.sha256(b"").digest()
        if high - low == 1:
            return leaf(self.entries[low])
        if (low, high) not in self.known:
            middle = low + split(high - low)
            self.known[low, high] = node(self.mth(low, middle), self.mth(middle, high))
        return self.known[low, high]

    def path(self, m, low, high):
        """PATH(m, D[low:high])"""
        if high - low == 1:
            return []
        k = split(high - low)
        if m < k:
            return self.path(m, low, low + k) + [self.mth(low + k, high)]
        return self.path(m - k, low + k, high) + [self.mth(low, low + k)]

    def proof(self, m, low, high, whole=True):
        """SUBPROOF(m, D[low:high], whole)"""
        n = high - low
        if m == n:
            return [] if whole else [self.mth(low, high)]
        k = split(n)
        if m <= k:
            return self.proof(m, low, low + k, whole) + [self.mth(low + k, high)]
        return self.proof(m - k, low + k, high, False) + [self.mth(low, low + k)]


def main():
    start, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(start, start + count):
        rng = random.Random(number)
        # Mostly small, sometimes over the edge of a tile.
        size = rng.choice([rng.randint(1, 20), rng.randint(1, 80), rng.randint(1, 200)])
        if number % 100 == 0:
            size = rng.randint(240, 1100)
        tree = Tree([f"{number}/{index}".encode() for index in range(size)])
        index, old = rng.randrange(size), rng.randint(1, size)
        print(
            number, size, index, old, tree.mth(0, size).hex(), tree.mth(0, old).hex(),
            ",".join(h.hex() for h in tree.path(index, 0, size)) or "-",
            ",".join(h.hex() for h in tree.proof(old, 0, size)) or "-")


main()
