"""What exists is documented, and what is documented exists: settings, commands, verbs."""

from __future__ import annotations

import ast
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command

from catalog.money import LineInput, totals

ROOT = Path(__file__).resolve().parent.parent
APPS = ("advisor", "catalog", "config", "quotes")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(path.stem for app in APPS for path in (ROOT / app).glob("management/commands/[a-z]*.py"))


def settings_read() -> set[str]:
    """First arguments of the env_* readers of config/settings.py, and what gunicorn and ./dev read themselves."""
    tree = ast.parse((ROOT / "config" / "settings.py").read_text(encoding="utf-8"))
    names = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith("env_")
        and isinstance(node.args[0], ast.Constant)
    }
    gunicorn = (ROOT / "config" / "gunicorn_conf.py").read_text(encoding="utf-8")
    return {str(name) for name in names} | set(re.findall(r'environ\.get\("(\w+)"', gunicorn)) | {"PORT"}


def table_under(heading: str) -> list[str]:
    """First cells of the table below a heading of the README."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [re.split(r"(?<!\\)\|", row)[1].strip() for row in rows[2:]]


def code_words(cells: list[str]) -> set[str]:
    """The first word of each piece of code in these cells."""
    return {piece.split()[0] for cell in cells for piece in re.findall(r"`([^`]+)`", cell)}


def test_every_setting_is_in_the_table_and_every_row_is_a_setting() -> None:
    assert code_words(table_under("Settings")) == settings_read()


def test_the_example_environment_lists_every_setting() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE)) == settings_read()


def test_every_command_is_in_the_table_and_every_row_is_a_command() -> None:
    assert code_words(table_under("Commands of `manage.py`")) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call_command(command, "--help")
    assert left.value.code == 0
    description = capsys.readouterr().out.split("\n\n")[1]
    assert len(description.split()) >= 4, f"say what {command} does: {description!r}"


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["./dev", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_every_verb_is_in_the_table_and_in_the_help() -> None:
    verbs = set(re.findall(r"^verb_(\w+)\(\)", (ROOT / "dev").read_text(encoding="utf-8"), re.MULTILINE))
    verbs = {verb.replace("_", "-") for verb in verbs}
    assert code_words(table_under("Verbs of `./dev`")) == verbs - {"help"}
    help_text = dev("help").stdout
    assert not [verb for verb in verbs - {"help"} if not re.search(rf"(^|\s){verb}\s", help_text)]


def test_an_unknown_verb_is_refused_with_the_list() -> None:
    result = dev("frobnicate")
    assert result.returncode != 0
    assert "Unknown verb: frobnicate" in result.stderr
    assert "test-all" in result.stderr


def test_the_readme_shows_the_two_commands() -> None:
    assert "./dev run" in README
    assert "./dev test" in README


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_between_documents_and_pictures_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert not [target for target in targets if not (ROOT / target).exists()]


def test_the_worked_price_table_is_what_the_code_does() -> None:
    """The table's figures were worked by hand; each must stand in the document and come out of the code."""
    lines = [
        LineInput(
            quantity=Decimal(3),
            unit_price=Decimal("1234.565"),
            tax_rate=Decimal("0.13"),
            discount_fraction=Decimal("0.05"),
        ),
        LineInput(quantity=Decimal(7), unit_price=Decimal("99.995"), tax_rate=Decimal("0.13")),
        LineInput(quantity=Decimal(1), unit_price=Decimal(5000), tax_rate=Decimal("0.06")),
    ]
    result = totals(lines, "CNY", document_discount_fraction=Decimal("0.015"))
    nets = ("3 518.51", "699.97", "5 000.00")
    sums = {"9 218.48": result.subtotal, "138.28": result.discount, "9 915.88": result.gross}
    taxes = {"540.18": result.tax_groups[0].tax, "295.50": result.tax_groups[1].tax}
    shares = {"63.28": Decimal("4218.48") - result.tax_groups[0].base, "75.00": 5000 - result.tax_groups[1].base}
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for text, value in [*zip(nets, result.line_nets, strict=True), *(sums | taxes | shares).items()]:
        assert f"| {text} |" in table
        assert Decimal(text.replace(" ", "")) == value


def test_the_architecture_names_only_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:advisor|catalog|config|quotes|templates|static|tests)/[\w./-]+)`", text))
    assert len(names) > 10
    assert not sorted(name for name in names if not (ROOT / name).exists())
