"""Make the word lists of the package from SCOWL, as Debian's package ``scowl`` installs it.

    apt-get install scowl
    python scripts/build_words.py /usr/share/dict/scowl textarena_env_server/data

SCOWL (Spell Checker Oriented Word Lists) grades words from size 10, the most common, to 95. Two lists are made, one
word per line, sorted by length and then by letters:

- ``allowed.txt``: what counts as an English word: sizes up to 70 of the English, American and British lists. The sizes
  above hold a dictionary whose terms ask for more than a notice, so they are left out.
- ``common.txt``: what a game may hide: sizes up to 20 in their base form (no plurals, no past tenses, no -ing), without
  words that nobody should have to say, and without those that a game shows anyhow.
"""

import re
import sys
from pathlib import Path

ALLOWED_SIZES = (10, 20, 35, 40, 50, 55, 60, 70)
COMMON_SIZES = (10, 20)
LISTS = ("english", "american", "british")
ALLOWED_LENGTHS = range(2, 22)
COMMON_LENGTHS = range(3, 13)

UNWANTED = re.compile(
    r"(fuck|shit|cunt|piss|whore|slut|nigg|fagg?ot|bastard|bitch|rape|rapist|porn|pedo|genocid|sex|lesbian|suicid|murder|"
    r"^(arse|ass|bigot|boob|crap|cum|dick|idiot|moron|negro|nude|prick|slave|tit|turd|wank)(s|es|ed|er|y|ming)?$)"
)
"""Never hidden by a game; still allowed as a guess."""

SPELLED = """
apple arena avoid begin chose count delta enter error exact exist extra false field frame given grace green
guess hello input known layer legal limit queue reset serve start state tempt token train valid whose wrong
action active author chosen detail follow forbid format health letter member option permit player please prompt
racket reason resume reward script second secret sender server signal square status submit yellow attempt
bracket content correct current episode exactly healthy invalid message session success unknown version capacity
category deadline document feedback position protocol remember truncate execution forbidden repetition
description environment observation
"""
"""Words in the rules of Wordle and in what travels around it: a game that hid one would show it. Never hidden."""


def read(folder: Path, sizes: tuple[int, ...], lists: tuple[str, ...]) -> set[str]:
    """The lower-case ASCII words of these sizes."""
    found: set[str] = set()
    for name in lists:
        for size in sizes:
            path = folder / f"{name}-words.{size}"
            if path.exists():
                found.update(path.read_text(encoding="latin-1").split())
    return {word for word in found if re.fullmatch("[a-z]+", word)}


def is_inflected(word: str, words: set[str]) -> bool:
    """Whether the word is a plural, a third person, a past tense or an -ing form of another word of the list."""
    if word.endswith("s") and not word.endswith("ss"):
        stems = [word[:-1], word[:-2] if word.endswith("es") else "", word[:-3] + "y" if word.endswith("ies") else ""]
    elif word.endswith("ed"):
        stems = [word[:-1], word[:-2], word[:-3], word[:-3] + "y" if word.endswith("ied") else ""]
    elif word.endswith("ing"):
        stems = [word[:-3], word[:-3] + "e", word[:-4]]
    else:
        return False
    return any(stem in words for stem in stems)


def write(path: Path, words: set[str]) -> None:
    """One word per line, by length and then by letters."""
    path.write_text("\n".join(sorted(words, key=lambda word: (len(word), word))) + "\n", encoding="ascii")


def main(source: str, target: str) -> None:
    """Write both lists."""
    folder, out = Path(source), Path(target)
    allowed = {word for word in read(folder, ALLOWED_SIZES, LISTS) if len(word) in ALLOWED_LENGTHS}
    common = read(folder, COMMON_SIZES, ("english", "american"))
    spelled = set(SPELLED.split())
    hidden = {
        word
        for word in common
        if len(word) in COMMON_LENGTHS
        and word not in spelled
        and not is_inflected(word, allowed)
        and not UNWANTED.search(word)
    }
    write(out / "allowed.txt", allowed)
    write(out / "common.txt", hidden & allowed)


if __name__ == "__main__":
    main(*sys.argv[1:])
