"""Plays TextArena itself, without this project's environment: the other side of a comparison. Run as a script.

Standard input is JSON: the folder for a word-list tree as NLTK wants it, the word lists, and the games to play, each
with its id, a seed and the moves. Standard output is JSON: for each game the transcripts after reset and after each
move, and the rewards and the reason at the end.
"""

import contextlib
import io
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def plant_words(folder: Path, allowed: list[str], common: list[str]) -> None:
    """Word lists and a tagger that calls every word a noun, in the layout that NLTK reads."""
    corpus = folder / "corpora" / "words"
    tagger = folder / "taggers" / "averaged_perceptron_tagger_eng"
    corpus.mkdir(parents=True)
    tagger.mkdir(parents=True)
    (corpus / "en").write_text("\n".join(allowed))
    (corpus / "en-basic").write_text("\n".join(common))
    for part, content in (("weights", {}), ("tagdict", {}), ("classes", ["NN"])):
        name = f"averaged_perceptron_tagger_eng.{part}.json"
        (tagger / name).write_text(json.dumps(content))


def play(ta: Any, env_id: str, seed: int, moves: list[str]) -> dict[str, Any]:
    """One episode."""
    env = ta.make(env_id)
    env.reset(num_players=1, seed=seed)
    seen = [env.get_observation()[1]]
    done = False
    for move in moves:
        env.step(move)
        seen.append(env.get_observation()[1])
        # Not what step returns: Ultimate Texas Hold'em ends by a refused move without saying so there.
        done = env.state.done
        if done:
            break
    rewards, info = env.close()
    return {"seen": seen, "done": done, "rewards": rewards, "reason": info[0].get("reason")}


def main() -> None:
    """Read, play, write."""
    order = json.load(sys.stdin)
    os.environ["NLTK_DATA"] = order["folder"]
    plant_words(Path(order["folder"]), order["allowed"], order["common"])
    with contextlib.redirect_stdout(io.StringIO()):
        # By name, since neither package is typed.
        vars(import_module("nltk"))["download"] = lambda *_, **__: True
        ta = import_module("textarena")
        played = [play(ta, *game) for game in order["games"]]
    json.dump(played, sys.stdout)


if __name__ == "__main__":
    main()
