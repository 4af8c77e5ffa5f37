"""A whole training run on a machine without a GPU: a model made on the spot learns Catch on a server of ours.

Run it with ``python -m openenv_core.training.demo``. Only what is started there loads torch and TRL.
"""
