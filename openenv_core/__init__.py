"""OpenEnv Core: reinforcement-learning environments for language-model agents, behind WebSocket sessions."""

__version__ = "1.0.0.dev0"
