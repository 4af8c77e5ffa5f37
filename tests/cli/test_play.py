"""A person plays, at a terminal."""

import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from benchmarks.processes import REPOSITORY
from tests.cli.terminal import COMMAND, CTRL_C, CTRL_D, Terminal, at_terminal, surroundings
from tests.cli.worlds import STEERING, Kitchen
from tests.support.serving import serving
from tests.support.waiting import eventually
from textarena_env_server.players import WordleSolver

KITCHEN = "tests.cli.worlds:spec"
FIRST, SECOND, THIRD = "dish> ", "count> ", "now> "


def server_of(terminal: Terminal) -> str:
    """The address of the server that the command has started."""
    found = re.search(r"Server: (http://[\d.:]+)", terminal.plain)
    assert found is not None
    return found[1]


def is_gone(url: str) -> bool:
    """Whether nobody answers there."""
    try:
        httpx.get(f"{url}/health", timeout=5, trust_env=False)
    except httpx.ConnectError:
        return True
    return False


def tiles(screen: str) -> list[tuple[str, str]]:
    """The guesses on a screen without colours: ``C:X R:Y``, each letter with its mark."""
    rows = [re.findall(r"\b([A-Z]):([GYX])", line) for line in screen.split("\n")]
    return [("".join(a for a, _ in row).lower(), "".join(b for _, b in row)) for row in rows if len(row) == 5]


def test_wordle_to_the_end_by_what_the_screen_shows() -> None:
    solver = WordleSolver()
    with at_terminal("play", "textarena_env_server:spec", "--seed", "3", variables={"NO_COLOR": "1"}) as terminal:
        assert "5-letter word" in terminal.expect("6 guesses left.")
        for _ in range(6):
            terminal.expect("message> ")
            guess = solver.guess()
            terminal.type(guess)
            screen = terminal.expect("Move ")
            assert tiles(screen)[-1][0] == guess
            solver.learn(*tiles(screen)[-1])
            if "Congratulations" in screen:
                break
        assert tiles(screen)[-1][1] == "GGGGG"
        terminal.expect("reward 1, return 1.")
        terminal.expect("Solved!")
        terminal.expect("Play again, with seed 4? [Y/n] ")
        url = server_of(terminal)
        terminal.type("n")
        assert terminal.end() == 0
    assert is_gone(url)


def test_wordles_tiles_have_colours() -> None:
    with at_terminal("play", "textarena_env_server:spec", "--seed", "3") as terminal:
        terminal.expect("message> ")
        terminal.type("[crane]")
        terminal.expect("5 guesses left.")
        assert re.search(r"\x1b\[[\d;]*(?:42|43|48;5;\d+)m +C +\x1b", terminal.shown)
        terminal.expect("message> ")
        terminal.type("zzzzz")
        assert "not an English word" in terminal.expect("5 guesses left.")


def test_the_same_seed_is_the_same_game() -> None:
    boards = []
    for seed in ("8", "8", "1"):
        with at_terminal("play", "openspiel_env_server:spec", "--seed", seed) as terminal:
            boards.append(terminal.expect("action_id> ").partition("─\n")[2])
    assert boards[0] == boards[1] != boards[2]


def test_catch_to_the_end_by_what_the_screen_shows() -> None:
    with at_terminal("play", "openspiel_env_server:spec", "--seed", "2", "-o", "game_name=catch") as terminal:
        screen = terminal.expect("action_id> ")
        while True:
            rows = [line.split() for line in screen.split("\n") if re.fullmatch(r"(?: +[.xo]){5} *", line)]
            ball = next(row.index("o") for row in rows if "o" in row)
            paddle = rows[-1].index("x")
            terminal.type("left" if ball < paddle else "right" if ball > paddle else "stay")
            screen = terminal.expect("reward")
            if "return 1" in terminal.expect("\n"):
                break
            terminal.expect("action_id> ")
        terminal.expect("Solved! 9 moves, return 1.")
        terminal.expect("[Y/n] ")
        terminal.type("")
        terminal.expect("catch, seed 3")
        terminal.expect("action_id> ")
        terminal.press(CTRL_D)
        assert terminal.end() == 0


def test_a_field_of_tic_tac_toe_is_taken_by_the_number_that_stands_in_it() -> None:
    options = "-o", "game_name=tic_tac_toe", "-o", "opponent_policy=first"
    with at_terminal("play", "openspiel_env_server:spec", *options) as terminal:
        assert "3 4 5" in terminal.expect("action_id> ")
        terminal.type("4")
        assert "o 1 2\n  3 x 5" in terminal.expect("action_id> ")


def test_gymnasiums_board_is_drawn_and_its_actions_have_names() -> None:
    with at_terminal("play", "gym:FrozenLake-v1?render_mode=ansi&is_slippery=false", "--seed", "1") as terminal:
        assert "S   F   F   F" in terminal.expect("action> ")
        terminal.type("up")
        terminal.expect("Move 1")
    with at_terminal("play", "gym:FrozenLake-v1", "--seed", "1") as terminal:
        assert "0 left  1 down  2 right  3 up" in terminal.expect("action> ").replace("\N{NO-BREAK SPACE}", " ")


def test_fields_are_asked_one_after_the_other_and_wrong_input_loses_nothing() -> None:
    with at_terminal("play", KITCHEN, "--seed", "1", "-o", "guests=7") as terminal:
        terminal.expect("Open for 7, seed 1")
        terminal.expect(FIRST)
        terminal.type("cake")
        assert "choose one of: soup, bread" in terminal.expect(FIRST)
        terminal.type("soup")
        terminal.expect(SECOND)
        terminal.type("nine")
        assert "not a whole number" in terminal.expect(SECOND)
        terminal.type("9")
        assert "from 1 to 5" in terminal.expect(SECOND)
        terminal.type("2")
        terminal.expect(THIRD)
        terminal.type("y")
        terminal.expect("2 soup, at once, no note")
        terminal.expect("Move 1: reward 0.5, return 0.5.")


def test_a_whole_action_may_be_typed_as_json() -> None:
    with at_terminal("play", KITCHEN) as terminal:
        terminal.expect(FIRST)
        terminal.type('{"dish": "bread", "count": 9, "now": false}')
        assert "less than or equal to 5" in terminal.expect(FIRST)
        terminal.type('{"dish": ')
        assert "not JSON" in terminal.expect(FIRST)
        terminal.type('/json {"dish": "bread", "count": 2, "now": false, "note": "well done"}')
        terminal.expect("2 bread, later, well done")
        terminal.expect("Move 1")


def test_an_environment_that_fails_is_told_apart_from_a_wrong_answer_and_played_on() -> None:
    with at_terminal("play", KITCHEN) as terminal:
        terminal.expect(FIRST)
        terminal.type('{"dish": "bread", "count": 5, "now": true}')
        assert "fire" in terminal.expect(FIRST)
        terminal.type("/reset 9")
        terminal.expect("seed 9")


def test_what_an_environment_says_never_steers_the_terminal() -> None:
    with at_terminal("play", KITCHEN) as terminal:
        terminal.expect("\\x1b[2J\\x1b[31mOpen for 1")
        terminal.expect(FIRST)
        terminal.type(f"x{STEERING}"[1:].replace("\x1b", "?"))
        terminal.expect(FIRST)
        assert STEERING not in terminal.shown


def test_help_and_state() -> None:
    with at_terminal("play", KITCHEN) as terminal:
        assert "? helps, /quit leaves" in terminal.expect(FIRST)
        terminal.type("?")
        helped = terminal.expect(FIRST)
        for text in ("Order a dish.", "dish: what is cooked.", "now: whether it is urgent.", "/reset", "Ctrl-D"):
            assert text in helped
        terminal.type("state")
        assert "step_count: 0" in terminal.expect(FIRST)
        terminal.type("/frobnicate")
        assert "is no command" in terminal.expect(FIRST)
        terminal.type("/reset soon")
        assert "whole number" in terminal.expect(FIRST)
        terminal.type("quit")
        terminal.expect("Goodbye.")
        assert terminal.end() == 0


def test_words_that_are_commands_elsewhere_are_guesses_where_a_text_is_asked_for() -> None:
    with at_terminal("play", "textarena_env_server:spec", variables={"NO_COLOR": "1"}) as terminal:
        for word in ("state", "reset"):
            terminal.expect("message> ")
            terminal.type(word)
            assert tiles(terminal.expect("Move "))[-1][0] == word


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_D, 0)])
def test_control_keys_end_the_command_and_its_server(key: str, code: int) -> None:
    with at_terminal("play", KITCHEN) as terminal:
        terminal.expect(FIRST)
        url = server_of(terminal)
        terminal.press(key)
        assert terminal.end() == code
        assert "Goodbye." in terminal.plain
        assert "Traceback" not in terminal.plain
    assert is_gone(url)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_closes_takes_the_server_with_it(number: signal.Signals) -> None:
    with at_terminal("play", KITCHEN) as terminal:
        terminal.expect(FIRST)
        url = server_of(terminal)
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number
    assert is_gone(url)


def test_a_running_server_is_played_where_it_is_and_its_session_is_given_back() -> None:
    with serving(Kitchen, env_name="kitchen") as served:
        with at_terminal("play", served.base_url) as terminal:
            assert "Cooks what is ordered" in terminal.expect(FIRST)
            assert served.active == 1
            terminal.type("quit")
            assert terminal.end() == 0
        eventually(lambda: served.active == 0)


def test_a_game_that_is_lost_is_said_to_be_lost() -> None:
    brief = {"idle_timeout_s": 0.5}
    with serving(Kitchen, limits=brief) as served, at_terminal("play", served.base_url) as terminal:
        terminal.expect(FIRST)
        eventually(lambda: served.active == 0)
        terminal.type('{"dish": "soup", "count": 1, "now": true}')
        assert "This game is lost" in terminal.expect("[Y/n] ")
        terminal.type("y")
        terminal.expect("Open for 1")


def piped(*words: str, lines: str = "", folder: Path = REPOSITORY) -> "subprocess.CompletedProcess[str]":
    """Run a command whose lines come from a pipe."""
    return subprocess.run(
        [*COMMAND, *words],
        input=lines,
        env=surroundings(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_lines_may_come_from_a_pipe() -> None:
    order = '{"dish": "soup", "count": 1, "now": true}\n'
    done = piped("play", KITCHEN, "--seed", "5", lines=3 * order)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Move 3: reward 0.5, return 1.5." in done.stdout
    assert "The game is over. 3 moves, return 1.5." in done.stdout
    assert done.stdout.count("> {") == 3
    assert "\x1b" not in done.stdout


def test_an_author_s_hooks_are_shown_and_their_actions_done_by_number() -> None:
    done = piped("play", "tests.playground.worlds:Gallery", "--seed", "1", lines="5\n3\n")
    assert done.returncode == 0
    assert "  4 show html" in done.stdout
    assert "  # A\n    G" in done.stdout
    assert "(picture: 3840 x 2160 pixels, which a terminal cannot show)" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no_such_environment",), "no environment 'no_such_environment' is installed"),
        ((KITCHEN, "-o", "guest=1"), "reset has no option 'guest'; it knows episode_id, guests, seed"),
        ((KITCHEN, "-o", "guests=many"), "guests"),
        ((KITCHEN, "-o", "guests"), "write KEY=VALUE"),
        ((KITCHEN, "--variant", "gas"), "there is no variant 'gas'; there are: coal"),
        (("http://127.0.0.1:9",), "http://127.0.0.1:9 does not answer"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(words: tuple[str, ...], told: str) -> None:
    done = piped("play", *words)
    assert done.returncode in (1, 2)
    assert told in " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.stderr).split())
    assert "Traceback" not in done.stderr
