#!/bin/sh
# Starts the appliance from this clone, in the foreground: deploy/run.sh [options of "pi-appliance up"]
# The configuration is config/appliance.yaml of this clone, unless --config or $PI_APPLIANCE_CONFIG names another.
# First it creates the environment .venv if needed, and as root installs missing packages.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
. "$clone/deploy/lib.sh"

if ! command -v mpd >/dev/null 2>&1; then
    if ! can_install || ! install_packages mpd; then
        say "no MPD here, so music will be shown as unavailable; to have it: sudo apt install mpd"
    fi
fi
# Compiling takes most of a first start, so the page comes first.
kernels=later
need_environment "$clone/.venv" "" "$extras"
[ -z "$kernels" ] || start_compiling "$clone/.venv"
exec "$clone/.venv/bin/pi-appliance" up --config "${PI_APPLIANCE_CONFIG:-$clone/config/appliance.yaml}" "$@"
