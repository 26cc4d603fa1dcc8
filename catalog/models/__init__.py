"""What exists and what it costs. All quantities in base units; a NULL means "not published", never zero."""

from __future__ import annotations

from catalog.models.changes import CatalogChange, CatalogDraft, CatalogRevision, DraftRow, RecordedRow
from catalog.models.compute import Cpu, Gpu, MemoryModule, Server
from catalog.models.facility import ManagementNode, Rack, Service
from catalog.models.guidance import ModelArchitecture, ReferenceBuild, SoftwareStack, Tier
from catalog.models.network import Cable, Nic, Switch
from catalog.models.part import Part
from catalog.models.prices import CloudPrice, Price, PriceBook
from catalog.models.storage import Ssd, StorageSystem

__all__ = [
    "Cable",
    "CatalogChange",
    "CatalogDraft",
    "CatalogRevision",
    "CloudPrice",
    "Cpu",
    "DraftRow",
    "Gpu",
    "ManagementNode",
    "MemoryModule",
    "ModelArchitecture",
    "Nic",
    "Part",
    "Price",
    "PriceBook",
    "Rack",
    "RecordedRow",
    "ReferenceBuild",
    "Server",
    "Service",
    "SoftwareStack",
    "Ssd",
    "StorageSystem",
    "Switch",
    "Tier",
]
