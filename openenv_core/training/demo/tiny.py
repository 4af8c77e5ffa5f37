"""A language model of under a million parameters that can be trained on a CPU in minutes, and its tokenizer.

The tokenizer's merges cross spaces but not line ends, so that what is always the same, like the tools' schemas and the
JSON of a tool call, becomes few tokens: a model this small could not learn to spell them.
"""

import importlib.resources
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

__all__ = ["make_model", "make_tokenizer", "template", "training_examples", "warm_up"]

_VOCABULARY = 1024
_CHAT = "qwen3_instruct_2507"
"""A template of TRL that renders a longer conversation as a continuation of the shorter one, and has no reasoning."""
_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_MARKERS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]


def template(*, for_training: bool = False) -> str:
    """The chat template, or its twin that marks what the assistant says."""
    name = f"{_CHAT}_training.jinja" if for_training else f"{_CHAT}.jinja"
    return (importlib.resources.files("trl") / "chat_templates" / name).read_text(encoding="utf-8")


def make_tokenizer(conversations: Iterable[list[dict[str, Any]]], tools: Sequence[Any]) -> Any:
    """A tokenizer whose vocabulary is learned from conversations.

    Args:
        conversations: lists of messages.
        tools: the tools that their prompts show, as methods or as schemas.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("\n"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    wrapped = _wrapped(core)
    texts = [wrapped.apply_chat_template(messages, tools=list(tools), tokenize=False) for messages in conversations]
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    for word in [*_SPECIAL, *_MARKERS]:
        texts = [text.replace(word, "\n") for text in texts]
    core.train_from_iterator(texts, trainer)
    core.add_tokens(_MARKERS)
    return _wrapped(core)


def _wrapped(core: Tokenizer) -> Any:
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        chat_template=template(),
        additional_special_tokens=["<|im_start|>"],
    )


def make_model(tokenizer: Any, *, seed: int = 0) -> Any:
    """An untrained model for a tokenizer: two layers, 64 wide."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config).float()


def training_examples(
    tokenizer: Any, conversations: Iterable[list[dict[str, Any]]], tools: Sequence[Any]
) -> list[tuple[list[int], list[int]]]:
    """Token ids of conversations, and a mask of what the assistant says in them, with which to warm a model up."""
    examples = []
    for messages in conversations:
        encoded = tokenizer.apply_chat_template(
            messages,
            tools=list(tools),
            chat_template=template(for_training=True),
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        examples.append((list(encoded["input_ids"]), list(encoded["assistant_masks"])))
    return examples


def warm_up(
    model: Any,
    examples: Sequence[tuple[list[int], list[int]]],
    *,
    steps: int,
    batch: int = 16,
    learning_rate: float = 5e-3,
    seed: int = 0,
    report: Callable[[int, float], None] | None = None,
) -> float:
    """Teach a model to speak as in the examples; returns the mean loss of the last twenty steps.

    The warm-up must last until the form of a tool call is learned, and the player in the examples must look at what it
    sees: reinforcement learning sharpens what is there already.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=learning_rate, total_steps=steps, pct_start=0.1)
    generator = torch.Generator().manual_seed(seed)
    losses = []
    model.train()
    for step in range(steps):
        chosen = torch.randint(len(examples), (batch,), generator=generator).tolist()
        ids, labels = _padded([examples[index] for index in chosen], model.config.pad_token_id)
        loss = model(input_ids=ids, attention_mask=(ids != model.config.pad_token_id).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if report is not None:
            report(step + 1, losses[-1])
    return sum(losses[-20:]) / len(losses[-20:])


def _padded(examples: Sequence[tuple[list[int], list[int]]], pad: int) -> tuple[Any, Any]:
    width = max(len(ids) for ids, _ in examples)
    ids = torch.full((len(examples), width), pad)
    labels = torch.full((len(examples), width), -100)
    for row, (tokens, mask) in enumerate(examples):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        said = [token if is_said else -100 for token, is_said in zip(tokens, mask, strict=True)]
        labels[row, : len(tokens)] = torch.tensor(said)
    return ids, labels
