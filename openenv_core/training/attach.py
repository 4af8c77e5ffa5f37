"""Getting a trainer ready: checks before the first rollout, metrics in its log, sessions closed at the end."""

import functools
import importlib
from typing import Any

from openenv_core.training.checks import check_dataset, check_template, factories_of, rollouts_of
from openenv_core.training.factory import EnvironmentFactory, active
from openenv_core.training.parallel import step_in_parallel
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["prepare"]


def prepare(trainer: Any, *, parallel: bool = True, check: bool = True) -> None:
    """Call it between making a trainer and ``train()``.

    It checks that the servers can be reached and have room for all rollouts of a generation batch, that the chat
    template shows tools, and that the dataset fits; puts the environments' figures (``env/...``) into the trainer's
    log; ends all sessions when ``train()`` ends or raises; and lets the tool calls of a batch run at the same time.

    Args:
        trainer: a ``GRPOTrainer`` whose ``environment_factory`` is of
            :func:`~openenv_core.training.factory.environment_factory`.
        parallel: run the resets and the tool calls of different rollouts at the same time.
        check: check.

    Raises:
        ConfigurationError: something does not fit; the message says what and names the numbers.
        ConnectionFailedError: a server cannot be reached.
    """
    if getattr(trainer, "_openenv_prepared", False):
        return
    trainer._openenv_prepared = True
    factories = factories_of(trainer)
    if check:
        check_dataset(getattr(trainer, "train_dataset", None), factories)
        check_template(trainer.processing_class, factories)
        for factory in factories.values():
            factory.check(rollouts_of(trainer.args))
    if parallel:
        step_in_parallel(trainer)
    # In front of the reporters, which must find the figures in the log that they send.
    trainer.callback_handler.callbacks.insert(0, _callback(trainer, list(factories.values())))
    trainer.train = _closing(trainer.train, list(factories.values()))


def _closing(train: Any, factories: list[EnvironmentFactory]) -> Any:
    @functools.wraps(train)
    def train_and_close(*args: Any, **kwargs: Any) -> Any:
        try:
            return train(*args, **kwargs)
        finally:
            for factory in factories:
                factory.close()

    return train_and_close


def _callback(trainer: Any, factories: list[EnvironmentFactory]) -> Any:
    """A callback of the class that the installed transformers wants; importing it here keeps this module light."""
    base: Any = importlib.import_module("transformers").TrainerCallback
    monitors = [factory.monitor for factory in factories]

    class Figures(base):  # type: ignore[misc]
        """Counts what reward functions have not counted yet, and adds the figures to the log."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Count the batch."""
            found = [active(environment) for environment in getattr(trainer, "environments", None) or []]
            for monitor in monitors:
                monitor.collect(
                    [one.episode for one in found if isinstance(one, ToolEnvironment) and one._monitor is monitor]
                )

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            """Add the figures."""
            for monitor in monitors:
                figures = monitor.metrics()
                if logs is not None:
                    logs.update(figures)
                if state.log_history:
                    state.log_history[-1].update(figures)

    return Figures()
