"""Values made at random: from a JSON schema, from a regular expression."""

from openenv_core.sampling.patterns import matching_text
from openenv_core.sampling.schema import Sampler, sample_from_schema

__all__ = ["Sampler", "matching_text", "sample_from_schema"]
