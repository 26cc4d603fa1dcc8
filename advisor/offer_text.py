"""What a pasted offer says: GPU, count, price and its unit, network, bare metal or virtual. Pure; nothing is guessed.

Written as sales people write, in Chinese or English: "64 x H100 80GB, $2.49/GPU-hour, 400G InfiniBand, bare metal",
"8台 8卡 H20，每台 6.5 万元/月，RoCE 200G，裸金属". What is not found is left out and asked for.
"""

from __future__ import annotations

import re
from decimal import Decimal

GPU_HOUR, GPU_MONTH, SERVER_MONTH, CLUSTER_MONTH = "gpu_hour", "gpu_month", "server_month", "cluster_month"
UNITS = (GPU_HOUR, GPU_MONTH, SERVER_MONTH, CLUSTER_MONTH)
MAX_TEXT = 2000

_FAMILIES = (
    r"GB[23]00|B[123]00|H[128]00|H20|GH200|A[18]00|A40|A30|V100|L40S|L40|L20|L4"
    r"|RTX\s*PRO\s*6000|RTX\s*6000\s*Ada|RTX\s*[45]090\s?D?|[45]090\s?D?|MI\d{3}X?|Gaudi\s*[23]"
    r"|(?:Ascend\s*|昇腾\s*)?910[BC]\d?"
)
_GPU = re.compile(rf"(?<![A-Za-z0-9])({_FAMILIES})(?![A-Za-z0-9])", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![\d.])(\d{2,3})\s*(?:GB|G(?=\s*(?:显存|HBM)))(?!\w|/s)", re.IGNORECASE)
_FORM = re.compile(r"\b(SXM\d?|PCIe|NVL|OAM)\b", re.IGNORECASE)

_SERVERS = re.compile(r"(?<![A-Za-z0-9.,])(\d{1,5})\s*(?:台|nodes?\b|servers?\b|节点)", re.IGNORECASE)
_CARDS = re.compile(
    r"(?<![A-Za-z0-9.,])(\d{1,6})\s*(?:张|卡|块|[x×*]\s*(?=[A-Z昇])|(?:[A-Za-z0-9]+\s+){0,3}GPUs?\b|cards?\b)",
    re.IGNORECASE,
)

# symbols stand before the number, words and codes on either side
_SYMBOLS = {"US$": "USD", "HK$": "HKD", "$": "USD", "¥": "CNY", "￥": "CNY", "€": "EUR", "£": "GBP"}
_WORDS = {
    "USD": "USD", "美元": "USD", "美金": "USD", "CNY": "CNY", "RMB": "CNY", "人民币": "CNY", "元": "CNY",
    "EUR": "EUR", "HKD": "HKD", "港元": "HKD", "GBP": "GBP",
}  # fmt: skip
_CURRENCY_CODES = _SYMBOLS | _WORDS


def _any_of(names: dict[str, str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_PRICE = re.compile(
    rf"(?P<before>{_any_of(_CURRENCY_CODES)})\s*(?P<first>{_NUMBER})\s*(?P<first_wan>万)?"
    rf"|(?<![A-Za-z0-9.,])(?P<second>{_NUMBER})\s*(?P<second_wan>万)?\s*(?P<after>{_any_of(_WORDS)})",
    re.IGNORECASE,
)
# what follows a price, in the order in which it is tried
_HOUR = r"(?:hours?|hr|h(?![a-z])|小时|时)"
_GPU_WORD = r"(?:GPU|cards?|卡|张|块)"
_MONTH = r"(?:months?|mo\b|月)"
_SERVER_WORD = r"(?:servers?|nodes?|台|节点|机)"
_JOIN = r"(?:\s|/|·|-|–|—|\(|\)|（|）|per\b|每|个|an?\b)*"
_UNIT_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (GPU_HOUR, re.compile(rf"{_GPU_WORD}{_JOIN}{_HOUR}|{_HOUR}{_JOIN}{_GPU_WORD}", re.IGNORECASE)),
    (SERVER_MONTH, re.compile(rf"{_SERVER_WORD}{_JOIN}{_MONTH}|{_MONTH}{_JOIN}{_SERVER_WORD}", re.IGNORECASE)),
    (GPU_MONTH, re.compile(rf"{_GPU_WORD}{_JOIN}{_MONTH}|{_MONTH}{_JOIN}{_GPU_WORD}", re.IGNORECASE)),
    (GPU_HOUR, re.compile(rf"^\s*(?:/|per|每|an?\b)\s*{_HOUR}", re.IGNORECASE)),
    (CLUSTER_MONTH, re.compile(rf"^\s*(?:/|per|每|an?\b)\s*个?{_MONTH}", re.IGNORECASE)),
)
_SERVER_BEFORE = re.compile(r"(?:每台|单台|per\s+(?:server|node))[^\d,，;；。]{0,12}$", re.IGNORECASE)

_NETWORK = re.compile(
    r"(?<![\d.])(\d{2,4}(?:\.\d+)?)\s*(Gbit/s|Gbps|Gb/s|GbE|T(?:bps|b/s|bit/s)|G(?=\s*(?:\w+\s+)?(?:IB|InfiniBand|RoCE|"
    r"NDR|HDR|网|以太|Ethernet)))|(?<![\d.])(\d(?:\.\d+)?)\s*(T(?:bps|b/s|bit/s))",
    re.IGNORECASE,
)
_NETWORK_AFTER_NAME = re.compile(
    r"(?:IB|InfiniBand|RoCE|NDR|HDR|Ethernet|以太网?)\s*(?:v2\s*)?(\d{2,4})\s*G\b", re.IGNORECASE
)
_PER_SERVER = re.compile(r"^\s*(?:/|per|每)\s*(?:server|node|台|节点)", re.IGNORECASE)
_SHARED = re.compile(r"\bshared\b|共享|多租户|\bMIG\b|切分", re.IGNORECASE)
_VIRTUAL = re.compile(
    r"virtuali[sz]ed|\bVMs?\b|virtual machine|云主机|云服务器|虚拟|\bvGPU\b|cloud instance", re.IGNORECASE
)
_BARE = re.compile(r"bare[\s-]?metal|裸金属|裸机|物理机|dedicated server", re.IGNORECASE)


def read_offer(text: str) -> dict[str, str | int | Decimal]:
    """The fields that the text states: gpu, gpu_count, amount, currency, price_unit, gbit, profile."""
    line = " ".join(text[:MAX_TEXT].split())
    found: dict[str, str | int | Decimal] = {}
    family = _GPU.search(line)
    if family:
        found["gpu"] = _gpu_name(line, family)
    count = _gpu_count(line)
    if count:
        found["gpu_count"] = count
    found |= _price(line)
    rate = _network(line)
    if rate is not None:
        found["gbit"] = rate
    profile = _profile(line)
    if profile:
        found["profile"] = profile
    return found


def _gpu_name(line: str, family: re.Match[str]) -> str:
    """Family with the memory and form factor that stand near it."""
    around = line[family.start() : family.end() + 24]
    words = [family.group(1)]
    for pattern in (_FORM, _MEMORY):
        match = pattern.search(around)
        if match:
            words.append(match.group(0))
    return " ".join(" ".join(words).split())


def _gpu_count(line: str) -> int | None:
    """GPUs in all: servers x GPUs of a server where both are told, else the larger count of cards."""
    cards = [int(match.group(1)) for match in _CARDS.finditer(line)]
    servers = _SERVERS.search(line)
    if servers:
        each = min((count for count in cards if count <= 16), default=None)
        in_all = max((count for count in cards if count > 16), default=None)
        return in_all or int(servers.group(1)) * (each or 8)
    return max(cards, default=None)


def _price(line: str) -> dict[str, str | Decimal]:
    """The first amount of money that has a unit of time; the amount alone where none has."""
    alone: dict[str, str | Decimal] = {}
    for match in _PRICE.finditer(line):
        amount = Decimal((match.group("first") or match.group("second")).replace(",", ""))
        if match.group("first_wan") or match.group("second_wan"):
            amount *= 10_000
        currency = _CURRENCY_CODES[(match.group("before") or match.group("after")).upper()]
        price: dict[str, str | Decimal] = {"amount": amount, "currency": currency}
        unit = _unit(line[match.end() : match.end() + 32], line[: match.start()])
        if unit:
            return price | {"price_unit": unit}
        alone = alone or price
    return alone


def _unit(after: str, before: str) -> str | None:
    nearby = re.split(r"[,，;；。]", after, maxsplit=1)[0]
    for unit, pattern in _UNIT_PATTERNS:
        if pattern.search(nearby):
            return SERVER_MONTH if unit == CLUSTER_MONTH and _SERVER_BEFORE.search(before) else unit
    return None


def _network(line: str) -> Decimal | None:
    """Gbit/s of a GPU; a rate "per node" is shared by its eight GPUs."""
    match = _NETWORK.search(line)
    if match:
        number, unit = match.group(1) or match.group(3), match.group(2) or match.group(4)
        rate = Decimal(number) * (1000 if unit.upper().startswith("T") else 1)
        return rate / 8 if _PER_SERVER.match(line[match.end() :]) or rate > 1600 else rate
    named = _NETWORK_AFTER_NAME.search(line)
    return Decimal(named.group(1)) if named else None


def _profile(line: str) -> str | None:
    if _SHARED.search(line):
        return "virtualized_shared"
    if _BARE.search(line):
        return "bare_metal"
    return "virtualized_dedicated" if _VIRTUAL.search(line) else None
