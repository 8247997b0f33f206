"""The addresses at which phones and other devices reach the page."""

from pi_appliance.config.options import Web
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.system import network


def addresses(web: Web) -> list[str]:
    """Return the addresses of the page, the most reliable first.

    Raises:
        Refused: the page listens on this machine only.
        Unavailable: there is no network.
    """
    if network.is_loopback_only(web.host):
        raise Refused(
            f"the page listens on {web.host}, so phones cannot reach it;"
            " write host: 0.0.0.0 under web:; then the page asks for a password"
        )
    if web.port == 0:
        raise Refused("the page has another port at each start; write one under web:, such as port: 8080")
    reachable = network.public_addresses(web.host)
    if not reachable:
        raise Unavailable(f"this machine has no address at which others reach {web.host}; is it on the network?")
    port = "" if web.port == 80 else f":{web.port}"
    # The host name comes second: it never changes, but some phones cannot resolve it.
    return [
        f"http://{reachable[0]}{port}/",
        f"http://{network.host_name()}.local{port}/",
        *(f"http://{ip}{port}/" for ip in reachable[1:]),
    ]
