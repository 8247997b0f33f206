# The paths of an installed appliance, and the options shared by install.sh and uninstall.sh. POSIX sh, sourced.
# shellcheck disable=SC2034 # used by the scripts that source this

user=pi-appliance
home=/opt/pi-appliance # releases/, current and the manifest; only the scripts write here
etc=/etc/pi-appliance
state=/var/lib/pi-appliance
unit=/etc/systemd/system/pi-appliance.service
failure_unit=/etc/systemd/system/pi-appliance-failure@.service
kernels_unit=/etc/systemd/system/pi-appliance-kernels.service
update_units='pi-appliance-update.service pi-appliance-update.path' # in the folder of the unit
usb_units='pi-appliance-usb@.service pi-appliance-usb.service pi-appliance-usb.path' # in the folder of the unit
sound_units='pi-appliance-sound.service pi-appliance-sound.path' # likewise
cluster_units='pi-appliance-cluster.service pi-appliance-cluster.path' # likewise
usb_rule=/etc/udev/rules.d/85-pi-appliance-usb.rules
power_rule=/etc/polkit-1/rules.d/10-pi-appliance-power.rules # used if polkit is installed
network_rule=/etc/polkit-1/rules.d/10-pi-appliance-network.rules # likewise, with NetworkManager
usb_mounts=/run/pi-appliance-usb
usb_state=/var/lib/pi-appliance-usb # the names of USB drives
music_dir=/var/lib/mpd/music # of the MPD of Debian
command=/usr/local/bin/pi-appliance
cron=/etc/cron.d/pi-appliance
updates=/etc/pi-appliance-update.conf # where releases are found; belongs to root, unlike the configuration
manifest=$home/manifest
defaults=$etc/.defaults # hashes of the configuration files as installed

wrong_use() {
    say "$1" >&2
    usage >&2
    exit 2
}

read_options() {
    dry='' yes='' root='' purge='' music=yes
    while [ $# -gt 0 ]; do
        case $1 in
            --dry-run) dry=yes ;;
            --yes | -y) yes=yes ;;
            --purge) purge=yes ;;
            --no-music) music='' ;;
            --prefix)
                case ${2:-} in
                    '' | -*) wrong_use "--prefix needs a folder" ;;
                esac
                root=$(readlink -m -- "$2")
                root=${root%/}
                shift
                ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) wrong_use "no option is called '$1'" ;;
        esac
        shift
    done
}

ask() {
    [ -z "$yes$dry" ] || return 0
    [ -t 0 ] || die "to $1 without asking, say --yes; to see what would be done, --dry-run"
    printf 'Go on and %s? [y/N] ' "$1"
    read -r answer
    [ "$answer" = y ] || [ "$answer" = yes ] || die "nothing was changed"
}
