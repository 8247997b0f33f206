#!/bin/sh
# Removes an installed appliance. Configuration and state stay, unless --purge removes them too.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
. "$clone/deploy/lib.sh"
. "$clone/deploy/places.sh"

usage() {
    cat <<'TEXT'
Usage: deploy/uninstall.sh [--purge] [--dry-run] [--yes] [--prefix ROOT]
  --purge        also remove the configuration, the secrets, the history and the user
  --dry-run      show every step, change nothing
  --yes          do not ask
  --prefix ROOT  remove an installation below ROOT
Exit status: 0 nothing of it is left, 1 something is, 2 wrong use
TEXT
}

read_options "$@"
changes=0

remove() {
    case $1 in
        /?*) [ -e "$root$1" ] || [ -L "$root$1" ] || return 0 ;;
        *) return 0 ;; # an empty line of the manifest must not remove ROOT itself
    esac
    changes=$((changes + 1))
    if [ -n "$dry" ]; then
        printf 'would: remove %s\n' "$root$1"
    else
        printf 'remove %s\n' "$root$1"
        rm -rf -- "$root$1"
    fi
}

if [ -z "$root" ]; then
    [ "$(id -u)" = 0 ] || [ -n "$dry" ] || die "only root can uninstall; run: sudo $0"
    ask "remove pi-appliance${purge:+ with its configuration and history}"
    if [ -z "$dry" ] && [ -e "$unit" ] && [ -d /run/systemd/system ]; then
        systemctl disable --quiet --now pi-appliance.service
        systemctl disable --quiet --now pi-appliance-kernels.service pi-appliance-update.path pi-appliance-sound.path 2>/dev/null || true
        systemctl disable --quiet --now pi-appliance-cluster.path 2>/dev/null || true
        systemctl stop pi-appliance-cluster.service 2>/dev/null || true
        systemctl disable --quiet --now pi-appliance-usb.path pi-appliance-usb.service 2>/dev/null || true
        systemctl stop 'pi-appliance-usb@*.service' # unmounts the drives
    fi
fi

if [ -e "$root$manifest" ]; then
    while IFS= read -r path; do
        remove "$path"
    done <"$root$manifest"
fi
remove "$home"
if [ -n "$purge" ]; then
    remove "$etc"
    remove "$updates"
    remove "$state"
    remove "$usb_state"
    if [ -z "$root" ] && [ -z "$dry" ] && getent passwd "$user" >/dev/null; then
        userdel "$user" 2>/dev/null || say "the user $user could not be removed; run: sudo userdel $user"
    fi
fi
if [ -z "$root" ] && [ -z "$dry" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ ! -d "$usb_mounts" ] || find "$usb_mounts" -xdev -depth -type d -empty -delete
    ! command -v udevadm >/dev/null 2>&1 || udevadm control --reload
fi

stays="packages such as mpd, espeak-ng and cron stay: sudo apt purge mpd espeak-ng"
if [ "$changes" = 0 ]; then
    say "nothing of it is here"
elif [ -n "$dry" ]; then
    say "$changes steps; nothing was changed"
elif [ -n "$purge" ]; then
    say "removed, configuration and history too; $stays"
else
    say "removed; $root$etc and $root$state stay, --purge removes them too; $stays"
fi
