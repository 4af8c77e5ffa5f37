# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped"
"""Uses tools with the client of the public package, and prints what came of it; argument: the address of a server."""

import asyncio
import json
import sys
from typing import Any

from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.mcp_client import MCPToolClient

# No wrong arguments: the public package tells kinds of errors by words in their texts, and is often mistaken.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 3}),
    ("add", {"a": 3, "b": 4}),
    ("pair", {"thing": "shoe"}),
    ("words", {}),
    ("nothing", {}),
    ("fail", {"why": "no reason"}),
    ("unknown", {}),
]


async def play(url: str) -> list[Any]:
    """List the tools, call each over HTTP and as an action, and read the state."""
    told: list[Any] = []
    async with MCPToolClient(base_url=url) as client:
        told.append((await client.reset()).reward)
        told.append([tool.model_dump() for tool in await client.list_tools()])
        for name, arguments in CALLS:
            try:
                told.append([name, await client.call_tool(name, **arguments)])
            except RuntimeError as error:
                told.append([name, str(error)])
            result = await client.step(CallToolAction(tool_name=name, arguments=arguments))
            told.append([result.observation.model_dump(mode="json"), result.reward, result.done])
        listed = await client.step(ListToolsAction())
        told.append(listed.observation.model_dump(mode="json"))
        told.append((await client.state()).model_dump())
    return told


sys.stdout.write(json.dumps(asyncio.run(play(sys.argv[1]))))
