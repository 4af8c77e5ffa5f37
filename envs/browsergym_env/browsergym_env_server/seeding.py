"""From an episode's seed to the seed of its page."""

import random

from openenv_core.errors import ValidationFailedError

__all__ = ["LARGEST_SEED", "page_seed"]

LARGEST_SEED = 2**32 - 1

_WORDS = 624
_FIRST_MULTIPLIER = 1812433253
_PAGE_SEEDS = 1_000_000


def page_seed(seed: int) -> int:
    """The number from 0 to 999999 with which a page's own generator is seeded.

    It is the first draw below a million of a Mersenne Twister that starts from ``seed`` as numpy's ``RandomState``
    does: BrowserGym's rule, so that a seed means the same page there and here.

    Raises:
        ValidationFailedError: the seed is not one that this generator takes.
    """
    if not 0 <= seed <= LARGEST_SEED:
        message = f"seed must be between 0 and 2**32 - 1, not {seed}"
        raise ValidationFailedError(
            message, errors=[{"type": "value_error", "loc": ["seed"], "msg": message, "input": seed}]
        )
    # random.Random(seed) fills the state in another way, so it is done here (Matsumoto and Nishimura, 2002).
    words = [seed]
    for index in range(1, _WORDS):
        last = words[-1]
        words.append((_FIRST_MULTIPLIER * (last ^ (last >> 30)) + index) & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*words, _WORDS), None))
    bits = (_PAGE_SEEDS - 1).bit_length()
    mask = (1 << bits) - 1
    while True:
        drawn = generator.getrandbits(32) & mask
        if drawn < _PAGE_SEEDS:
            return drawn
