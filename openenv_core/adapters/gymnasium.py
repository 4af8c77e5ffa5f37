"""Gymnasium both ways: a served environment as a ``gymnasium.Env`` or ``VectorEnv``, and the other way round.

Needs the ``gymnasium`` extra.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from openenv_core.adapters.hosting import environment_from_gymnasium, spec_from_gymnasium
from openenv_core.adapters.translation import translation_for
from openenv_core.client import EnvClient
from openenv_core.client.batch import BatchClient
from openenv_core.errors import ConfigurationError
from openenv_core.types import StepResult

__all__ = ["GymnasiumEnv", "GymnasiumVectorEnv", "environment_from_gymnasium", "spec_from_gymnasium"]

Space = gymnasium.Space[Any]
_SEEDS = 2**31


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """A served environment as a ``gymnasium.Env``.

    An environment that the server hosts with :func:`environment_from_gymnasium` needs nothing more: its state tells the
    spaces. Nor does one whose models have bounded numbers, booleans, enumerations and fixed lists of them only. For any
    other, give the spaces and the functions that lead to and from its models:

    >>> env = GymnasiumEnv(   # doctest: +SKIP
    ...     OpenSpielEnv(base_url="http://127.0.0.1:8000"),
    ...     action_space=Discrete(3),
    ...     observation_space=Box(0, 1, (50,), numpy.float32),
    ...     to_action=lambda action: OpenSpielAction(action_id=int(action)),
    ...     from_observation=lambda observation: numpy.array(observation.info_state, numpy.float32),
    ... )

    ``info`` is the observation's metadata, at the end with ``is_success`` where the environment tells. A reward of
    ``None`` counts as 0. ``reset(options=…)`` passes the entries as the environment's reset options. After a seed was
    given, each ``reset`` without one continues its sequence, as Gymnasium wants.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 30}

    def __init__(
        self,
        client: EnvClient[Any, Any, Any],
        *,
        action_space: Space | None = None,
        observation_space: Space | None = None,
        to_action: Callable[[Any], Any] | None = None,
        from_observation: Callable[[Any], Any] | None = None,
    ) -> None:
        """Args:
        client: a blocking client; :meth:`close` closes it.
        action_space, observation_space: default: the environment's own.
        to_action: from a sample of the action space to what ``client.step`` takes.
        from_observation: from an observation to a sample of the observation space, which shares nothing with it.

        Raises:
            ConfigurationError: something is not given and cannot be found out; the message says what.
        """
        self._client = client
        given = {"to_action": to_action, "from_observation": from_observation}
        self._translation = translation_for(
            client, client.state, action_space=action_space, observation_space=observation_space, **given
        )
        self.action_space = self._translation.action_space
        self.observation_space = self._translation.observation_space
        self.render_mode = self._translation.render_mode
        self._seeded = False
        self._last: StepResult[Any] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode. Raises as ``EnvClient.reset`` does."""
        super().reset(seed=seed)
        self._seeded = self._seeded or seed is not None
        # A hosted environment continues the sequence of its own generator, as it would do here.
        if seed is None and self._seeded and not self._translation.hosted:
            seed = int(self.np_random.integers(_SEEDS))
        result = self._client.reset(**self._translation.reset_options(seed, options))
        self._last = result
        return self._translation.from_observation(result.observation), info_of(result)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do one action. Raises as ``EnvClient.step`` does: a fault is never a reward."""
        result = self._client.step(self._translation.to_action(action))
        self._last = result
        observation = self._translation.from_observation(result.observation)
        return observation, float(result.reward or 0.0), result.terminated, result.truncated, info_of(result)

    def render(self) -> Any:
        """The picture (an array) or the text of the last observation, where the hosted environment renders."""
        return None if self._last is None else self._translation.rendering(self._last.observation)

    def close(self) -> None:
        """Close the client, and with it the session."""
        self._client.close()


class GymnasiumVectorEnv(VectorEnv[Any, Any, Any]):
    """Sessions of a batch client as a Gymnasium vector environment, stepped together.

    ``metadata["autoreset_mode"]`` says what happens after the end of an episode, as Gymnasium defines it: by default
    ``NEXT_STEP``, in which the next step ignores that session's action and resets it. The other arguments, ``info`` and
    seeds are as in :class:`GymnasiumEnv`.
    """

    def __init__(
        self,
        batch: BatchClient[Any, Any, Any],
        *,
        action_space: Space | None = None,
        observation_space: Space | None = None,
        to_action: Callable[[Any], Any] | None = None,
        from_observation: Callable[[Any], Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Args:
        batch: the sessions; :meth:`close` closes it.
        action_space, observation_space: of one session.
        to_action, from_observation: as in :class:`GymnasiumEnv`, for one session.
        autoreset_mode: ``NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``.

        Raises:
            ConfigurationError: as :class:`GymnasiumEnv`.
        """
        self._batch = batch
        given = {"to_action": to_action, "from_observation": from_observation}
        self._translation = translation_for(
            batch, lambda: batch.state()[0], action_space=action_space, observation_space=observation_space, **given
        )
        self.num_envs = len(batch)
        self.single_action_space = self._translation.action_space
        self.single_observation_space = self._translation.observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self._generators: list[numpy.random.Generator | None] = [None] * self.num_envs
        self._observations: list[Any] = [None] * self.num_envs
        self._over = numpy.zeros(self.num_envs, numpy.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every session, or in those of ``options["reset_mask"]``, an array of booleans.

        Args:
            seed: one for each session, or the first of a row of them.
            options: reset options, the same for all sessions.
        """
        seeds = self._seeds(seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        chosen = numpy.ones(self.num_envs, numpy.bool_) if mask is None else self._mask(mask)
        infos = self._reset(numpy.flatnonzero(chosen).tolist(), seeds, options or None)
        return self._batched(), self._merged(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Do one action in every session. Raises as ``BatchClient.step`` does: a fault is never a reward."""
        rewards = numpy.zeros(self.num_envs, numpy.float64)
        terminations, truncations = (numpy.zeros(self.num_envs, numpy.bool_) for _ in range(2))
        over = numpy.flatnonzero(self._over).tolist()
        if over and self.autoreset_mode is AutoresetMode.DISABLED:
            raise ConfigurationError(f"episodes {over} are over; reset them with options={{'reset_mask': …}}")
        infos = self._reset(over)
        asked = {
            index: self._translation.to_action(action)
            for index, action in enumerate(iterate(self.action_space, actions))
            if index not in over
        }
        results = self._batch.step(asked) if asked else []
        for index, result in zip(asked, results, strict=True):
            rewards[index] = result.reward or 0.0
            terminations[index], truncations[index] = result.terminated, result.truncated
            infos[index] = self._keep(index, result)
        self._over = terminations | truncations
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = numpy.flatnonzero(self._over).tolist()
            final = {i: {"final_obs": self._observations[i], "final_info": infos[i]} for i in ended}
            infos.update({i: {**final[i], **info} for i, info in self._reset(ended).items()})
        return self._batched(), rewards, terminations, truncations, self._merged(infos)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the batch client, and with it all sessions."""
        self._batch.close()

    def _reset(
        self, indices: list[int], seeds: Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> dict[int, dict[str, Any]]:
        """Start episodes; the info of each."""
        if not indices:
            return {}
        asked = {index: self._next_seed(index, seeds[index] if seeds else None) for index in indices}
        each = [self._translation.reset_options(seed, options) for seed in asked.values()]
        results = self._batch.reset(indices=indices, options=each)
        self._over[indices] = False
        return {index: self._keep(index, result) for index, result in zip(indices, results, strict=True)}

    def _keep(self, index: int, result: StepResult[Any]) -> dict[str, Any]:
        self._observations[index] = self._translation.from_observation(result.observation)
        return info_of(result)

    def _merged(self, infos: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
        # In the order of the sessions: the first value of a key chooses the type of its array.
        merged: dict[str, Any] = {}
        for index in sorted(infos):
            merged = self._add_info(merged, infos[index], index)
        return merged

    def _batched(self) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, self._observations, empty)

    def _next_seed(self, index: int, seed: int | None) -> int | None:
        if seed is not None:
            self._generators[index] = numpy.random.default_rng(seed)
            return seed
        generator = self._generators[index]
        if generator is None or self._translation.hosted:
            return None
        return int(generator.integers(_SEEDS))

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            super().reset(seed=seed)
            return [seed + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ConfigurationError(f"{len(seed)} seeds for {self.num_envs} sessions")
        return list(seed)

    def _mask(self, mask: Any) -> Any:
        found = numpy.asarray(mask)
        if found.shape != (self.num_envs,) or found.dtype != numpy.bool_ or not found.any():
            raise ConfigurationError(
                f"reset_mask must be an array of {self.num_envs} booleans, at least one of them true, not {mask!r}"
            )
        return found


def info_of(result: StepResult[Any]) -> dict[str, Any]:
    """Gymnasium's ``info`` for a result."""
    info = dict(result.metadata or {})
    observation = result.observation
    success = observation.get("success") if isinstance(observation, Mapping) else getattr(observation, "success", None)
    if success is not None:
        info["is_success"] = success
    return info
