"""The OpenSpiel environment."""

import asyncio
from random import Random
from typing import Any

from openenv_core.environment import Environment
from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError, ValidationFailedError
from openspiel_env.models import OpenSpielAction, OpenSpielObservation, OpenSpielState, OpponentPolicy
from openspiel_env_server.games import Game, check_name, check_parameters, load
from openspiel_env_server.match import Match
from openspiel_env_server.opponents import Opponent, make_opponent
from openspiel_env_server.rendering import render, success
from openspiel_env_server.settings import OpenSpielSettings

__all__ = ["OpenSpielEnvironment"]


class OpenSpielEnvironment(Environment[OpenSpielAction, OpenSpielObservation, OpenSpielState]):
    """One seat at a turn-based game of OpenSpiel; the library's other players and its chance are played inside.

    All randomness, the opponents' included, comes from one generator per episode. A move takes microseconds and runs
    where it is called; in the ``*_async`` methods an opponent that searches does so in a thread meanwhile.
    """

    concurrency_safe = True
    execution = "inline"

    def __init__(self, settings: OpenSpielSettings | None = None) -> None:
        """Args:
        settings: what is played and what may be chosen; read from the environment variables where it is not given.

        Raises:
            ConfigurationError: an environment variable has a value that cannot work.
        """
        self._settings = settings or OpenSpielSettings.from_environ()
        self._bounds = self._settings.bounds
        self._seats: tuple[Match, Opponent] | None = None
        chosen = self._settings
        game = self._load(chosen.game, chosen.game_params, Random(0))
        self._state = _state_of(game, chosen.agent_player, chosen.opponent_policy, None)

    def reset(
        self,
        *,
        seed: int | None = None,
        episode_id: str | None = None,
        game_name: str | None = None,
        game_params: dict[str, Any] | None = None,
        opponent_policy: OpponentPolicy | None = None,
        agent_player: int | None = None,
    ) -> OpenSpielObservation:
        """Deal a new game. The options hold for this episode; what is not given is as the settings say.

        Args:
            seed: determines chance and opponents.
            episode_id: a name for the episode.
            game_name: the library's short name of a game that is offered here.
            game_params: the game's parameters, within bounds; the others have their defaults.
            opponent_policy: how the other players choose.
            agent_player: the agent's seat, counted from 0.

        Raises:
            ValidationFailedError: a choice that is not offered or cannot work. A running game goes on unchanged.
        """
        self._deal(seed, episode_id, game_name, game_params, opponent_policy, agent_player)
        self._play_opponents()
        return self._observe(first=True)

    async def reset_async(
        self,
        *,
        seed: int | None = None,
        episode_id: str | None = None,
        game_name: str | None = None,
        game_params: dict[str, Any] | None = None,
        opponent_policy: OpponentPolicy | None = None,
        agent_player: int | None = None,
    ) -> OpenSpielObservation:
        """:meth:`reset`, during which the event loop goes on while an opponent searches."""
        self._deal(seed, episode_id, game_name, game_params, opponent_policy, agent_player)
        await self._play_opponents_async()
        return self._observe(first=True)

    def step(self, action: OpenSpielAction) -> OpenSpielObservation:
        """Play ``action.action_id``, then chance and the other players up to the agent's next turn.

        Raises:
            ValidationFailedError: the action is not legal; ``details["legal_actions"]`` lists those that are. The game
                is unchanged.
        """
        self._play(action.action_id)
        self._play_opponents()
        return self._observe()

    async def step_async(self, action: OpenSpielAction) -> OpenSpielObservation:
        """:meth:`step`, during which the event loop goes on while an opponent searches."""
        self._play(action.action_id)
        await self._play_opponents_async()
        return self._observe()

    @property
    def state(self) -> OpenSpielState:
        """What is played, and how many actions the agent took."""
        return self._state

    def _load(self, name: str, params: Any, random: Random) -> Game:
        return load(name, params, chance_seed=random.getrandbits(30), largest_tensor=self._settings.max_tensor)

    def _deal(
        self,
        seed: int | None,
        episode_id: str | None,
        game_name: str | None,
        game_params: dict[str, Any] | None,
        opponent_policy: str | None,
        agent_player: int | None,
    ) -> None:
        settings, random = self._settings, Random(seed)
        name = settings.game if game_name is None else game_name
        check_name(name, settings.choosable_games)
        if game_params is None:
            # The operator's own parameters are trusted: they need not fit the bounds for clients.
            params = dict(settings.game_params) if name == settings.game else {}
        else:
            params = game_params
            check_parameters(name, params, self._bounds)
        game = self._load(name, params, random)
        seat = settings.agent_player if agent_player is None else agent_player
        _check_seat(seat, game)
        policy = settings.opponent_policy if opponent_policy is None else opponent_policy
        limits = {"simulations": settings.mcts_simulations, "depth": settings.minimax_depth}
        opponent = make_opponent(policy, game, random, **limits)
        self._seats = Match(game, seat, random), opponent
        self._state = _state_of(game, seat, policy, episode_id)

    def _play(self, action: int) -> None:
        match, _ = self._table()
        if match.is_over:
            raise EpisodeOverError("the game is over; call reset for the next one")
        legal = match.legal_actions()
        if type(action) is not int or action not in legal:
            message = f"action_id {action!r} is not legal here; legal actions: {legal}"
            problem = {"type": "illegal_action", "loc": ["action_id"], "msg": message, "input": repr(action)}
            raise ValidationFailedError(message, errors=[problem], legal_actions=legal)
        match.play(action)
        self._state.step_count += 1

    def _table(self) -> tuple[Match, Opponent]:
        if self._seats is None:
            raise EpisodeNotStartedError("no game was dealt yet; call reset first")
        return self._seats

    def _play_opponents(self) -> None:
        match, opponent = self._table()
        while match.awaits_opponent:
            match.play_opponent(opponent.choose(match.state))

    async def _play_opponents_async(self) -> None:
        match, opponent = self._table()
        while match.awaits_opponent:
            if opponent.searches:
                action = await asyncio.to_thread(opponent.choose, match.state.clone())
            else:
                action = opponent.choose(match.state)
            match.play_opponent(action)

    def _observe(self, *, first: bool = False) -> OpenSpielObservation:
        match, _ = self._table()
        legal, over = match.legal_actions(), match.is_over
        names = [match.state.action_to_string(match.agent, action) for action in legal]
        seen = match.last_opponent_action if match.game.moves_are_public else None
        return OpenSpielObservation(
            info_state=_tensor(match),
            legal_actions=legal,
            game_phase="terminal" if over else "initial" if first else "playing",
            current_player_id=match.state.current_player(),
            opponent_last_action=seen[0] if seen else None,
            text=render(match, legal, names),
            legal_action_names=names,
            # A game can end before the agent's first turn: its result must not be lost.
            reward=None if first and not over else match.collect_reward(),
            done=over,
            success=success(match),
        )


def _check_seat(seat: int, game: Game) -> None:
    if not 0 <= seat < game.players:
        message = f"agent_player must be from 0 to {game.players - 1} in {game.name}, not {seat}"
        problem = {"type": "value_error", "loc": ["agent_player"], "msg": message, "input": seat}
        raise ValidationFailedError(message, errors=[problem])


def _state_of(game: Game, seat: int, policy: str, episode_id: str | None) -> OpenSpielState:
    return OpenSpielState(
        episode_id=episode_id,
        game_name=game.name,
        agent_player=seat,
        opponent_policy=policy,
        game_params=dict(game.parameters),
        num_players=game.players,
    )


def _tensor(match: Match) -> list[float]:
    """The information state; the observation where there is none, as the library's own environment class does."""
    if match.game.has_information_tensor:
        return list(match.state.information_state_tensor(match.agent))
    if match.game.has_observation_tensor:
        return list(match.state.observation_tensor(match.agent))
    return []
