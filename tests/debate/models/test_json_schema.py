"""Replies that a server holds to a JSON schema, and refusals that it keeps apart from content."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from debate.agents.form import Form, fill_in
from debate.models.base import Capabilities, Draw, Message, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.load import CapabilitiesConfig, ModelConfig, capabilities_of, open_model
from debate.models.remote import known_capabilities
from debate.prompts import Prompts
from debate.store import Store
from tests.servers import ChatServer, running_chat_server

FORM = Form({"answer": ("yes", "no"), "reason": ()})
HELD = CapabilitiesConfig(json_schema=True)
PROMPT = [Message("user", "Is it so?")]


@pytest.fixture(scope="module", name="server")
def server_fixture() -> Iterator[ChatServer]:
    with pytest.MonkeyPatch.context() as patch, running_chat_server() as running:
        patch.setenv("OPENAI_API_KEY", running.api_key)
        patch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


async def ask(name: str, able: CapabilitiesConfig) -> tuple[dict[str, str] | None, list[str], bool]:
    model = open_model(ModelConfig(name=f"openai/{name}", capabilities=able))
    filled = await fill_in(model, PROMPT, FORM, prompts=Prompts(), sampling=Sampling(60, 0.0), draw=Draw(), attempts=2)
    await model.close()
    return None if filled.values is None else dict(filled.values), list(filled.flaws), filled.refused


async def test_a_server_that_takes_a_schema_is_sent_it_and_others_are_not(server: ChatServer) -> None:
    values, _flaws, _refused = await ask("held", HELD)
    assert values is not None
    assert values["answer"] in {"yes", "no"}
    sent = server.report()["last"]["held"]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True
    assert sent["json_schema"]["schema"] == json.loads(FORM.schema)
    assert sent["json_schema"]["schema"]["properties"]["answer"]["enum"] == ["yes", "no"]
    values, flaws, refused = await ask("plain", CapabilitiesConfig())
    assert (values, len(flaws), refused) == (None, 2, False)
    assert "response_format" not in server.report()["last"]["plain"]


async def test_a_server_that_ignores_the_schema_is_asked_again_and_then_given_up(server: ChatServer) -> None:
    values, flaws, refused = await ask("deaf", HELD)
    assert (values, len(flaws), refused) == (None, 2, False)
    assert server.calls("deaf") == 2
    again = server.report()["last"]["deaf"]["messages"]
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert '"answer", "reason"' in again[-1]["content"]


@pytest.mark.parametrize("fault", ["refusal", "filter"])
async def test_a_refusal_is_told_from_a_reply_that_cannot_be_read(server: ChatServer, fault: str) -> None:
    values, flaws, refused = await ask(f"fault-{fault}", HELD)
    assert (values, len(flaws), refused) == (None, 1, True)
    assert server.calls(f"fault-{fault}") == 1


async def test_a_call_with_a_schema_is_another_call(
    server: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = Store(tmp_path_factory.mktemp("store") / "run.sqlite")
    model = LoggedModel(open_model(ModelConfig(name="openai/keys", capabilities=HELD)), store, Meter(Budget(), {}))
    for schema in ("", FORM.schema, "", FORM.schema):
        await model.sample(PROMPT, draws=[Draw()], sampling=Sampling(60, schema=schema))
    assert server.calls("keys") == 2
    await model.close()
    store.close()


def test_what_is_known_and_declared() -> None:
    able = {name: known_capabilities(name).json_schema for name in ("gpt-4.1-mini", "gpt-4o", "o3", "gpt-5", "other")}
    assert able == {"gpt-4.1-mini": True, "gpt-4o": True, "o3": True, "gpt-5": True, "other": False}
    assert not known_capabilities("gpt-3.5-turbo").json_schema
    assert not Capabilities().json_schema
    assert capabilities_of(ModelConfig(name="vllm/x", capabilities=HELD)).json_schema
