"""TRL's asynchronous rollouts: its own worker process plays with our environments, many at a time.

Everything is TRL's but the engine, which is a script behind HTTP in place of vLLM; vLLM's presence is what TRL is told.
"""

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from trl.experimental.async_grpo import async_rollout_worker

from openenv_core.training import environment_factory, make_rows
from openenv_core.training.demo.tiny import make_tokenizer
from tests.support.serving import serving
from tests.training.trl_scripts.engine import CALL, END, TALK, answer, schemas_of
from tests.training.trl_scripts.faults import Breaking
from tests.training.worlds import PaidClimbTools

GROUPS, ROLLOUTS, SLOTS = 6, 4, 8


class Engine(BaseHTTPRequestHandler):
    """Climbs a step until it is told that it is over."""

    protocol_version = "HTTP/1.1"
    tokenizer: Any = None

    def do_POST(self) -> None:
        """Answer a completion's request as vLLM does."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self.tokenizer.decode(asked["prompt"])
        is_over = any(word in text for word in ("There.", "Call no more tools"))
        ids = self.tokenizer.encode(END if is_over else CALL, add_special_tokens=False)
        choice = {"token_ids": ids, "logprobs": {"token_logprobs": [-1.0] * len(ids)}}
        data = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def collect(base_url: str, engine_url: str, tokenizer: Any) -> list[Any]:
    """The samples of some groups."""
    rows = make_rows(GROUPS, 0, prompt="Climb.")
    worker = async_rollout_worker.AsyncRolloutWorker(
        model_name="scripted",
        dataset=Dataset.from_list(rows),
        reward_funcs=[],
        processing_class=tokenizer,
        eos_token_ids=[tokenizer.eos_token_id],
        environment_factory=environment_factory(PaidClimbTools, base_url),
        num_generations=ROLLOUTS,
        max_inflight_tasks=SLOTS,
        vllm_server_url=engine_url,
    )
    worker.start()
    try:
        return [worker.rollout_buffer.get(timeout=60) for _ in range(GROUPS * ROLLOUTS)]
    finally:
        worker.stop()


def main() -> None:
    """Run it."""
    async_rollout_worker.is_vllm_available = lambda: True
    PartialState()  # as a trainer does: the worker's log wants it
    schemas = schemas_of(environment_factory(PaidClimbTools, "http://127.0.0.1:9")())
    tokenizer = Engine.tokenizer = make_tokenizer([TALK] * 4, schemas)
    with (
        serving(Breaking, env_name="climb", limits={"max_sessions": SLOTS + 1}) as served,
        ThreadingHTTPServer(("127.0.0.1", 0), Engine) as engine,
    ):
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        samples = collect(served.base_url, f"http://127.0.0.1:{engine.server_address[1]}", tokenizer)
        engine.shutdown()
    rewards = [sample.metrics["reward"] for sample in samples]
    answer(
        rewards=[None if math.isnan(reward) else reward for reward in rewards],
        advantages_of_faults=[s.advantage for s in samples if math.isnan(s.metrics["reward"])],
        prompt=samples[0].prompt[-1]["content"],
        columns=sorted(key for key in samples[0].metrics if key.startswith("rewards/")),
        own_words=[int(sample.completion_mask.sum()) > 0 for sample in samples],
    )


if __name__ == "__main__":
    main()
