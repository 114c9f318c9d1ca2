// The generator of NumPy's RandomState (Mersenne Twister 19937), so that a seed gives the same numbers here and in Python.

export class RandomState {
  /** @param {number} seed a whole number of at least 0 and below 2**32 */
  constructor(seed) {
    this.words = new Uint32Array(624);
    this.words[0] = seed >>> 0;
    for (let k = 1; k < 624; k++) {
      const last = this.words[k - 1] ^ (this.words[k - 1] >>> 30);
      this.words[k] = Math.imul(last, 1812433253) + k;
    }
    this.place = 624;
    /** @type {number | null} */
    this.spare = null;
  }

  next() {
    if (this.place === 624) this.twist();
    let y = this.words[this.place++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  twist() {
    const {words} = this;
    for (let k = 0; k < 624; k++) {
      const y = (words[k] & 0x80000000) | (words[(k + 1) % 624] & 0x7fffffff);
      words[k] = words[(k + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.place = 0;
  }

  // A number in [0, 1) with 53 random bits, as `random_sample`.
  uniform() {
    const a = this.next() >>> 5, b = this.next() >>> 6;
    return (a * 67108864 + b) / 9007199254740992;
  }

  /** A whole number from 0 to `most`. @param {number} most */
  whole(most) {
    if (most === 0) return 0;
    const mask = 2 ** (32 - Math.clz32(most)) - 1;
    let value;
    do value = (this.next() & mask) >>> 0; while (value > most);
    return value;
  }

  /** The numbers 0 … n - 1 in a random order, as `permutation`. @param {number} n */
  permutation(n) {
    const order = Array.from({length: n}, (_, k) => k);
    for (let k = n - 1; k > 0; k--) {
      const other = this.whole(k);
      [order[k], order[other]] = [order[other], order[k]];
    }
    return order;
  }

  /** `count` draws from 0 … n - 1, as `randint`. @param {number} n @param {number} count */
  draws(n, count) {
    return Array.from({length: count}, () => this.whole(n - 1));
  }

  // A normal number by the polar method, as `standard_normal`; the logarithm may differ in its last bit.
  normal() {
    if (this.spare !== null) {
      const kept = this.spare;
      this.spare = null;
      return kept;
    }
    let a, b, square;
    do {
      a = 2 * this.uniform() - 1;
      b = 2 * this.uniform() - 1;
      square = a * a + b * b;
    } while (square >= 1 || square === 0);
    const factor = Math.sqrt(-2 * Math.log(square) / square);
    this.spare = factor * a;
    return factor * b;
  }
}

/** The order of the examples in each pass. @param {any} shuffle @param {number} seed @param {number} size @returns {() => number[]} */
export function visits(shuffle, seed, size) {
  if (!shuffle) { const plain = Array.from({length: size}, (_, k) => k); return () => plain; }
  const rng = new RandomState(seed);
  return shuffle === "replacement" ? () => rng.draws(size, size) : () => rng.permutation(size);
}
