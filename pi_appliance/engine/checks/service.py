"""Checks of the appliance as a service: the daemon, its unit, and units that have failed."""

from collections.abc import Iterator

from pi_appliance import __version__
from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.model.config import RunsBy
from pi_appliance.model.finding import Finding, fail, not_here, ok, warn
from pi_appliance.system import health, units

_MOST = 3  # other people's failed units that are named


def daemon(patient: Patient) -> Iterator[Finding]:
    """Tell whether the daemon is up and well, by what its page says of itself."""
    name, config = "daemon", patient.config
    if config is None:
        yield not_here(name, UNKNOWN)
        return
    unit = patient.systemd.unit(units.MAIN) if patient.systemd.here else None
    active = unit is not None and unit.active == "active"
    if config.web.port == 0:
        word = "its unit is active" if active else "the page has another port at each start, so it cannot be asked"
        yield (ok if active else not_here)(name, word)
        return
    where, told = health.address(config.web.host, config.web.port), health.ask(config.web.host, config.web.port)
    again = "sudo systemctl restart pi-appliance" if unit and unit.loaded else "stop it and start it again"
    if told.answered and told.ours:
        yield ok(name, f"up at {where}") if told.ok else fail(name, f"it is up at {where}, but {told.why}", again)
    elif told.answered:
        why = f"something else answers at {where}"
        yield fail(name, why, f"choose another port under web:, or find it: sudo ss -ltnp sport = :{config.web.port}")
    elif active:
        yield fail(name, f"its unit is active, but nothing answers at {where}: {told.why}", again)
    else:
        needed = any(job.runs_by is RunsBy.DAEMON and job.schedule for job in config.jobs.values())
        start = "sudo systemctl start pi-appliance" if unit and unit.loaded else f"pi-appliance up{patient.option}"
        why = f"not up: nothing answers at {where}" + (", so the jobs that it starts do not run" if needed else "")
        yield (fail if needed or patient.trouble else warn)(name, why, start)


def unit(patient: Patient) -> Iterator[Finding]:
    """Tell whether the installed units are those of this release."""
    name, systemd = "unit", patient.systemd
    if not systemd.here:
        yield not_here(name, "systemd does not run this machine")
        return
    installed = {each: (text, there) for each, text in units.shipped().items() if (there := systemd.installed(each))}
    if not installed:
        yield not_here(name, "the appliance is not installed as a service")
        return
    other = [each for each, (text, there) in installed.items() if text != there]
    main = systemd.unit(units.MAIN)
    if other:
        why = f"{', '.join(other)} is not the one of pi-appliance {__version__}"
        yield warn(name, why, "sudo deploy/install.sh, in the clone; changes of your own: systemctl edit pi-appliance")
    elif main is not None and main.outdated:
        yield warn(name, "its file was changed, and systemd has not read it again", "sudo systemctl daemon-reload")
    else:
        yield ok(name, f"{', '.join(installed)}: as pi-appliance {__version__} brought it")


def failed(patient: Patient) -> Iterator[Finding]:
    """Tell which units have failed: ours is a failure of ours, others may explain one."""
    name, systemd = "failed units", patient.systemd
    if not systemd.here:
        yield not_here(name, "systemd does not run this machine")
        return
    found = systemd.failed()
    ours = [each for each in found if each.startswith("pi-appliance")]
    others = [each for each in found if each not in ours]
    for each in ours:
        state = systemd.unit(each)
        yield fail(
            name, f"{each} has failed ({state.result if state else 'why is not known'})", f"journalctl -u {each} -n 30"
        )
    if others:
        more = f" and {len(others) - _MOST} more" if len(others) > _MOST else ""
        yield warn(name, f"not of the appliance: {', '.join(others[:_MOST])}{more}", f"systemctl status {others[0]}")
    if not found:
        yield ok(name, "none")
