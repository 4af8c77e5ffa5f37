"""The games of the OpenSpiel environment: opponents, rewards, and what an agent must not see."""

import asyncio
from typing import Any

import pyspiel  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pytest

from openenv_core.errors import ValidationFailedError
from openspiel_env import OpenSpielAction, OpenSpielObservation
from openspiel_env.models import OpponentPolicy
from openspiel_env_server import OpenSpielEnvironment
from openspiel_env_server.settings import OpenSpielSettings
from tests.envs.openspiel_play import act, along, play, replay, state_of


class TestGames:
    def test_tic_tac_toe_against_each_simple_opponent(self) -> None:
        answers: dict[OpponentPolicy, int] = {"first": 0, "last": 8, "middle": 5}
        for policy, answer in answers.items():
            environment = OpenSpielEnvironment()
            environment.reset(game_name="tic_tac_toe", opponent_policy=policy)
            observation = act(environment, 4)
            assert observation.opponent_last_action == answer
            assert len(observation.info_state) == 27
            assert environment.state.step_count == 1

    def test_the_second_seat_moves_second(self) -> None:
        environment = OpenSpielEnvironment()
        observation = environment.reset(game_name="tic_tac_toe", agent_player=1, opponent_policy="first")
        assert (observation.current_player_id, observation.opponent_last_action) == (1, 0)
        assert "You are player 1 (o)" in observation.text

    def test_minimax_never_loses(self) -> None:
        environment = OpenSpielEnvironment()
        outcomes = set()
        for seed in range(12):
            observations, _ = play(
                environment, seed, game_name="tic_tac_toe", agent_player=seed % 2, opponent_policy="minimax"
            )
            outcomes.add(observations[-1].reward)
        assert 1.0 not in outcomes
        assert -1.0 in outcomes

    def test_tree_search_is_seeded_and_beats_random_play(self) -> None:
        options: dict[str, Any] = {"game_name": "connect_four", "opponent_policy": "mcts"}
        environment = OpenSpielEnvironment()
        games = [play(environment, seed, **options) for seed in range(10)]
        assert sum(observations[-1].reward or 0.0 for observations, _ in games) <= -6
        for seed, (observations, actions) in enumerate(games[:4]):
            expected = [observation.model_dump_json() for observation in observations]
            assert replay(OpenSpielEnvironment(), seed, actions, **options) == expected

    def test_a_searching_opponent_lets_the_event_loop_go_on(self) -> None:
        async def main() -> tuple[OpenSpielObservation, OpenSpielObservation, int]:
            environment = OpenSpielEnvironment()
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            ticking = asyncio.create_task(tick())
            first = await environment.reset_async(
                seed=1, game_name="tic_tac_toe", agent_player=1, opponent_policy="minimax"
            )
            during = ticks
            second = await environment.step_async(OpenSpielAction(action_id=4))
            ticking.cancel()
            return first, second, during

        first, second, during = asyncio.run(main())
        assert during > 1
        same = OpenSpielEnvironment()
        assert same.reset(seed=1, game_name="tic_tac_toe", agent_player=1, opponent_policy="minimax") == first
        assert act(same, 4) == second

    def test_cliff_walking_pays_each_step_and_is_won_on_the_goal(self) -> None:
        environment = OpenSpielEnvironment()
        environment.reset(game_name="cliff_walking")
        up, right, down = 1, 0, 3
        observations = [act(environment, a) for a in [up, *[right] * 7, down]]
        assert [o.reward for o in observations] == [-1.0] * 9
        assert (observations[-1].done, observations[-1].success) == (True, True)
        environment.reset(game_name="cliff_walking")
        fallen = act(environment, right)
        assert (fallen.reward, fallen.done, fallen.success) == (-100.0, True, False)

    def test_2048_pays_every_merge_once(self) -> None:
        environment = OpenSpielEnvironment()
        for seed in range(10):
            observations, _ = play(environment, seed, game_name="2048")
            assert sum(o.reward or 0.0 for o in observations) == state_of(environment).returns()[0]
            assert observations[-1].success is False
        last = play(environment, 1, game_name="2048", game_params={"max_tile": 8})[0][-1]
        assert last.success is True

    def test_a_game_that_ends_before_the_agents_turn_still_pays(self) -> None:
        alone = OpenSpielSettings(
            game="nim", game_params={"pile_sizes": "1", "is_misere": True}, agent_player=1, opponent_policy="first"
        )
        observation = OpenSpielEnvironment(alone).reset()
        assert (observation.done, observation.reward, observation.success) == (True, 1.0, True)

    def test_points_of_the_other_players_turns_are_not_lost(self) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("cribbage",)))
        for seed in range(5):
            observations, _ = play(environment, seed, game_name="cribbage", agent_player=1)
            returns = state_of(environment).returns()
            assert sum(o.reward or 0.0 for o in observations) == pytest.approx(returns[1])

    @pytest.mark.parametrize("game_name", ["negotiation", "stones_and_gems"])
    def test_games_with_chance_of_their_own_follow_the_seed(self, game_name: str) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("*",)))
        starts = set()
        for seed in range(3):
            observations, actions = play(environment, seed, game_name=game_name)
            starts.add(observations[0].text)
            expected = [observation.model_dump_json() for observation in observations]
            assert replay(environment, seed, actions, game_name=game_name) == expected
        assert len(starts) == 3 or game_name == "stones_and_gems"

    def test_every_other_sequential_game_for_one_or_two_plays_to_its_end(self) -> None:
        anything = OpenSpielSettings(allowed_games=("*",), max_tensor=10_000)
        slow = {
            "bridge_uncontested_bidding",
            "chess",
            "crazyhouse",
            "shogi",
            "antichess",
            "rbc",
            "dark_chess",
            "kriegspiel",
        }
        slow |= {"go", "chinese_checkers", "cursor_go", "stones_and_gems"}
        played = set()
        for kind in pyspiel.registered_games():
            name = kind.short_name
            if name in slow or kind.min_num_players > 2 or kind.default_loadable is False:
                continue
            environment = OpenSpielEnvironment(anything)
            sequential = kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
            if not sequential or name == "crossword":
                with pytest.raises(ValidationFailedError):
                    environment.reset(game_name=name)
                continue
            observations, _ = play(environment, 1, game_name=name)
            played.add(name)
            assert observations[-1].done
            total = sum(o.reward or 0.0 for o in observations)
            assert total == pytest.approx(state_of(environment).returns()[0])
        assert len(played) > 50


class TestSecrets:
    @pytest.mark.parametrize("game_name", ["kuhn_poker", "leduc_poker", "liars_dice"])
    def test_what_is_sent_does_not_depend_on_what_others_hold(self, game_name: str) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(opponent_policy="first"))
        sent: dict[int, set[tuple[str, str]]] = {}
        hidden: dict[int, set[int]] = {}
        for seed in range(200):
            observation = environment.reset(seed=seed, game_name=game_name, episode_id="same")
            mine, other = state_of(environment).history()[:2]
            message = (observation.model_dump_json(), environment.state.model_dump_json())
            sent.setdefault(mine, set()).add(message)
            hidden.setdefault(mine, set()).add(other)
        assert all(len(messages) == 1 for messages in sent.values())
        assert all(len(cards) > 1 for cards in hidden.values())

    def test_the_dealers_first_card_stays_down(self) -> None:
        environment = OpenSpielEnvironment()
        for seed in range(100):
            observation = environment.reset(seed=seed, game_name="blackjack")
            first, second, down, up = state_of(environment).history()
            assert "Dealer: Cards: ??" in observation.text
            for other in {0, 20, 51} - {first, second, up, down}:
                *_, state = along("blackjack", [first, second, other, up])
                assert state.observation_tensor(0) == observation.info_state
                assert state.observation_string(0) in observation.text
            assert str(state_of(environment)) not in observation.model_dump_json()

    @pytest.mark.parametrize("game_name", ["phantom_ttt", "dark_hex", "battleship"])
    def test_hidden_moves_of_others_are_not_told(self, game_name: str) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("*",)))
        observations, _ = play(environment, 2, game_name=game_name)
        assert all(o.opponent_last_action is None and "another player:" not in o.text for o in observations)

    @pytest.mark.parametrize("policy", ["mcts", "minimax"])
    def test_an_opponent_that_would_see_hidden_cards_is_refused(self, policy: OpponentPolicy) -> None:
        with pytest.raises(ValidationFailedError, match="hidden"):
            OpenSpielEnvironment().reset(game_name="kuhn_poker", opponent_policy=policy)
