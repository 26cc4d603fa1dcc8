"""Random and hostile requests of the sizing API, the same ones in every run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from advisor.api.examples import ESTIMATE_EXAMPLE, FINE_TUNING_EXAMPLE, RECOMMENDATION_EXAMPLE
from advisor.input_fields import BY_QUERY, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION, FieldKind, InputField

SEED = 20261130
NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 10**100, 0.1, 1e-300, 1e308, "", " ", "0", "-1", "1e400", "nan",
    "inf", "∞", "--5", "9" * 50, "1" * 5_000, "8x7B", "1,4T", "7m", "1\u0660", "七十亿", "７０Ｂ", "\u202e70B", "\x00",
    "'; DROP TABLE catalog_gpu; --", "<script>alert(1)</script>", "../../etc/passwd", "%s%n{0}", "🦙" * 30, [], [[]],
    {}, {"": ""}, {"a": {"b": {"c": []}}}, ["x"] * 60, "virtualized", "llama-3-70b", "nvidia-h100-sxm5-80gb",
    "H100 160GB",
)  # fmt: skip
HOSTILE_CONFIGS: tuple[Any, ...] = (
    {"model_type": "llama", "hidden_size": 10**9, "num_hidden_layers": 10**9, "num_attention_heads": 1},
    {"model_type": "llama", "hidden_size": -1},
    {"model_type": "llama", "hidden_size": "4096", "num_hidden_layers": 1e308},
    {"model_type": "qwen2_moe", "num_experts": 10**6, "hidden_size": 8, "num_attention_heads": 3},
    {"layer_count": 0, "hidden_size": 0, "head_count": 0},
    {"layer_count": 1, "hidden_size": 1, "ffn_size": 1, "head_count": 1, "kv_head_count": 2, "head_size": 1},
    {"layer_count": 3, "hidden_size": 7, "ffn_size": 5, "head_count": 7, "kv_head_count": 7, "head_size": 1,
     "vocab_size": 1},
)  # fmt: skip


def in_bounds(chance: random.Random, row: InputField) -> Any:
    """A value that the field itself takes, at its ends more often than not."""
    if row.choices:
        code = chance.choice(row.choices)[0]
        return [code] if row.kind is FieldKind.CHOICES else code
    if row.kind is FieldKind.FLAG:
        return chance.random() < 0.5
    if row.minimum is None or row.maximum is None:
        return chance.choice(NASTY)
    low, high = float(row.minimum), float(row.maximum)
    value = chance.choice((low, high, low + (high - low) * chance.random() ** 8))
    return int(value) if row.kind is FieldKind.WHOLE or high > 1e6 else value


def set_value(body: dict[str, Any], pointer: str, value: Any) -> None:
    node = body
    *parents, key = pointer.split("/")[1:]
    for parent in parents:
        if not isinstance(node.get(parent), dict):
            node[parent] = {}
        node = node[parent]
    node[key] = value


def body(chance: random.Random, route: str) -> dict[str, Any]:
    examples = (ESTIMATE_EXAMPLE, FINE_TUNING_EXAMPLE) if route == ESTIMATE else (RECOMMENDATION_EXAMPLE,)
    result: dict[str, Any] = json.loads(json.dumps(chance.choice((*examples, {"model": {"parameters": "7B"}}))))
    for _ in range(chance.randrange(1, 4)):
        pointer = chance.choice(list(TABLE[route]))
        value = chance.choice(NASTY) if chance.random() < 0.2 else in_bounds(chance, TABLE[route][pointer])
        if pointer in ("/model/config", "/model/architecture") and chance.random() < 0.8:
            result["model"] = {pointer.rsplit("/", 1)[1]: chance.choice(HOSTILE_CONFIGS)}
            continue
        set_value(result, pointer, value)
    if chance.random() < 0.1:
        set_value(result, f"/{chance.choice(('model', 'training', 'x'))}/{chance.choice(NASTY)}", 1)
    return result


def damaged(chance: random.Random, content: bytes) -> bytes:
    """The bytes with a few of them changed, cut or doubled."""
    raw = bytearray(content)
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(raw))
        match chance.randrange(3):
            case 0:
                raw[place] = chance.randrange(256)
            case 1:
                del raw[place : place + chance.randrange(1, 8)]
            case 2:
                raw[place:place] = raw[place : place + 40]
        if not raw:
            return b"{"
    return bytes(raw)


def link(chance: random.Random) -> str:
    pairs: list[tuple[str, str]] = [("parameters", "7B")] if chance.random() < 0.8 else []
    for _ in range(chance.randrange(0, 5)):
        name = chance.choice([*BY_QUERY, "v", "lang", "x"])
        if name in BY_QUERY and chance.random() < 0.6:
            value = in_bounds(chance, BY_QUERY[name][1])
        else:
            value = chance.choice(NASTY)
        pairs.append((name, value if isinstance(value, str) else json.dumps(value)))
    return urlencode(pairs)


def requests(count: int) -> Iterator[tuple[str, str, bytes]]:
    """Method, address with query, content."""
    chance = random.Random(SEED)  # noqa: S311  (repeatable on purpose)
    for _ in range(count):
        match chance.randrange(10):
            case 0 | 1 | 2 | 3:
                yield "POST", "/api/v1/estimates", json.dumps(body(chance, ESTIMATE)).encode()
            case 4 | 5:
                yield "POST", "/api/v1/recommendations", json.dumps(body(chance, RECOMMENDATION)).encode()
            case 6 | 7:
                yield "GET", f"/api/v1/recommendations?{link(chance)}", b""
            case _:
                content = json.dumps(body(chance, ESTIMATE), ensure_ascii=False).encode()
                yield "POST", "/api/v1/estimates", damaged(chance, content)
