"""Training on environments: tools for a model out of a client, and what a trainer needs around them.

Importing this loads no trainer and no tensor library.
"""

from openenv_core.training.attach import prepare
from openenv_core.training.dataset import make_dataset, make_rows
from openenv_core.training.factory import EnvironmentFactory, MultiEnvironment, active, environment_factory
from openenv_core.training.monitor import FaultLimitError, Monitor
from openenv_core.training.parallel import step_in_parallel
from openenv_core.training.record import Episode, Fault
from openenv_core.training.rewards import environment_reward, reward_function
from openenv_core.training.schemas import tool_names, tool_problems, tool_schemas
from openenv_core.training.tool_environment import OwnsReward, ToolCallError, ToolEnvironment

__all__ = [
    "EnvironmentFactory",
    "Episode",
    "Fault",
    "FaultLimitError",
    "Monitor",
    "MultiEnvironment",
    "OwnsReward",
    "ToolCallError",
    "ToolEnvironment",
    "active",
    "environment_factory",
    "environment_reward",
    "make_dataset",
    "make_rows",
    "prepare",
    "reward_function",
    "step_in_parallel",
    "tool_names",
    "tool_problems",
    "tool_schemas",
]
