"""The requests of the golden file: what a client of protocol version 1 may say, right and wrong."""

from typing import Any

from .player import Case

__all__ = ["HTTP_CASES", "WEBSOCKET_CASES"]


def _websocket(name: str, *send: Any, app: str = "app", path: str = "/ws", hold: int = 0) -> Case:
    return {"name": name, "app": app, "path": path, "hold": hold, "send": list(send)}


def _step(fields: str) -> str:
    return f'{{"type":"step","data":{fields}}}'


def _say(text: str) -> str:
    return _step(f'{{"text":"{text}"}}')


RESET = '{"type":"reset","data":{}}'
STATE = '{"type":"state"}'

_PLAIN_PLAY = [
    _websocket("reset", RESET),
    _websocket("reset without data", '{"type":"reset"}'),
    _websocket(
        "reset with options",
        '{"type":"reset","data":{"seed":7,"episode_id":"e1","difficulty":"hard"}}',
        STATE,
    ),
    _websocket("reset with an unknown option", '{"type":"reset","data":{"seed":7,"unknown":1}}'),
    _websocket("reset with a null seed", '{"type":"reset","data":{"seed":null}}'),
    _websocket("step", RESET, _step('{"text":"hi","times":2,"voice":"loud","tags":[1,2]}')),
    _websocket("step with white space", RESET, ' {"type" : "step",\n "data" : {"text" : "hi"}} '),
    _websocket("step with keys in another order", RESET, '{"data":{"text":"hi"},"type":"step"}'),
    _websocket("step with action metadata", RESET, _step('{"text":"hi","metadata":{"a":[1]}}')),
    _websocket("step before reset", _say("early"), STATE),
    _websocket("step after the end", RESET, _say("end"), _say("late"), STATE),
    _websocket("state before reset", STATE),
    _websocket("state", RESET, _say("hi"), STATE),
    _websocket("unicode", RESET, _say("é ☃ 𝄞"), _say("\\u00e9\\n\\u2028")),
    _websocket("a value that pydantic turns into the right type", RESET, _step('{"text":"hi","times":"2"}')),
    _websocket("close", RESET, '{"type":"close"}'),
]

_REPLIES = [
    _websocket(f"reply {word}", RESET, _say(word))
    for word in (
        *("meta", "true", "float", "tiny", "none", "end", "text-bytes", "raw-bytes"),
        *("nan-reward", "infinite", "array", "scalar", "nested"),
    )
]

_ENVELOPE_ERRORS = [
    _websocket("bad json", "{not json", STATE),
    _websocket("bad json, cut short", '{"type":"reset"', STATE),
    _websocket("bad json, empty", "", STATE),
    _websocket("bad json, two values", f"{RESET} {RESET}", STATE),
    _websocket("bad json, single quotes", "{'type':'reset'}", STATE),
    _websocket("json array", "[1,2]", STATE),
    _websocket("json string", '"reset"', STATE),
    _websocket("json number", "5", STATE),
    _websocket("json null", "null", STATE),
    _websocket("binary frame", {"binary": RESET.encode().hex()}, STATE),
    _websocket("unknown type", '{"type":"frobnicate"}'),
    _websocket("no type", '{"data":{}}'),
    _websocket("type of another kind", '{"type":5}', '{"type":null}', '{"type":true}'),
    _websocket("extra key in reset", '{"type":"reset","data":{},"extra":1}'),
    _websocket("extra key in step", '{"type":"step","data":{"text":"hi"},"timeout_s":5}'),
    _websocket("two extra keys", '{"type":"state","a":1,"b":[2]}'),
    _websocket("data in state", '{"type":"state","data":{}}'),
    _websocket("data in close", '{"type":"close","data":{}}'),
    _websocket("step without data", '{"type":"step"}'),
    _websocket("step without data and with an extra key", '{"type":"step","extra":1}'),
    _websocket("reset data is a list", '{"type":"reset","data":[]}'),
    _websocket("reset data is null", '{"type":"reset","data":null}'),
    _websocket("step data is a string", _step('"hi"')),
]

_ACTION_ERRORS = [
    _websocket("action without its field", _step("{}")),
    _websocket("action too short", _say("")),
    _websocket("action too long", _say("a" * 21)),
    _websocket("action of the wrong type", _step('{"text":5}')),
    _websocket("action not an integer", _step('{"text":"hi","times":"two"}')),
    _websocket("action fraction for an integer", _step('{"text":"hi","times":1.5}')),
    _websocket("action out of range", _step('{"text":"hi","times":9}')),
    _websocket("action not one of the choices", _step('{"text":"hi","voice":"shy"}')),
    _websocket("action list with bad items", _step('{"text":"hi","tags":[1,"x",null]}')),
    _websocket("action not a list", _step('{"text":"hi","tags":3}')),
    _websocket("action with an extra field", _step('{"text":"hi","extra":{"a":1}}')),
    _websocket("action with many errors", _step('{"times":0,"voice":1,"tags":["x"],"extra":null}')),
    _websocket("action refused by its own validator", _say("veto"), STATE),
]

_ENVIRONMENT_ERRORS = [
    _websocket("exception in step", RESET, _say("boom"), _say("hi")),
    _websocket("exception with a quoted text", RESET, _say("key")),
    _websocket("exception without a text", RESET, _say("silent")),
    _websocket("exception in reset", '{"type":"reset","data":{"difficulty":"boom"}}', RESET),
    _websocket("seed is text", '{"type":"reset","data":{"seed":"abc"}}'),
    _websocket("seed is negative", '{"type":"reset","data":{"seed":-5}}'),
]

_SESSIONS = [
    _websocket("at capacity", app="plain_app", hold=1),
    _websocket("factory fails", app="broken_app"),
    _websocket("unknown session", path="/ws?session_id=nope"),
    _websocket(
        "tools of an environment without tools", '{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}'
    ),
    _websocket("unknown method", '{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"method":"initialize"}}'),
    _websocket("mcp without data", '{"type":"mcp"}'),
]

WEBSOCKET_CASES = [*_PLAIN_PLAY, *_REPLIES, *_ENVELOPE_ERRORS, *_ACTION_ERRORS, *_ENVIRONMENT_ERRORS, *_SESSIONS]


def _http(name: str, method: str, path: str, body: str | None = None, app: str = "app") -> Case:
    return {"name": name, "app": app, "method": method, "path": path, "body": body}


_INFORMATION = [
    _http("health", "GET", "/health"),
    _http("health of a broken factory", "GET", "/health", app="broken_app"),
    _http("metadata", "GET", "/metadata"),
    _http("metadata of a broken factory", "GET", "/metadata", app="broken_app"),
    _http("schema", "GET", "/schema"),
    _http("state", "GET", "/state"),
    _http("state of a broken factory", "GET", "/state", app="broken_app"),
    _http("unknown path", "GET", "/nowhere"),
    _http("no page without the web interface", "GET", "/web"),
    _http("wrong method", "GET", "/reset"),
]

_CALLS = [
    _http("reset without a body", "POST", "/reset"),
    _http("reset with an empty body", "POST", "/reset", "{}"),
    _http("reset with options", "POST", "/reset", '{"seed":3,"episode_id":"e9","difficulty":"hard"}'),
    _http("reset with an unknown option", "POST", "/reset", '{"seed":3,"unknown":1}'),
    _http("reset with a negative seed", "POST", "/reset", '{"seed":-1}'),
    _http("reset with a long episode id", "POST", "/reset", f'{{"episode_id":"{"e" * 256}"}}'),
    _http("exception in reset", "POST", "/reset", '{"difficulty":"boom"}'),
    _http("reset of a broken factory", "POST", "/reset", "{}", app="broken_app"),
    _http("step", "POST", "/step", '{"action":{"text":"hi"}}'),
    _http("step with metadata", "POST", "/step", '{"action":{"text":"meta"}}'),
    _http("step with limits", "POST", "/step", '{"action":{"text":"hi"},"timeout_s":5,"request_id":"r1","other":1}'),
    _http("step without an action", "POST", "/step", "{}"),
    _http("step without a body", "POST", "/step"),
    _http("step with a bad action", "POST", "/step", '{"action":{"text":"","extra":1}}'),
    _http("step with a refused action", "POST", "/step", '{"action":{"text":"veto"}}'),
    _http("step with a limit of nothing", "POST", "/step", '{"action":{"text":"hi"},"timeout_s":0}'),
    _http("step with bad json", "POST", "/step", "{bad"),
    _http("step with a list", "POST", "/step", "[1]"),
    _http("exception in step", "POST", "/step", '{"action":{"text":"boom"}}'),
]

_TASKS = [
    _http("environments", "GET", "/list_environments"),
    _http("splits", "GET", "/toy_env/splits"),
    _http("splits, name in capitals", "GET", "/TOY_ENV/splits"),
    _http("splits of another environment", "GET", "/other/splits"),
    _http("splits of an environment without tasks", "GET", "/plain_env/splits", app="plain_app"),
    _http("tasks", "POST", "/toy_env/tasks", '{"split":"train"}'),
    _http("tasks of an environment without tasks", "POST", "/plain_env/tasks", '{"split":"train"}', app="plain_app"),
    _http("tasks with an extra key", "POST", "/toy_env/tasks", '{"split":"train","extra":1}'),
    _http("tasks without a split", "POST", "/toy_env/tasks", "{}"),
    _http("number of tasks", "POST", "/toy_env/num_tasks", '{"split":"train"}'),
    _http("one task", "POST", "/toy_env/task", '{"split":"train","index":1}'),
    _http("one task past the end", "POST", "/toy_env/task", '{"split":"train","index":99}'),
    _http("range of tasks", "POST", "/toy_env/task_range", '{"split":"train","start":1}'),
    _http("range of tasks, whole", "POST", "/toy_env/task_range", '{"split":"train"}'),
]

_MCP = [
    _http("mcp by GET", "GET", "/mcp"),
    _http("mcp without a method", "POST", "/mcp", "{}"),
    _http("mcp with bad json", "POST", "/mcp", "{bad"),
    _http("mcp with a list", "POST", "/mcp", "[]"),
    _http("mcp with an unknown method", "POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"nope"}'),
    _http(
        "mcp tools of an environment without tools", "POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    ),
    _http("mcp call without a name", "POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}'),
    _http("mcp close without a session", "POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"openenv/session/close"}'),
]

HTTP_CASES = [*_INFORMATION, *_CALLS, *_TASKS, *_MCP]
