"""What each network has cost this month, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from pi_appliance import registry
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import Config
from pi_appliance.ports import Rules
from pi_appliance.store.posts import Posts


@dataclass(frozen=True, slots=True)
class Month:
    """The calendar month (UTC) of one network, in dollars."""

    network: str
    spent: Decimal
    cap: Decimal | None

    @property
    def full(self) -> bool:
        """Whether nothing more may be spent."""
        return self.cap is not None and self.spent >= self.cap


def months(appliance: Appliance, now: datetime) -> list[Month]:
    """Return what this month has cost: of every network in the file, then of others that have cost something."""
    spent, config = Posts(appliance.store).spent(now), appliance.config
    names = [*config.networks, *(name for name in spent if name not in config.networks)]
    return [Month(name, spent.get(name, Decimal(0)), _cap(config, name)) for name in names]


def values(month: Month) -> Mapping[str, Any]:
    """Return MONTH for JSON: amounts as text, so that none is rounded."""
    cap = None if month.cap is None else str(month.cap)
    return {"network": month.network, "spent": str(month.spent), "cap": cap}


def _cap(config: Config, name: str) -> Decimal | None:
    if name not in config.networks:
        return None
    part = config.networks[name]
    try:
        rules: Rules = registry.load("networks", part.kind).rules(part.with_, config.place_of(name))
    except ApplianceError:  # it must be asked first, and there is nothing to pay then
        return None
    return rules.cap
