"""Requests for quotes shown in the OpenAPI document; each is executed by a test."""

from __future__ import annotations

from typing import Any

CUSTOMER: dict[str, Any] = {
    "name": "样例智算（演示）有限公司",
    "contact_name": "王样例",
    "contact_email": "wang@customer.example",
    "delivery_place": "中国 上海",
}
FROM_RECOMMENDATION: dict[str, Any] = {
    "basis": "rental",
    "language": "zh-Hans+en",
    "project": "7B 预训练",
    "customer": CUSTOMER,
    "recommendation": {
        "model": {"parameters": "7B"},
        "training": {"tokens": "200B"},
        "target": {"deadline_days": 30},
        "hardware": {"gpus": ["nvidia-h200-sxm5-141gb"]},
        "commercial": {"term_months": 12, "currency": "CNY"},
    },
}
FROM_LINES: dict[str, Any] = {
    "basis": "purchase",
    "currency": "CNY",
    "customer": CUSTOMER,
    "lines": [
        {
            "kind": "service",
            "sku": "cluster-build",
            "name": {"zh-Hans": "集群搭建", "en": "Cluster build"},
            "unit": "engineer_day",
            "quantity": "12",
            "unit_price": {"amount": "3500.00", "currency": "CNY"},
            "tax_rate": "0.06",
        }
    ],
}
CHANGE: dict[str, Any] = {"project": "二期", "customer": {"contact_phone": "+86 21 5555 0100"}}
SEND: dict[str, Any] = {"recipients": ["wang@customer.example"], "message": "请查收。"}
HANDED_OVER: dict[str, Any] = {"handed_over": "Printed copy given to Mr Wang on site"}
REASON: dict[str, Any] = {"reason": "The customer changed the site"}
