"""A vision model of a few thousand parameters, made on the spot, and its processor."""

import importlib.resources
from typing import Any

from transformers import (
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)

from openenv_core.training.demo.tiny import make_tokenizer

__all__ = ["make_seeing_model"]

_PATCH, _MERGE = 8, 2
_MARKS = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
_EDGES = {"vision_start_token": "<|vision_start|>", "vision_end_token": "<|vision_end|>"}


class _Pictures(Qwen2VLImageProcessorPil):  # type: ignore[misc]
    """Gives tensors without being asked, as the variant does that needs torchvision."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **{**kwargs, "return_tensors": "pt"})


class _Processor(Qwen3VLProcessor):  # type: ignore[misc]
    """The public one without videos, for which it needs torchvision."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None) -> None:
        for name, mark in {**_MARKS, **_EDGES}.items():
            setattr(self, name, mark)
            setattr(self, f"{name}_id", tokenizer.convert_tokens_to_ids(mark))
        super(Qwen3VLProcessor, self).__init__(image_processor, tokenizer, chat_template=chat_template)


def make_seeing_model(talk: list[dict[str, Any]], schemas: list[Any]) -> tuple[Any, Any]:
    """An untrained model and its processor; the words are learned from a conversation."""
    tokenizer = make_tokenizer([talk] * 4, schemas)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", *_MARKS.values(), *_EDGES.values()]})
    template = (importlib.resources.files("trl") / "chat_templates" / "qwen3_vl.jinja").read_text(encoding="utf-8")
    pictures = _Pictures(patch_size=_PATCH, merge_size=_MERGE, min_pixels=256, max_pixels=4096)
    processor = _Processor(pictures, tokenizer, chat_template=template)
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 4096,
            "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3], "mrope_interleaved": True},
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": _PATCH,
            "spatial_merge_size": _MERGE,
            "temporal_patch_size": 2,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        **{f"{name}_id": tokenizer.convert_tokens_to_ids(mark) for name, mark in {**_MARKS, **_EDGES}.items()},
        tie_word_embeddings=True,
    )
    return Qwen3VLForConditionalGeneration(config).float(), processor
