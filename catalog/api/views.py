"""Lists of the catalogue: read only, paged, filtered; an unknown parameter is an error, as an unknown field is."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from catalog.api.serializers import SERIALIZERS
from catalog.filters import FILTERS
from catalog.models import Part
from catalog.querysets import PartQuerySet
from catalog.revisions import PART_MODELS, current_revision
from config.api_errors import Unprocessable
from config.api_pagination import Pages

ALWAYS_ALLOWED = frozenset({"page", "page_size", "lang"})


class CatalogPages(Pages):
    """The page of a list with what it was computed from."""

    def get_paginated_response(self, data: Any) -> Response:
        response = super().get_paginated_response(data)
        response.data |= versions()
        return response

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        page = super().get_paginated_response_schema(schema)
        for name in ("engine_version", "catalog_revision"):
            page["properties"][name] = {"type": "string"}
            page["required"].append(name)
        return page


def versions() -> dict[str, str]:
    return {"engine_version": settings.ENGINE_VERSION, "catalog_revision": current_revision()}


class PartList(ListAPIView[Part]):
    """Active parts of one kind. Subclassed once for each kind by `part_views`."""

    model: type[Part]
    pagination_class = CatalogPages

    def get_queryset(self) -> QuerySet[Part]:
        return parts_of(self.model).active()

    def get_serializer_class(self) -> type[BaseSerializer[Part]]:
        return SERIALIZERS[self.model]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request, allowed={*FILTERS[self.model].base_filters, *ALWAYS_ALLOWED})


class PartDetail(RetrieveAPIView[Part]):
    """One part by SKU; retired parts too, since old quotes name them."""

    model: type[Part]
    lookup_field = "sku"

    def get_queryset(self) -> QuerySet[Part]:
        return parts_of(self.model)

    def get_serializer_class(self) -> type[BaseSerializer[Part]]:
        return SERIALIZERS[self.model]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request, allowed={"lang"})

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response = super().retrieve(request, *args, **kwargs)
        response.data |= versions()
        return response


def parts_of(model: type[Part]) -> PartQuerySet[Any]:
    """The kind's rows with what the serializer reads of other tables, in a fixed number of queries."""
    manager: PartQuerySet[Any] = model._default_manager.all()  # type: ignore[assignment]
    return manager.with_specs()


def refuse_unknown_parameters(request: Request, *, allowed: set[str]) -> None:
    unknown = sorted(set(request.query_params) - allowed)
    if unknown:
        detail = _("There is no such parameter. Known: %(names)s.") % {"names": ", ".join(sorted(allowed))}
        raise Unprocessable([{"pointer": f"/{name}", "code": "unknown_field", "detail": detail} for name in unknown])


LANGUAGE = OpenApiParameter("lang", str, enum=["zh-Hans", "en"], description="Language of names and messages.")


def part_views(model: type[Part]) -> tuple[type[PartList], type[PartDetail]]:
    """List and detail of one kind as classes of their own, so that each has its name in the API's document."""
    name, code = model.__name__, model.kind_code
    operation = code.replace("-", "_")
    listed = type(f"{name}List", (PartList,), {"model": model, "filterset_class": FILTERS[model]})
    detailed = type(f"{name}Detail", (PartDetail,), {"model": model})
    described = {"tags": ["catalogue"], "parameters": [LANGUAGE]}
    list_words = f"Active rows of the catalogue's {code.replace('-', ' ')}; figures in base units, null: not published."
    detail_words = f"One row of the catalogue's {code.replace('-', ' ')}, retired or not."
    return (
        extend_schema_view(
            get=extend_schema(operation_id=f"{operation}_list", description=list_words, **described)  # type: ignore[arg-type]
        )(listed),
        extend_schema_view(
            get=extend_schema(operation_id=f"{operation}_retrieve", description=detail_words, **described)  # type: ignore[arg-type]
        )(detailed),
    )


PART_VIEWS = {model: part_views(model) for model in PART_MODELS}
