"""Export, edit in a spreadsheet program, import: the draft shows exactly the edits; published, it is one revision."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.utils import translation
from openpyxl import load_workbook

from catalog.change_plans import Plan, plan_of_sheets
from catalog.drafts import DraftError, draft_create, draft_publish
from catalog.models import CatalogChange, CatalogDraft, CatalogRevision, Gpu, RecordedRow, Server, Ssd
from catalog.part_files import SHEETS, written_table
from catalog.revisions import PART_MODELS, current_revision, revision_record
from catalog.sheet_reading import read_sheets
from catalog.sheet_writing import csv_bytes, xlsx_bytes
from tests import factories


def exported(*codes: str) -> bytes:
    chosen = [SHEETS[code] for code in codes or SHEETS]
    return xlsx_bytes([written_table(sheet, sheet.model._default_manager.with_specs()) for sheet in chosen])


def edited(content: bytes, **changes: Any) -> bytes:
    """`gpus__sku__column=value`, as an editor would type it into the row of the SKU; the rest is untouched."""
    book = load_workbook(io.BytesIO(content))
    for place, value in changes.items():
        code, sku, column = place.split("__")
        sheet = book[code.replace("_", "-")]
        heads = [cell.value for cell in sheet[1]]
        row = next(row for row in sheet.iter_rows(min_row=2) if row[heads.index("sku")].value == sku.replace("_", "-"))
        row[heads.index(column)].value = value
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


def plan_of(content: bytes, name: str = "catalog.xlsx", **options: Any) -> Plan:
    with translation.override("en"):
        return plan_of_sheets(read_sheets(content, name), **options)


@pytest.mark.django_db
@pytest.mark.parametrize("model", PART_MODELS, ids=lambda model: model.kind_code)
def test_what_is_written_reads_back_as_no_change(catalog: None, model: type[Gpu]) -> None:
    sheet = SHEETS[model.kind_code]
    table = written_table(sheet, list(model._default_manager.with_specs()))
    rows = list(table.rows)
    count = model._default_manager.count()
    table = type(table)(name=table.name, columns=table.columns, rows=rows)
    text = csv_bytes(table).decode("utf-8-sig")
    for content in (text.encode("utf-8-sig"), text.encode("gb18030"), text.encode("utf-16"), xlsx_bytes([table])):
        plan = plan_of(content, f"{table.name}.csv")
        assert (plan.faults, plan.rows, plan.unchanged_count) == ((), (), count)


@pytest.mark.django_db
def test_the_plan_shows_exactly_the_edits(catalog: None) -> None:
    content = edited(
        exported(),
        gpus__nvidia_l4_24gb__tdp_w=75,
        gpus__nvidia_l4_24gb__notes="read again",
        servers__nvidia_dgx_h100__supported_gpu_skus="nvidia-h100-sxm5-80gb;nvidia-h200-sxm5-141gb",
        ssds__samsung_pm1743_7680__active="n",
    )
    plan = plan_of(content)
    assert plan.faults == ()
    found = {(row.kind, row.key): (dict(row.before), dict(row.after)) for row in plan.rows}
    old_notes = Gpu.objects.get(sku="nvidia-l4-24gb").notes
    assert found == {
        ("gpus", "nvidia-l4-24gb"): (
            {"tdp_watts": 72.0, "notes": old_notes},
            {"tdp_watts": 75.0, "notes": "read again"},
        ),
        ("servers", "nvidia-dgx-h100"): (
            {"supported_gpus": ["nvidia-h100-sxm5-80gb"]},
            {"supported_gpus": ["nvidia-h100-sxm5-80gb", "nvidia-h200-sxm5-141gb"]},
        ),
        ("ssds", "samsung-pm1743-7680"): ({"is_active": True}, {"is_active": False}),
    }


@pytest.mark.django_db
def test_a_published_draft_is_one_revision_with_who_and_why_and_twice_changes_nothing(catalog: None) -> None:
    content = edited(exported("gpus"), gpus__nvidia_l4_24gb__tdp_w=75)
    author, before = factories.root(), current_revision()
    draft = draft_create(plan=plan_of(content), title="gpus.xlsx", author=author)
    assert (Gpu.objects.get(sku="nvidia-l4-24gb").tdp_watts, current_revision()) == (72.0, before)
    revision = draft_publish(draft=draft, reason="datasheet of November", author=author)
    assert Gpu.objects.get(sku="nvidia-l4-24gb").tdp_watts == 75.0
    assert (revision.code, revision.reason, revision.author) == (current_revision(), "datasheet of November", "root")
    change = CatalogChange.objects.get(revision=revision)
    assert (change.kind, change.key, change.before, change.after) == (
        "gpus",
        "nvidia-l4-24gb",
        {"tdp_watts": 72.0},
        {"tdp_watts": 75.0},
    )
    assert plan_of(content).rows == ()
    with pytest.raises(DraftError):
        draft_create(plan=plan_of(content), title="again", author=author)


NEW_DRIVE = (
    "sku,vendor,model_name,capacity_gb,pcie_gen,form_factor,seq_read_mb_s,seq_write_mb_s,rand_read_kiops,"
    "rand_write_kiops,endurance_dwpd,power_w,typical_price_usd,price_source,price_source_locator,checked_on,notes,"
    "source_title,source_locator,unverified_fields\n"
    "own-drive-1,Own,Drive 1,3840,5,U.2,,,,,,,,,,2026-11-30,,sheet,,\n"
)


@pytest.mark.django_db
def test_a_new_part_is_added_and_a_file_with_few_columns_changes_only_those(catalog: None) -> None:
    plan = plan_of(NEW_DRIVE.encode(), "ssds.csv")
    assert [(row.key, row.is_new) for row in plan.rows] == [("own-drive-1", True)]
    draft_publish(
        draft=draft_create(plan=plan, title="s", author=factories.root()), reason="new", author=User.objects.get()
    )
    assert Ssd.objects.get(sku="own-drive-1").capacity_bytes == 3840 * 10**9
    plan = plan_of(b"sku;power_w\nown-drive-1;12,5\n", "ssds.csv")
    assert [(dict(row.before), dict(row.after)) for row in plan.rows] == [
        ({"power_watts": None}, {"power_watts": 12.5})
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (NEW_DRIVE.replace("3840", "lots"), "ssds.csv:2: capacity_gb: “lots” is not a number."),
        (NEW_DRIVE.replace("own-drive-1", "amd-mi300x-192gb"), "already the SKU of another part, in gpus"),
        (NEW_DRIVE + NEW_DRIVE.splitlines()[1] + "\n", "ssds.csv:3: sku: “own-drive-1” is already in ssds.csv:2."),
        (NEW_DRIVE.replace("own-drive-1", "Own Drive"), "is no SKU"),
        (NEW_DRIVE.replace(",2026-11-30,", ",soon,"), "checked_on: “soon” is not a date"),
        (NEW_DRIVE.replace("pcie_gen", "pcie"), "Unknown column"),
        (NEW_DRIVE.replace("own-drive-1,Own", "own-drive-1,=1+1"), "starts like a formula"),
        (NEW_DRIVE[:-30], "ssds.csv:2: The row has"),
        (NEW_DRIVE.replace("Drive 1", "D" * 300), "ssds.csv:2: name"),
        ("sku,unit\na,b\n", "No kind of part has these columns|Unknown column"),
        ("sku,architecture,memory_gb\n", "These are columns of gpus|has no rows|Unknown column"),
    ],
)
def test_every_fault_has_its_place_and_nothing_is_kept(catalog: None, content: str, words: str) -> None:
    plan = plan_of(content.encode(), "ssds.csv")
    assert any(re.search(words, str(fault)) for fault in plan.faults), plan.faults
    with pytest.raises(DraftError):
        draft_create(plan=plan, title="wrong", author=factories.root())
    assert not CatalogDraft.objects.exists()


@pytest.mark.django_db
def test_a_reference_to_nothing_is_named_with_its_sheet_and_line(catalog: None) -> None:
    content = edited(exported("servers"), servers__nvidia_dgx_h100__supported_gpu_skus="nvidia-h100-160gb")
    (fault,) = plan_of(content).faults
    assert fault.file_name == "catalog.xlsx [servers]"
    assert fault.line > 1
    assert "“nvidia-h100-160gb” is not in the catalogue." in str(fault)


@pytest.mark.django_db
def test_what_changed_under_a_draft_stops_it(catalog: None) -> None:
    author = factories.root()
    draft = draft_create(
        plan=plan_of(edited(exported("gpus"), gpus__nvidia_l4_24gb__tdp_w=75)), title="late", author=author
    )
    Gpu.objects.filter(sku="nvidia-l4-24gb").update(tdp_watts=80)
    with translation.override("en"), pytest.raises(DraftError, match="nvidia-l4-24gb has changed since"):
        draft_publish(draft=draft, reason="late", author=author)
    assert Gpu.objects.get(sku="nvidia-l4-24gb").tdp_watts == 80
    with pytest.raises(DraftError):
        draft_publish(draft=draft, reason=" ", author=author)


@pytest.mark.django_db
def test_no_change_goes_unlogged_whichever_door_it_came_through(catalog: None) -> None:
    Gpu.objects.filter(vendor="AMD").update(notes="bulk")
    count = Gpu.objects.filter(vendor="AMD").count()
    revision_record(reason="from the shell")
    revision = CatalogRevision.objects.latest()
    assert CatalogChange.objects.filter(revision=revision, kind="gpus").count() == count
    assert RecordedRow.objects.filter(kind="gpus").count() == Gpu.objects.count()


# --- the page ---------------------------------------------------------------------------------------------------------
def upload(client: Client, content: bytes, name: str = "gpus.xlsx", **fields: str) -> Any:
    return client.post("/catalog/import/", {"file": SimpleUploadedFile(name, content), **fields})


@pytest.mark.django_db
def test_an_editor_uploads_and_a_manager_publishes(catalog: None) -> None:
    editor, manager = Client(headers={"accept-language": "en"}), Client(headers={"accept-language": "en"})
    editor.force_login(factories.staff("erin", "catalog_editor"))
    manager.force_login(factories.carol())
    answer = upload(editor, edited(exported("gpus"), gpus__nvidia_l4_24gb__tdp_w=75))
    draft = CatalogDraft.objects.get()
    assert answer["Location"] == draft.get_absolute_url()
    page = editor.get(draft.get_absolute_url()).content.decode()
    assert "72 W" in page
    assert "75 W" in page
    url = f"{draft.get_absolute_url()}publish/"
    assert editor.post(url, {"reason": "x"}).status_code == 403
    assert manager.post(url, {"reason": ""}).status_code == 422
    assert manager.post(url, {"reason": "new sheet"}).status_code == 302
    assert Gpu.objects.get(sku="nvidia-l4-24gb").tdp_watts == 75.0
    part = manager.get("/catalog/gpus/nvidia-l4-24gb/").content.decode()
    assert "new sheet" in part
    assert "carol" in part
    assert "carol" not in Client().get("/catalog/gpus/nvidia-l4-24gb/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "status"), [("sales_rep", 404), ("finance_viewer", 403), ("sales_manager", 403)])
def test_others_cannot_upload(catalog: None, role: str, status: int) -> None:
    client = Client()
    assert client.get("/catalog/import/").status_code == 302  # to the login
    client.force_login(factories.staff("someone", role))
    assert upload(client, NEW_DRIVE.encode(), "ssds.csv").status_code == status
    assert client.get("/catalog/drafts/").status_code == (404 if role == "sales_rep" else 200)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (NEW_DRIVE.replace("3840", "lots").encode(), "ssds.csv", "is not a number"),
        (NEW_DRIVE.replace("3840", "1e999999999").encode(), "ssds.csv", "is not a usable number"),
        (NEW_DRIVE.replace("3840", "1e-999999999").encode(), "ssds.csv", "is not a usable number"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "x.png", "neither a CSV nor an XLSX|none of"),
        (b"", "x.csv", "empty"),
        (b"x" * 10_000_001, "big.csv", "at most 10 MB"),
    ],
)
def test_a_bad_upload_is_422_with_the_reason(catalog: None, content: bytes, name: str, words: str) -> None:
    client = Client(headers={"accept-language": "en"})
    client.force_login(factories.root())
    answer = upload(client, content, name)
    assert answer.status_code == 422
    assert re.search(words, answer.content.decode())


# --- commands ------------------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_commands_write_and_read_the_same(catalog: None, tmp_path: Path) -> None:
    call_command("export_catalog", str(tmp_path / "all.xlsx"), "--with-retired", stdout=io.StringIO())
    call_command("export_catalog", str(tmp_path / "folder"), "--with-retired", stdout=io.StringIO())
    out = io.StringIO()
    files = [str(path) for path in sorted((tmp_path / "folder").iterdir())]
    assert len(files) == len(PART_MODELS)
    with translation.override("en"):
        call_command("import_catalog", str(tmp_path / "all.xlsx"), stdout=out)
        call_command("import_catalog", *files, stdout=out)
    assert [line.partition(",")[0] for line in out.getvalue().splitlines()] == ["0 added", "0 added"]
    path = tmp_path / "ssds.csv"
    path.write_text(NEW_DRIVE.replace("3840", "lots"))
    with pytest.raises(CommandError):
        call_command("import_catalog", str(path), stderr=io.StringIO(), stdout=io.StringIO())


@pytest.mark.django_db(transaction=True)
def test_killing_a_publication_leaves_nothing(catalog: None) -> None:
    """A real process is killed after it has written the rows and before it commits."""
    factories.root()
    plan = plan_of(edited(exported("gpus"), gpus__nvidia_l4_24gb__tdp_w=75))
    draft = draft_create(plan=plan, title="killed", author=User.objects.get(username="root"))
    before = current_revision()
    script = (
        "import django, sys, time; django.setup()\n"
        "from django.contrib.auth.models import User\n"
        "from catalog import drafts\n"
        "from catalog.models import CatalogDraft, Gpu\n"
        "def slow(**_):\n"
        "    assert Gpu.objects.get(sku='nvidia-l4-24gb').tdp_watts == 75.0\n"
        "    print('written', flush=True); time.sleep(60)\n"
        "drafts.revision_record = slow\n"
        f"drafts.draft_publish(draft=CatalogDraft.objects.get(pk={draft.pk}), reason='r', author=User.objects.get())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": database_url()},
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"written"
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    process.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and current_revision() != before:
        time.sleep(0.1)
    assert Gpu.objects.get(sku="nvidia-l4-24gb").tdp_watts == 72.0
    assert (current_revision(), CatalogDraft.objects.get(pk=draft.pk).status) == (before, "open")
    assert not CatalogChange.objects.filter(key="nvidia-l4-24gb", action="changed").exists()
    assert Server.objects.exists()


def database_url() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"


@pytest.mark.django_db
def test_a_result_carries_the_revision_that_it_rests_on_and_the_next_one_the_next(
    catalog: None, client: Client
) -> None:
    query = "/api/v1/recommendations?v=1&parameters=7B&tokens=100B&gpu=nvidia-l40s-48gb&gpu_count=64"
    cache.clear()  # the API knows the revision for a few seconds
    author, first = factories.root(), client.get(query).json()
    assert first["catalog_revision"] == current_revision()
    watts = Gpu.objects.get(sku="nvidia-l40s-48gb").tdp_watts
    plan = plan_of(edited(exported("gpus"), gpus__nvidia_l40s_48gb__tdp_w=watts + 10))
    revision = draft_publish(draft=draft_create(plan=plan, title="g", author=author), reason="r", author=author)
    cache.clear()
    second = client.get(query).json()
    assert second["catalog_revision"] == revision.code != first["catalog_revision"]
    page = client.get("/catalog/").content.decode()
    assert revision.code in page
