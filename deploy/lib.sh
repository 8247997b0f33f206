# What the scripts of this folder share. POSIX sh; sourced, never run. The script that sources it has set `clone`.
# shellcheck disable=SC2154

unset PYTHONPATH PYTHONHOME # of the caller: what is installed must stand on its own

# The last line after all that pip says when it fails, which is most often for this.
online="Is this machine online? Try: ping -c 1 debian.org; when that answers, run this again"

say() {
    printf 'pi-appliance: %s\n' "$*"
}

die() {
    printf 'pi-appliance: %s\n' "$*" >&2
    exit 1
}

# A Python that really starts (a shim may not), is new enough, and can make environments with pip in them.
usable_python() {
    "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Print the first usable Python: $PYTHON and nothing else if it is set.
find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3; do
        if usable_python "$candidate"; then
            command -v "$candidate"
            return
        fi
        [ -z "${PYTHON:-}" ] || return 1
    done
    return 1
}

# Say which Python is here, why it does not do, and what to do about it.
why_no_python() {
    for candidate in python3.13 python3.12 python3.11 python3; do
        found=$("$candidate" -c 'import sys; print(sys.version.split()[0])' 2>/dev/null) || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "Python $found is here, but without venv; run: sudo apt install python3-venv"
        else
            echo "only Python $found is here, and it takes 3.11, which Debian 12 and Raspberry Pi OS Bookworm or newer have;" \
                "have one of these, or name a newer Python: PYTHON=/path/to/python3.11"
        fi
        return
    done
    echo "no Python is here, and it takes 3.11 with venv; on Debian 12, Raspberry Pi OS Bookworm or newer run:" \
        "sudo apt install python3-venv"
}

can_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# Print which of the Debian packages named are not installed. Prints nothing where there is no Debian.
missing_packages() {
    command -v dpkg-query >/dev/null 2>&1 || return 0
    for package in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
            *' installed') ;;
            *) printf '%s ' "$package" ;;
        esac
    done
}

# Install the Debian packages named. The package lists are fetched only where the ones at hand do not do.
install_packages() {
    say "installing $*"
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    apt-get install -qq -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# Set `python` to a usable Python, which root gets installed. Others are told what to install.
need_python() {
    python=$(find_python) && return
    [ -z "${PYTHON:-}" ] || die "$PYTHON is no Python 3.11 or newer that can make environments; unset PYTHON or name another"
    if can_install; then
        install_packages python3 python3-venv || true
        python=$(find_python) && return
    fi
    die "$(why_no_python)"
}

# What an environment is made of: if any of it changes, the environment is made anew.
environment_identity() {
    "$1/bin/python" -c 'import sys; print(sys.version.split()[0], sys.base_prefix, sys.prefix)' 2>/dev/null
}

python_of_environment_is() {
    [ "$("$1/bin/python" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null)" = \
        "$("$2" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null)" ]
}

# What not everybody needs, and not every machine has a wheel for.
extras='[discovery,mastodon,pictures]'
without_extras="posts on Mastodon, pictures of puzzles, and being found by phones are left out, see above; all else works"

# need_environment FOLDER EXTRAS [MORE]: have this clone installed, editable, in the environment FOLDER, with EXTRAS, and
# with MORE where that can be had.
# A stamp is written when all is done and taken away before anything changes, so half an environment is never trusted.
need_environment() {
    environment=$1 stamp=$1/.pi-appliance wanted=$(printf '%s' "$2${3:-}" | cat - "$clone/pyproject.toml" | sha256sum)
    exec 9<"$clone"
    flock -n 9 || {
        say "waiting for another run of this script"
        flock 9
    }
    identity=$(environment_identity "$environment" || true)
    made_of=$(sed -n 1p "$stamp" 2>/dev/null || true)
    holds=$(sed -n 2p "$stamp" 2>/dev/null || true)
    if [ -z "$identity" ] || [ "$made_of" != "$identity" ] ||
        { [ -n "${PYTHON:-}" ] && ! python_of_environment_is "$environment" "$PYTHON"; }; then
        need_python
        say "making the environment ${environment##*/} with $python"
        rm -rf "$environment"
        "$python" -m venv "$environment" || die "$python cannot make an environment in $environment; see above"
        holds=
    fi
    if [ "$holds" != "$wanted" ]; then
        say "installing into ${environment##*/}; this takes a minute or two the first time"
        rm -f "$stamp"
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$clone$2" ||
            die "the installation did not end well, see above. $online"
        if [ -n "${3:-}" ]; then
            "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$clone$3" ||
                say "$without_extras"
        fi
        printf '%s\n%s\n' "$(environment_identity "$environment")" "$wanted" >"$stamp.new"
        mv "$stamp.new" "$stamp"
    fi
    exec 9<&-
}
