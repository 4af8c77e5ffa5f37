"""OpenEnv Core: reinforcement-learning environments for language-model agents, behind WebSocket sessions."""
