"""How far a night is, from how far its parts are: preparing, and each board."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pi_appliance.core.estimate import Estimate
from pi_appliance.ports import Context


@dataclass(slots=True)
class Share:
    """Tells how far the whole is, from how far a part of it is."""

    context: Context
    parts: int
    number: int = -1
    name: str = ""
    part: float = 0.0  # of the one in work, as far as it was told
    seconds: Callable[[], float] = lambda: 0.0
    """A steady clock, by which it is told how long the part in work will take."""
    _estimate: Estimate = field(default_factory=lambda: Estimate(lambda: 0.0))

    def next(self, name: str) -> None:
        """Begin with the next part, called NAME."""
        self.number, self.name, self.part = self.number + 1, name, 0.0
        self._estimate = Estimate(self.seconds)
        self.context.progress(self._whole(None), name)

    def tell(self, part: float | None, note: str) -> None:
        """Tell that so much of this PART is done; None: nobody knows."""
        left = self._estimate.of(part)
        self.context.progress(self._whole(part), f"{self.name}: {left}{', ' if left else ''}{note}")

    def _whole(self, part: float | None) -> float | None:
        """Return what is done for certain. Of many parts something always is, and it never becomes less."""
        if self.parts == 1:
            return part
        self.part = max(self.part, part or 0.0)
        return (self.number + self.part) / self.parts
