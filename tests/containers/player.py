"""Plays a short episode with an installed client: ``player.py ENVIRONMENT URL``. Prints its last reward and whether it
is over. Run by the Python of an environment in which the clients are installed and no server, or inside an image.
"""

import re
import sys
from typing import Any


def echo_env(url: str) -> Any:
    from echo_env import EchoAction, EchoEnv

    with EchoEnv(base_url=url) as env:
        env.reset(seed=7)
        return env.step(EchoAction(message="hello"))


def textarena_env(url: str) -> Any:
    from textarena_env import TextArenaAction, TextArenaEnv

    with TextArenaEnv(base_url=url) as env:
        assert "Wordle" in env.reset(seed=7).observation.prompt
        for word in ("crane", "slide", "pouty", "might", "fable", "grown"):
            result = env.step(TextArenaAction(message=f"[{word}]"))
            if result.done:
                break
        return result


def openspiel_env(url: str) -> Any:
    from openspiel_env import OpenSpielAction, OpenSpielEnv

    columns = 5
    with OpenSpielEnv(base_url=url) as env:
        result = env.reset(seed=7)
        while not result.done:
            board = result.observation.info_state
            ball, paddle = board.index(1.0) % columns, board[-columns:].index(1.0)
            result = env.step(OpenSpielAction(action_id=1 + (ball > paddle) - (ball < paddle)))
        return result


def browsergym_env(url: str) -> Any:
    from browsergym_env import BrowserGymAction, BrowserGymEnv

    with BrowserGymEnv(base_url=url, message_timeout_s=120) as env:
        page = env.reset(task_name="click-test", seed=7).observation.axtree_txt
        button = re.search(r"\[(\d+)\] button", page)
        assert button is not None, page
        return env.step(BrowserGymAction(action_str=f"click('{button.group(1)}')"))


if __name__ == "__main__":
    played = globals()[sys.argv[1]](sys.argv[2])
    sys.stdout.write(f"{played.reward} {played.done}\n")
