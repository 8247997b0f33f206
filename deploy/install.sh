#!/bin/sh
# Installs this clone as a service, or updates an installed one. A second run changes nothing.
# The files and how to remove them: docs/operating.md
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# No programs of the caller: the service must be able to run the Python that is found.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022 # the service is another user, and must read what is installed
. "$clone/deploy/lib.sh"
. "$clone/deploy/places.sh"
. "$clone/deploy/steps.sh"

usage() {
    cat <<'TEXT'
Usage: deploy/install.sh [--dry-run] [--yes] [--no-music] [--prefix ROOT]
  --dry-run      show every step, change nothing
  --yes          do not ask
  --no-music     neither install nor start mpd, the music player, and espeak-ng, which speaks announcements
  --prefix ROOT  install below ROOT, for the image of another machine: no user, no service, no cron entries
Exit status: 0 it is installed, 1 it is not, and the previous release still runs; with --dry-run
             0 it would be installed, 1 it would be refused; 2 wrong use
TEXT
}

read_options "$@"
changes=0
refusal=

# refuse REASON: a dry run continues and prints the reason at its end.
refuse() {
    [ -n "$dry" ] || die "$1"
    refusal=$1
}

# --- the release ----------------------------------------------------------------------------------------------------

name_release() {
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$clone/pi_appliance/__init__.py")
    release=$version
    [ -n "$python" ] || return 0 # a dry run without Python, whose version is a part of the name
    what=$({
        "$python" -c 'import sys; print(sys.version, sys.base_prefix)'
        hash_of_sources
        [ -z "$wheel" ] || hash_of "$wheel"
        [ -n "$wheel" ] || kernels_identity "$python"
    } | sha256sum | cut -c1-12)
    release=$version-$what
}

# Built in its final folder, because an environment cannot be moved. It is complete when .whole exists.
build_release() {
    folder=$root$home/releases/$release
    what=$wheel
    rm -rf "$folder"
    mkdir -p "$root$home/releases"
    [ -n "$wheel" ] || {
        what=$drafts/sources
        copy_sources "$what"
        [ ! -d "$root$home/kernels" ] || cp -r "$root$home/kernels/." "$what/pi_appliance/puzzles/"
    }
    make_environment "$folder" || die "$python cannot make an environment in $folder; see above"
    [ -n "$root" ] || export PI_APPLIANCE_KERNELS=later
    for member in "$root$home"/current/lib/python3*/site-packages/distributed; do
        [ ! -d "$member" ] || extras="${extras%]},cluster]" # the owner added it to the release before
    done
    with_pip "$folder" "$what$extras" || {
        with_pip "$folder" "$what" || die "the release could not be built, see above. $online"
        with_each_extra "$folder"
    }
    [ -n "$root" ] || prepare_compiling
    if [ -n "$root" ]; then # on the other machine, ROOT is /
        grep -rlIF "$root$home" "$folder/bin" "$folder/pyvenv.cfg" | while IFS= read -r file; do
            sed -i "s|$root$home|$home|g" "$file"
        done
    fi
    sync -f "$folder" # or a power loss could leave an incomplete release that is marked as complete
    touch "$folder/.whole"
}

# Kernels take most of the time of an installation. Have pi-appliance-kernels.service compile the missing ones.
prepare_compiling() {
    puzzles=$("$folder/bin/python" -I -c 'import sys
from pi_appliance.puzzles.kernels import PUZZLES, kernel_states
print(PUZZLES)
sys.exit(all(state == "compiled" for _, state in kernel_states()))') || return 0
    [ "${PI_APPLIANCE_PLAIN:-}" != 1 ] || return 0
    part=$folder/compile/clone
    mkdir -p "$part/deploy" "$part/pi_appliance" "$folder/compile/tools"
    cp "$clone/setup.py" "$clone/pyproject.toml" "$clone/README.md" "$part"
    cp "$clone/pi_appliance/__init__.py" "$part/pi_appliance"
    ln -s "$puzzles" "$part/pi_appliance/puzzles"
    cp "$clone/deploy/lib.sh" "$clone/deploy/compile.sh" "$part/deploy"
    get_build_tools "$folder/bin/python" "$folder/compile/tools" || {
        rm -rf "$folder/compile"
        say "$not_compiled. $online"
    }
}

switch_to() {
    ln -sfn "releases/$1" "$root$home/current.new"
    mv -T "$root$home/current.new" "$root$home/current"
}

link_command() {
    mkdir -p "$(dirname "$root$command")"
    ln -sfn "$home/current/bin/pi-appliance" "$root$command.new"
    mv -T "$root$command.new" "$root$command"
}

# Delete all releases but the active one and the one before it.
prune() {
    keep=$previous
    if [ -z "$keep" ] || [ "$keep" = "$release" ]; then
        for folder in "$root$home"/releases/*/; do
            name=$(basename "$folder")
            # shellcheck disable=SC3013 # every sh of Debian knows -nt
            if [ "$name" != "$release" ] && { [ "${keep:-$release}" = "$release" ] ||
                [ "$folder/.whole" -nt "$root$home/releases/$keep/.whole" ]; }; then
                keep=$name
            fi
        done
    fi
    for folder in "$root$home"/releases/*/; do
        name=$(basename "$folder")
        case $name in
            "$release" | "$keep" | '*') ;;
            *) step "remove the old release $name" -- rm -rf "$root$home/releases/$name" ;;
        esac
    done
}

# Where updates come from: the releases of the project that this clone was made of, if it is on GitHub.
name_source() {
    [ ! -e "$root$updates" ] || return 0
    project=$(sed -n 's|^[[:space:]]*url = .*github\.com[:/]\([A-Za-z0-9_.-]*/[A-Za-z0-9_.-]*\)$|\1|p' \
        "$clone/.git/config" 2>/dev/null | head -n 1)
    cat >"$drafts/source" <<TEXT
# The list of releases for "pi-appliance update" and the page, in the form of GitHub's /repos/OWNER/NAME/releases.
# What is published there runs as root. This file belongs to root, so the service cannot change it.
${project:+address=https://api.github.com/repos/${project%.git}/releases}
TEXT
    place "$drafts/source" "$updates" 644
}

# --- the service ----------------------------------------------------------------------------------------------------

start_service() {
    systemctl daemon-reload
    systemctl enable --quiet pi-appliance.service pi-appliance-usb.service pi-appliance-usb.path
    systemctl enable --quiet --now pi-appliance-update.path pi-appliance-sound.path pi-appliance-cluster.path
    watch_usb_drives
    systemctl reset-failed pi-appliance.service 2>/dev/null || true # forget crashes of the previous release
    # Type=notify: this waits until the daemon is ready or has failed.
    if systemctl restart pi-appliance.service 2>/dev/null && systemctl is-active --quiet pi-appliance.service; then
        systemctl try-restart --no-block pi-appliance-cluster.service # all machines run the same release
        systemctl enable --quiet pi-appliance-kernels.service
        systemctl start --no-block pi-appliance-kernels.service
        return
    fi
    journalctl --sync
    journalctl --no-pager --output cat --lines 10 --unit pi-appliance.service >&2
    [ -n "$previous" ] || {
        systemctl disable --quiet --now pi-appliance.service
        die "it does not start, see above; put that right and install again, or take it away with deploy/uninstall.sh"
    }
    switch_to "$previous"
    rm -rf "$root$home/releases/$release" # or the next install would take it for the previous release
    systemctl restart pi-appliance.service 2>/dev/null ||
        die "neither the new release nor $previous starts, see above: systemctl status pi-appliance"
    die "the new release does not start, see above; $previous runs again"
}

# Whether there is an mpd, or another program at its port, 6600 (19C8), which the mpd of Debian would take.
has_player() {
    command -v mpd >/dev/null 2>&1 || cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':19C8 [0-9A-F:]* 0A '
}

# Debian's mpd may be installed without being started. An mpd that the owner masked, or has elsewhere, is left alone.
needs_mpd() {
    [ -n "$music" ] || return 1
    case $(systemctl is-enabled mpd.service 2>/dev/null) in
        enabled | masked) return 1 ;;
        '') [ -n "$dry" ] || return 1 ;; # it would be installed
    esac
    [ -n "$dry" ] || ! "$home/current/bin/python" -c 'import socket; socket.create_connection(("localhost", 6600), 2)' \
        2>/dev/null || systemctl is-active --quiet mpd.socket
}

start_mpd() {
    systemctl enable --quiet --now mpd.service || say "mpd does not start, so there is no music yet: systemctl status mpd"
}

want_music() {
    install_packages "$@" || say "$* could not be installed, so music or announcements are missing; later: sudo apt install $*"
}

cron_entries() {
    "$command" jobs "$1" --system --user-name "$user" --config "$etc/appliance.yaml"
}

write_cron_entries() {
    cron_entries install || die "the service runs, but jobs that run by cron have no entries yet; see above"
}

# --- all steps -----------------------------------------------------------------------------------------------------

if [ -z "$root" ]; then
    [ -d /run/systemd/system ] || refuse "this machine does not use systemd; start deploy/run.sh instead"
    [ "$(id -u)" = 0 ] || [ -n "$dry" ] || die "only root can install; run: sudo $0"
    ! dpkg-query -W -f '${Status}' pi-appliance 2>/dev/null | grep -q ' installed$' ||
        refuse "it is installed as a package of Debian; sudo apt remove pi-appliance keeps configuration and history"
    # shellcheck disable=SC2046 # a list of words
    set -- $(missing_packages python3-venv cron)
    [ ! -e "$root$home/current" ] || music='' # an update leaves the player as it is
    ask "install pi-appliance as a service of this machine${music:+, with mpd for music and espeak-ng for announcements}"
    [ $# = 0 ] || step "install the packages $*" -- install_packages "$@"
    # shellcheck disable=SC2046 # a list of words
    set -- $([ -z "$music" ] || missing_packages $(has_player || echo mpd) espeak-ng)
    [ $# = 0 ] || step "install the packages $*, for music and announcements" -- want_music "$@"
    make_user
fi
if [ -z "$dry" ]; then
    need_python
else
    python=$(find_python) || would_need_python
fi
# A wheel has the kernels compiled, so it needs no compiler.
wheel=
[ -z "$python" ] || wheel=$(find_wheel "$python")
if [ -z "$root$wheel" ] && [ "${PI_APPLIANCE_PLAIN:-}" != 1 ]; then
    # shellcheck disable=SC2046,SC2086 # lists of words
    set -- $(missing_packages $compiler)
    [ $# = 0 ] || step "install the packages $*, for fast puzzles" -- want_compiler
fi
drafts=$(mktemp -d)
trap 'rm -rf "$drafts"' EXIT

name_release
previous=$(readlink "$root$home/current" 2>/dev/null | sed 's|^releases/||' || true)
[ -e "$root$home/releases/$release/.whole" ] || step "build the release $release with ${python:-python3}" -- build_release
[ -d "$root$state" ] || step "make $root$state" -- install -d -m 0750 "$root$state"
configure
name_source
keep_to_the_user
place "$clone/systemd/pi-appliance-failure@.service" "$failure_unit" 644
place "$clone/systemd/pi-appliance.service" "$unit" 644
place "$clone/systemd/pi-appliance-kernels.service" "$kernels_unit" 644
for name in $usb_units $sound_units $cluster_units $update_units; do
    place "$clone/systemd/$name" "${unit%/*}/$name" 644
done
place "$clone/systemd/${usb_rule##*/}" "$usb_rule" 644
place "$clone/systemd/${power_rule##*/}" "$power_rule" 644
place "$clone/systemd/${network_rule##*/}" "$network_rule" 644
[ "$(readlink "$root$command" || true)" = "$home/current/bin/pi-appliance" ] || step "link $root$command" -- link_command
[ "$previous" = "$release" ] || step "switch to $release" -- switch_to "$release"
{
    printf '%s\n' "$command" "$unit" "$failure_unit" "$kernels_unit" "$usb_rule" "$power_rule" "$network_rule" "$cron"
    printf "${unit%/*}/%s\n" $usb_units $sound_units $cluster_units $update_units
} >"$drafts/manifest"
place "$drafts/manifest" "$manifest" 644

if [ -z "$root" ]; then
    if [ -n "$music" ] && { is_closed_music || { [ -n "$dry" ] && ! has_player; }; }; then # mpd would be installed
        let_put_music
    fi
    ! needs_mpd || step "start mpd, the music player, now and at each boot" -- start_mpd
    if [ "$changes" != 0 ] || ! systemctl is-active --quiet pi-appliance.service; then
        step "start the service and wait until it is ready" -- start_service
    fi
    if [ ! -x "$command" ] || ! cron_entries plan 2>/dev/null | grep -q 'nothing to change'; then
        step "write the entries of jobs that run by cron into $cron" -- write_cron_entries
    fi
fi
prune
[ -z "$refusal" ] || die "nothing was changed; without --dry-run this would be refused: $refusal"
if [ "$changes" = 0 ]; then
    say "release $release was installed before; nothing to change"
elif [ -n "$dry" ]; then
    say "$changes steps; nothing was changed"
else
    say "release $release is installed"
fi
# Show where the page is. Before the set-up, with its code.
[ -n "$root$dry" ] || "$command" qr --config "$etc/appliance.yaml" || true
