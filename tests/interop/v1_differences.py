"""Where a server of ours deliberately answers otherwise than the golden file of protocol version 1, and why.

Each entry states what is sent instead, byte for byte: a difference that is not in this table fails the test, and so
does an entry that has become untrue. ``"…"`` stands for a value that is made up anew each time.
"""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["HTTP", "WEBSOCKET", "Difference"]


@dataclass(frozen=True)
class Difference:
    """What changes in the record of one case.

    Attributes:
        reason: why, in one sentence.
        replies: the reply to each message that is answered otherwise, by its place among the messages.
        changes: other entries of the record.
    """

    reason: str
    replies: dict[int, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)

    def expected(self, golden: dict[str, Any]) -> dict[str, Any]:
        """The record that a server of ours gives."""
        expected = {**golden, **self.changes}
        if self.replies:
            expected["replies"] = [self.replies.get(at, reply) for at, reply in enumerate(golden["replies"])]
        return expected


_UNTOUCHED = '{"type":"state","data":{"episode_id":"unnamed","step_count":0,"difficulty":"easy"}}'


def _error(rest: str) -> str:
    return f'{{"type":"error","data":{{{rest}}}}}'


def _observation(echoed: str, fields: str) -> str:
    inside = f'{{"metadata":{{}},"echoed":"{echoed}","count":1,{fields}}}'
    return f'{{"type":"observation","data":{{"observation":{inside},"reward":1,"done":false}}}}'


def _not_an_object(what: str) -> Difference:
    return Difference(
        "JSON that is not an object is an error reply; the session, which it does not concern, lives",
        replies={0: _error(f'"message":"Invalid JSON: {what}","code":"INVALID_JSON"'), 1: _UNTOUCHED},
        changes={"close": None},
    )


def _failed(at: int, message: str) -> Difference:
    return Difference(
        "an error reply names the entry of the server's log that has the traceback, and is never without a text",
        replies={at: _error(f'"message":"{message}","code":"EXECUTION_ERROR","error_id":"…"')},
    )


_PYDANTIC = "https://errors.pydantic.dev/2.14/v"

_ENVELOPES = {
    "json array": _not_an_object("a frame is an object, not list"),
    "json string": _not_an_object("a frame is an object, not str"),
    "json number": _not_an_object("a frame is an object, not int"),
    "json null": _not_an_object("a frame is an object, not NoneType"),
    "binary frame": _not_an_object("a binary frame; send text"),
}

_VALUES = {
    "reply raw-bytes": Difference(
        "bytes that are no UTF-8 text have an encoding",
        replies={1: _observation("raw-bytes", '"blob":"data:;base64,//4=","number":0.0,"extra":null')},
    ),
    "reply array": Difference(
        "numpy arrays have an encoding",
        replies={1: _observation("array", '"blob":null,"number":0.0,"extra":[0,1,2]')},
    ),
    "reply scalar": Difference(
        "numpy numbers have an encoding",
        replies={1: _observation("scalar", '"blob":null,"number":0.0,"extra":0.5')},
    ),
    "reply infinite": Difference(
        "infinity is not silently lost: pydantic reads the word back as a number",
        replies={1: _observation("infinite", '"blob":null,"number":"Infinity","extra":null')},
    ),
    "reply nan-reward": Difference(
        "a reward that is not a number is an error of the environment and never no reward",
        replies={
            1: _error(
                '"message":"the reward is nan, not a finite number. The call itself has run.",'
                '"code":"EXECUTION_ERROR","reward":"nan","error":"INVALID_REWARD"'
            )
        },
    ),
}

_VALIDATION = {
    "action refused by its own validator": Difference(
        "error lists always serialize, and the session lives",
        replies={
            0: _error(
                '"message":"Invalid message","code":"VALIDATION_ERROR","errors":[{"type":"value_error","loc":["text"],'
                '"msg":"Value error, this word is refused","input":"veto","ctx":{"error":"this word is refused"},'
                f'"url":"{_PYDANTIC}/value_error"}}]'
            ),
            1: _UNTOUCHED,
        },
        changes={"close": None},
    ),
    "action not a list": Difference(
        "actions are read straight from JSON, where pydantic says array for list",
        replies={
            0: _error(
                '"message":"Invalid message","code":"VALIDATION_ERROR","errors":[{"type":"list_type","loc":["tags"],'
                f'"msg":"Input should be a valid array","input":3,"url":"{_PYDANTIC}/list_type"}}]'
            )
        },
    ),
    "seed is text": Difference(
        "a reset over WebSocket checks its options as one over HTTP does",
        replies={
            0: _error(
                '"message":"reset option \'seed\': Input should be a valid integer, unable to parse string as an '
                'integer","code":"VALIDATION_ERROR","errors":[{"type":"int_parsing","loc":["seed"],"msg":"Input should '
                'be a valid integer, unable to parse string as an integer","input":"abc",'
                f'"url":"{_PYDANTIC}/int_parsing"}}]'
            )
        },
    ),
    "seed is negative": Difference(
        "a reset over WebSocket checks its options as one over HTTP does",
        replies={
            0: _error(
                '"message":"reset option \'seed\': Input should be greater than or equal to 0",'
                '"code":"VALIDATION_ERROR","errors":[{"type":"greater_than_equal","loc":["seed"],"msg":"Input should '
                f'be greater than or equal to 0","input":-5,"ctx":{{"ge":0}},"url":"{_PYDANTIC}/greater_than_equal"}}]'
            )
        },
    ),
}

_FAILURES = {
    "exception in step": _failed(1, "step exploded"),
    "exception with a quoted text": _failed(1, "'missing'"),
    "exception without a text": _failed(1, "ValueError"),
    "exception in reset": _failed(0, "reset exploded"),
}

WEBSOCKET: dict[str, Difference] = {
    **_ENVELOPES,
    **_VALUES,
    **_VALIDATION,
    **_FAILURES,
    "factory fails": Difference(
        "an error reply names the entry of the server's log that has the traceback",
        changes={
            "greeting": _error(
                '"message":"Environment factory \'broken_factory\' failed to create instance.","code":"FACTORY_ERROR",'
                '"factory_name":"broken_factory","error_id":"…"'
            )
        },
    ),
    "unknown session": Difference(
        "the reply says also in our terms that the session is lost",
        changes={
            "greeting": _error(
                '"message":"Unknown session_id: nope","code":"SESSION_ERROR","reason":"server_restarted",'
                '"error":"SESSION_LOST"'
            )
        },
    ),
}
"""By name of the case."""


def _http_error(status: int, code: str, message: str, details: str) -> Difference:
    return Difference(
        "errors over HTTP say what happened, in JSON",
        changes={
            "status": status,
            "content_type": "application/json",
            "reply": f'{{"detail":"{message}","code":"{code}","message":"{message}","details":{details}}}',
        },
    )


def _described(name: str, description: str) -> Difference:
    told = f'"name":"{name}","description":"{description}","readme_content":null,"version":"1.0.0"'
    return Difference(
        "an environment is described by the first line of its docstring, without building one",
        changes={
            "status": 200,
            "content_type": "application/json",
            "reply": f'{{{told},"author":null,"documentation_url":null}}',
        },
    )


_BROKEN = _http_error(
    500,
    "FACTORY_ERROR",
    "Environment factory 'broken_factory' failed to create instance.",
    '{"factory_name":"broken_factory","error_id":"…"}',
)
HTTP: dict[str, Difference] = {
    "metadata": _described("TaskToyEnvironment", "The same with tasks in splits."),
    "metadata of a broken factory": _described("ToyEnvironment", "Says back what it is told."),
    "reset of a broken factory": _BROKEN,
    "exception in reset": _http_error(500, "EXECUTION_ERROR", "reset exploded", '{"error_id":"…"}'),
    "step with a refused action": Difference(
        "error lists always serialize",
        changes={
            "status": 422,
            "content_type": "application/json",
            "reply": (
                '{"detail":[{"type":"value_error","loc":["text"],"msg":"Value error, this word is refused",'
                '"input":"veto","ctx":{"error":"this word is refused"},'
                f'"url":"{_PYDANTIC}/value_error"}}]}}'
            ),
        },
    ),
    "exception in step": _http_error(500, "EXECUTION_ERROR", "step exploded", '{"error_id":"…"}'),
}
"""By name of the case."""
