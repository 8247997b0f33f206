# Steps of an installation, shared by install.sh and the Debian package. POSIX sh, sourced after lib.sh and places.sh.
# The script sets `root`, `dry`, `changes` and the folder `drafts`.
# shellcheck disable=SC2154

# step WORDS… -- COMMAND…: print WORDS and run COMMAND; a dry run only prints.
step() {
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    changes=$((changes + 1))
    if [ -n "$dry" ]; then
        printf 'would:%s\n' "$words"
    else
        printf '%s\n' "${words# }"
        "$@"
    fi
}

# place SOURCE TARGET MODE: write a file of ours atomically.
place() {
    cmp -s "$1" "$root$2" || step "write $root$2" -- put_file "$@"
}

put_file() {
    mkdir -p "$(dirname "$root$2")"
    install -m "$3" "$1" "$root$2.new"
    mv -T "$root$2.new" "$root$2"
}

hash_of() {
    sha256sum <"$1" | cut -d' ' -f1
}

make_user() {
    getent passwd "$user" >/dev/null ||
        step "add the user $user" -- useradd --system --user-group --no-create-home --home-dir "$state" \
            --shell /usr/sbin/nologin "$user"
    let_use audio "the sound card"
    let_use gpio "buttons on pins"
}

# let_use GROUP WHAT: add the user to the group, if there is one.
let_use() {
    if getent group "$1" >/dev/null && ! id -nG "$user" 2>/dev/null | tr ' ' '\n' | grep -qx "$1"; then
        step "let $user use $2" -- usermod --append --groups "$1" "$user"
    fi
}

# Debian's music folder belongs to root. Let the user who installs copy music into it, unless somebody arranged it.
is_closed_music() {
    [ "$(stat -c %u:%g:%a "$music_dir" 2>/dev/null)" = 0:0:755 ] && [ ! -L "$music_dir" ] &&
        [ -z "$(find "$music_dir" -xdev -mindepth 1 ! -user root -print -quit)" ]
}

let_put_music() {
    music_owner=$(id -un "${SUDO_USER:-root}" 2>/dev/null || echo root)
    step "let $music_owner and the group $user put music into $music_dir" -- open_music
}

open_music() {
    chown "$music_owner:$user" "$music_dir"
    chmod 2775 "$music_dir" # what is copied there also belongs to the group
}

# Update files that nobody edited. For an edited file, save the new version beside it as NAME.new.
configure() {
    (cd "$clone/config" && find . -type f ! -name secrets.env ! -name '*.py[co]' | LC_ALL=C sort) >"$drafts/list"
    while IFS= read -r name; do
        name=${name#./}
        new=$drafts/new
        if [ "$name" = appliance.yaml ]; then
            sed "s|^state-dir:.*|state-dir: $state|" "$clone/config/$name" >"$new"
        else
            cp "$clone/config/$name" "$new"
        fi
        there=$root$etc/$name
        written=$(sed -n "s|^\([0-9a-f]*\)  $name\$|\1|p" "$root$defaults" 2>/dev/null || true)
        now=$(hash_of "$new")
        if [ ! -e "$there" ] || { [ "$(hash_of "$there")" = "$written" ] && [ "$now" != "$written" ]; }; then
            place "$new" "$etc/$name" 644
        elif [ "$(hash_of "$there")" != "$now" ] && [ "$now" != "$written" ]; then
            place "$new" "$etc/$name.new" 644
        fi
        printf '%s  %s\n' "$now" "$name" >>"$drafts/defaults"
    done <"$drafts/list"
    place "$drafts/defaults" "$defaults" 644
}

keep_to_the_user() {
    source=$clone/config/secrets.env
    [ -e "$source" ] || source=$clone/config/secrets.env.example
    [ -e "$root$etc/secrets.env" ] || step "write $root$etc/secrets.env" -- put_file "$source" "$etc/secrets.env" 600
    # The page changes the configuration, so the folder belongs to the service, too.
    for path in "$root$etc" "$root$etc/secrets.env" "$root$state"; do
        if [ -z "$root" ] && [ -e "$path" ] && [ "$(stat -c %U "$path")" != "$user" ]; then
            step "give $path to $user" -- chown -R "$user:$user" "$path"
        fi
    done
}

# Also report USB drives to udev that are already plugged in.
watch_usb_drives() {
    systemctl start pi-appliance-usb.path pi-appliance-usb.service || say "USB drives are not watched: systemctl status pi-appliance-usb"
    command -v udevadm >/dev/null 2>&1 || return 0
    udevadm control --reload && udevadm trigger --action=change --subsystem-match=block || true
}
