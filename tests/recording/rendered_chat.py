"""Renders exported conversations as TRL's trainers do, with a template of its own; run by the Python that has TRL."""

import json
import sys
from pathlib import Path

import trl
from transformers.utils.chat_template_utils import render_jinja_template

__all__: list[str] = []


def main(conversations: str) -> None:
    """Write each conversation as its text."""
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3_instruct_2507.jinja"
    rows = [json.loads(line) for line in Path(conversations).read_text(encoding="utf-8").splitlines()]
    for row in rows:
        texts, _ = render_jinja_template([row["messages"]], tools=row["tools"], chat_template=template.read_text())
        sys.stdout.write(json.dumps(texts[0]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
