"""Findings to a checklist for a terminal, and to plain values for JSON."""

from collections.abc import Sequence

from pi_appliance.model.finding import Finding, Verdict

_WORDS = {Verdict.OK: "ok", Verdict.WARN: "warn", Verdict.FAIL: "FAIL", Verdict.NOT_HERE: "-"}
_WIDTH = 15  # of the names of most checks


def line(finding: Finding) -> str:
    """Return FINDING in one line, and in a second one what mends it."""
    text = f"{_WORDS[finding.verdict]:<4}  {finding.check:<{_WIDTH}}  {finding.found}"
    return f"{text}\n      {'':<{_WIDTH}}  mend: {finding.mend}" if finding.mend else text


def summary(found: Sequence[Finding]) -> str:
    """Return the last line of the checklist."""
    fails, warns = (sum(each.verdict is kind for each in found) for kind in (Verdict.FAIL, Verdict.WARN))
    if not fails and not warns:
        return "all well"
    return (
        f"{fails or 'nothing'} {'fails' if fails < 2 else 'fail'}, {warns or 'no'} warning{'' if warns == 1 else 's'}"
    )


def values(finding: Finding) -> dict[str, str]:
    """Return FINDING as plain values."""
    return {"check": finding.check, "state": finding.verdict, "found": finding.found, "mend": finding.mend}
