"""Typed reading of an untrusted mapping: every wrong, missing or absurd value is a ConfigError that names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MAX_NODES = 20_000
MAX_DEPTH = 12
MAX_WHOLE = 10**15
MAX_TEXT = 200
MAX_BITS = 128


class ConfigError(ValueError):
    """What is wrong with a model description: the field, a code that never changes, and the figures."""

    def __init__(self, field: str, code: str, params: Mapping[str, float | int | str | None]) -> None:
        super().__init__(f"{field or 'config'}: {code} {dict(params)}")
        self.field = field
        self.code = code
        self.params = dict(params)


def check_size(config: object) -> None:
    """Refuse what is no object, nests too deep or holds too many values; walks without recursion."""
    if not isinstance(config, Mapping):
        raise ConfigError("", "not_an_object", {"type": type(config).__name__})
    nodes = 0
    stack: list[tuple[object, int]] = [(config, 1)]
    while stack:
        value, depth = stack.pop()
        nodes += 1
        if depth > MAX_DEPTH:
            raise ConfigError("", "too_deep", {"high": MAX_DEPTH})
        inner: Sequence[object] = ()
        if isinstance(value, Mapping):
            inner = list(value.values())
        elif isinstance(value, (list, tuple)):
            inner = value
        stack.extend((item, depth + 1) for item in inner if isinstance(item, (Mapping, list, tuple)))
        nodes += sum(not isinstance(item, (Mapping, list, tuple)) for item in inner)
        if nodes > MAX_NODES:
            raise ConfigError("", "too_large", {"high": MAX_NODES})


def _shown(value: float) -> str:
    """A number for a message; integers too long to print (Python refuses thousands of digits) by their length."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


class ConfigReader:
    """Reads named values of one mapping; several names may stand for the same size, the first present one counts.

    `asked` collects the names that were looked up: what else the mapping holds does not matter.
    """

    def __init__(self, config: Mapping[str, object], prefix: str = "", asked: set[str] | None = None) -> None:
        self._config = config
        self._prefix = prefix
        self.asked: set[str] = set() if asked is None else asked

    def _get(self, name: str) -> object:
        self.asked.add(name)
        return self._config.get(name)

    def with_defaults(self, **defaults: object) -> ConfigReader:
        """The same values, with these where a name is absent: what the library's configuration class would fill in."""
        present = {name: value for name, value in self._config.items() if value is not None}
        return ConfigReader({**defaults, **present}, self._prefix, self.asked)

    def raw(self, name: str) -> object:
        """The value as it stands, unchecked; None where absent."""
        return self._config.get(name)

    def _first(self, names: tuple[str, ...]) -> tuple[str, object]:
        for name in names:
            if (value := self._get(name)) is not None:
                return name, value
        return names[0], None

    def has(self, *names: str) -> bool:
        """Whether any of the names is present and not null."""
        return self._first(names)[1] is not None

    def whole(self, *names: str, default: int | None = None) -> int:
        """A whole number of at least 0; the default where absent, or ConfigError where there is none."""
        name, value = self._first(names)
        field = self._prefix + name
        if value is None:
            if default is None:
                raise ConfigError(field, "missing", {})
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(field, "not_a_number", {"type": type(value).__name__})
        if not -MAX_WHOLE <= value <= MAX_WHOLE:  # NaN fails too
            raise ConfigError(field, "out_of_range", {"value": _shown(value), "low": 0, "high": MAX_WHOLE})
        if value != int(value):
            raise ConfigError(field, "not_whole", {"value": value})
        if value < 0:
            raise ConfigError(field, "out_of_range", {"value": int(value), "low": 0, "high": MAX_WHOLE})
        return int(value)

    def number(self, name: str, default: float) -> float:
        """A finite number of at least 0; the default where absent."""
        value = self._get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(self._prefix + name, "not_a_number", {"type": type(value).__name__})
        if not 0 <= value <= MAX_WHOLE:
            raise ConfigError(
                self._prefix + name, "out_of_range", {"value": _shown(value), "low": 0, "high": MAX_WHOLE}
            )
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """A claim; the default where absent."""
        name, value = self._first(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError(self._prefix + name, "not_a_flag", {"type": type(value).__name__})
        return value

    def text(self, name: str, default: str) -> str:
        """A short text; the default where absent."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ConfigError(self._prefix + name, "not_a_text", {"type": type(value).__name__})
        return value[:MAX_TEXT]

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty where absent."""
        value = self._get(name)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise ConfigError(self._prefix + name, "not_a_text", {"type": type(value).__name__})
        return tuple(item[:MAX_TEXT] for item in value)

    def mapping(self, name: str) -> dict[str, object] | None:
        """A nested object with text keys; None where absent."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise ConfigError(self._prefix + name, "not_an_object", {"type": type(value).__name__})
        return {str(key): item for key, item in value.items()}

    def length(self, name: str) -> int:
        """How many items a list or object holds; 0 where absent or neither."""
        value = self._get(name)
        return len(value) if isinstance(value, (Mapping, list, tuple)) else 0
