"""Reads exports with the libraries that they are made for; run by the Python that has them."""

import json
import sys

from datasets import load_dataset

__all__: list[str] = []


def main(parquet: str, conversations: str, cache: str) -> None:
    """Write what there is, as JSON."""
    rows = load_dataset(parquet, split="train", cache_dir=cache)
    chats = load_dataset("json", data_files=conversations, split="train", cache_dir=cache)
    frames = [
        {
            "kind": row["kind"],
            "reward": row["reward"],
            "text": row["text"],
            "seed": row["seed"],
            "action": row["action"],
            "pictures": [[*picture.size, picture.getpixel((0, 0))] for picture in row["pictures"]],
        }
        for row in rows
    ]
    sys.stdout.write(json.dumps({"frames": frames, "chats": [dict(row) for row in chats]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
