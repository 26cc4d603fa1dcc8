"""What exists and what it costs. All quantities in base units; a NULL means "not published", never zero."""

from __future__ import annotations

from catalog.models.compute import Cpu, Gpu, MemoryModule, Server
from catalog.models.facility import ManagementNode, Rack, Service
from catalog.models.guidance import ModelArchitecture, ReferenceBuild, SoftwareStack, Tier
from catalog.models.network import Cable, Nic, Switch
from catalog.models.part import Part
from catalog.models.prices import CatalogRevision, CloudPrice, Price, PriceBook
from catalog.models.storage import Ssd, StorageSystem

__all__ = [
    "Cable",
    "CatalogRevision",
    "CloudPrice",
    "Cpu",
    "Gpu",
    "ManagementNode",
    "MemoryModule",
    "ModelArchitecture",
    "Nic",
    "Part",
    "Price",
    "PriceBook",
    "Rack",
    "ReferenceBuild",
    "Server",
    "Service",
    "SoftwareStack",
    "Ssd",
    "StorageSystem",
    "Switch",
    "Tier",
]
