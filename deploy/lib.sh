# Functions shared by the scripts of this folder. POSIX sh, sourced. The calling script sets `clone`.
# shellcheck disable=SC2154

unset PYTHONPATH PYTHONHOME # the installation must not depend on the caller's variables

# Printed after the output of a failed pip: the most frequent reason.
online="Is this machine online? Try: ping -c 1 debian.org; when that answers, run this again"

say() {
    printf 'pi-appliance: %s\n' "$*"
}

die() {
    printf 'pi-appliance: %s\n' "$*" >&2
    exit 1
}

# Whether a Python starts (a shim may not), is new enough, and can create environments with pip.
usable_python() {
    "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Print the first usable Python. If $PYTHON is set, try only that one.
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

# Print which Python is installed, why it is not suitable, and how to fix it.
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

# Print which of the given Debian packages are not installed. Prints nothing on other systems.
missing_packages() {
    command -v dpkg-query >/dev/null 2>&1 || return 0
    for package in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
            *' installed') ;;
            *) printf '%s ' "$package" ;;
        esac
    done
}

# Install the given Debian packages. Update the package lists only if the first attempt fails.
install_packages() {
    say "installing $*"
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    apt-get install -qq -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

wrong_python() {
    echo "$PYTHON is not a Python 3.11 or newer that can create environments; unset PYTHON or name another"
}

# Set `python` to a usable Python. As root install it, else print what to install.
need_python() {
    python=$(find_python) && return
    [ -z "${PYTHON:-}" ] || die "$(wrong_python)"
    if can_install; then
        install_packages python3 python3-venv || true
        python=$(find_python) && return
    fi
    die "$(why_no_python)"
}

# The same for a dry run, which only says what would be done. Sets `python` to nothing.
would_need_python() {
    python=
    if [ -z "${PYTHON:-}" ] && command -v apt-get >/dev/null 2>&1; then
        step "install the packages python3 and python3-venv" --
    else
        refuse "$(if [ -n "${PYTHON:-}" ]; then wrong_python; else why_no_python; fi)"
    fi
}

# Print the files that a release is built from.
sources() {
    (cd "$clone" && find pyproject.toml README.md LICENSE setup.py pi_appliance config systemd -type f \
        ! -name '*.py[co]' ! -name '*.so' ! -name '*.c' ! -name secrets.env 2>/dev/null | LC_ALL=C sort)
}

# A hash of them. It names a release, and a wheel is used only if it was built from the same files.
hash_of_sources() {
    (cd "$clone" && sources | tr '\n' '\0' | xargs -0 sha256sum) | sha256sum | cut -d' ' -f1
}

# Copy them to the folder $1, as pip and setuptools need them.
copy_sources() {
    mkdir -p "$1"
    (cd "$clone" && sources | tr '\n' '\0' | xargs -0 cp --parents -t "$1")
    # Kernels that this clone has compiled are reused. Their names contain a hash of the source.
    (cd "$clone" && find pi_appliance/puzzles -name '*.so' -exec cp --parents -t "$1" {} +)
    ln -s ../config "$1/pi_appliance/starter_config"
    ln -s ../systemd "$1/pi_appliance/units"
}

# Print the wheel of these sources that fits the Python $1, if deploy/wheels.sh left one in dist/wheels/.
find_wheel() {
    [ "${PI_APPLIANCE_PLAIN:-}" != 1 ] && [ -e "$clone/dist/wheels/SOURCES" ] &&
        [ "$(cat "$clone/dist/wheels/SOURCES")" = "$(hash_of_sources)" ] || return 0
    "$1" - "$clone/dist/wheels" <<'PYTHON'
import glob, platform, sys
machine = platform.machine()
if sys.maxsize < 2**32:  # it may have a 64-bit kernel
    machine = {"aarch64": "armv7l", "armv8l": "armv7l", "x86_64": "i686"}.get(machine, machine)
tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
pattern = f"{glob.escape(sys.argv[1])}/pi_appliance-*-{tag}-{tag}-*linux*_{machine}.whl"
print(*sorted(glob.glob(pattern))[:1])
PYTHON
}

# The interpreter of an environment. If it changes, the environment is created again.
environment_identity() {
    "$1/bin/python" -c 'import sys; print(sys.version.split()[0], sys.base_prefix, sys.prefix)' 2>/dev/null
}

python_of_environment_is() {
    [ "$("$1/bin/python" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null)" = \
        "$("$2" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null)" ]
}

# Optional dependencies. Some machines have no wheel for them, such as those with 32 bits outside Raspberry Pi OS.
extras='[backup,discovery,mastodon,mqtt,pictures]'

# with_each_extra ENVIRONMENT: add each of them that can be installed, and say what the others are for.
with_each_extra() {
    missing=
    for extra in $(printf '%s' "$extras" | tr '[],' '   '); do
        with_pip "$1" "pi-appliance[$extra]" && continue
        case $extra in
            backup) use='secrets in backups' ;;
            cluster) use='work on several machines' ;;
            discovery) use='being found by phones' ;;
            mastodon) use='posts on Mastodon' ;;
            mqtt) use=MQTT ;;
            pictures) use='pictures of puzzles' ;;
            *) use=$extra ;;
        esac
        missing="$missing${missing:+, }$use"
    done
    [ -z "$missing" ] || say "left out, see above: $missing; all else works"
}

# Debian packages that compile the kernels of the puzzles. Raspberry Pi OS Lite lacks only the last.
compiler='gcc libc6-dev python3-dev'

# Install the compiler if it is missing and we are root. Only speed depends on it.
want_compiler() {
    [ "${PI_APPLIANCE_PLAIN:-}" != 1 ] || return 0
    # shellcheck disable=SC2046,SC2086 # lists of words
    set -- $(missing_packages $compiler)
    if [ $# != 0 ] && can_install; then
        install_packages "$@" || say "$* cannot be installed, see above"
    fi
}

# with_pip ENVIRONMENT WORD…: install WORDs there with pip. Print only its message about the kernels.
# With kernels=later Python compiles each module when it is first imported: most never are, and the page waits.
with_pip() {
    into=$1 pip_log=$(mktemp) installed=0
    shift
    [ "${kernels:-}" != later ] || set -- --no-compile "$@"
    "$into/bin/python" -m pip install --quiet --progress-bar off --disable-pip-version-check \
        --no-warn-script-location --log "$pip_log" "$@" || installed=$?
    plain=$(sed -n 's/.*\(the puzzle kernels run as plain Python.*\)/\1/p' "$pip_log" | head -n 1)
    rm -f "$pip_log"
    [ -z "$plain" ] || say "$plain"
    return "$installed"
}

# Print everything that decides how the Python $1 compiles the kernels: options, compiler, sources.
kernels_identity() {
    printf '%s %s ' "${PI_APPLIANCE_PLAIN:-}" "$(command -v "${CC:-gcc}")"
    "$1" -c 'import os, sysconfig; print(os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
    for types in "$clone"/pi_appliance/puzzles/*/*.pxd; do
        [ ! -e "$types" ] || cat "$types" "${types%.pxd}.py"
    done
    cat "$clone/pi_appliance/puzzles/kernels.py" "$clone/setup.py"
}

# make_environment FOLDER: make an environment with pip. The module ensurepip would compile all of pip and setuptools,
# a seventh of the time of a first start. So pip's wheel, which ensurepip has, is only unpacked.
make_environment() {
    "$python" -m venv --without-pip "$1" && "$1/bin/python" - 2>/dev/null <<'PYTHON' || "$python" -m venv "$1"
import ensurepip, pathlib, shlex, sys, sysconfig, zipfile

name = f"pip-{ensurepip.version()}-py3-none-any.whl"
folders = pathlib.Path(ensurepip.__file__).parent / "_bundled", pathlib.Path("/usr/share/python-wheels")  # Debian's
wheel = next(folder / name for folder in folders if (folder / name).exists())
zipfile.ZipFile(wheel).extractall(sysconfig.get_path("purelib"))
command = pathlib.Path(sys.prefix, "bin/pip")
command.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pip \"$@\"\n")
command.chmod(0o755)
PYTHON
}

# need_environment FOLDER EXTRAS [MORE]: install this clone, editable, into the environment FOLDER with EXTRAS, and
# with MORE if possible.
# A stamp file marks a complete environment. It is deleted before a change, so an incomplete one is never used.
# If only the kernels of the puzzles changed, only they are compiled again. A failure there is not an error.
# With kernels=later they are not compiled here, but by `start_compiling` afterwards.
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
    compiled=$(sed -n 3p "$stamp" 2>/dev/null || true)
    if [ -z "$identity" ] || [ "$made_of" != "$identity" ] ||
        { [ -n "${PYTHON:-}" ] && ! python_of_environment_is "$environment" "$PYTHON"; }; then
        need_python
        say "making the environment ${environment##*/} with $python"
        rm -rf "$environment"
        make_environment "$environment" || die "$python cannot make an environment in $environment; see above"
        holds='' compiled='' # the kernels of another Python do not fit
    fi
    [ "${PI_APPLIANCE_PLAIN:-}" != 1 ] || kernels=
    if [ "${kernels:-}" = later ]; then
        PI_APPLIANCE_KERNELS=later
        export PI_APPLIANCE_KERNELS
        made_from=$compiled
    else
        made_from=$(kernels_identity "$environment/bin/python" | sha256sum)
    fi
    if [ "$holds" != "$wanted" ]; then
        say "installing into ${environment##*/}; this takes a minute or more the first time"
        want_compiler
        [ "${kernels:-}" = later ] || made_from=$(kernels_identity "$environment/bin/python" | sha256sum)
        rm -f "$stamp"
        # MORE in the same call if possible, because each call builds the package again.
        if [ -z "${3:-}" ] || ! with_pip "$environment" --editable "$clone$3"; then
            with_pip "$environment" --editable "$clone$2" || die "the installation did not end well, see above. $online"
            [ -z "${3:-}" ] || with_each_extra "$environment"
        fi
    elif [ "$compiled" != "$made_from" ]; then
        say "bringing the kernels of the puzzles up to date"
        with_pip "$environment" --no-deps --editable "$clone" || {
            say "$not_compiled. $online"
            made_from=
        }
    fi
    if [ "$holds" != "$wanted" ] || [ "$compiled" != "$made_from" ]; then
        write_stamp "$stamp" "$(environment_identity "$environment")" "$wanted" "$made_from"
    fi
    exec 9<&-
}

not_compiled="the puzzles run as plain Python, slower, until their kernels can be compiled, see above"

# write_stamp FILE INTERPRETER CONTENT KERNELS: say what an environment was made from.
write_stamp() {
    printf '%s\n%s\n%s\n' "$2" "$3" "$4" >"$1.new"
    mv "$1.new" "$1"
}

# Compile the kernels that are missing or have changed, in the background, after `kernels=later need_environment`.
start_compiling() {
    environment=$1 stamp=$1/.pi-appliance
    made_from=$(kernels_identity "$environment/bin/python" | sha256sum)
    [ "$(sed -n 3p "$stamp")" != "$made_from" ] || return 0
    (
        exec 8<"$clone/pi_appliance/puzzles"
        flock -w 10 8 || exit 0 # another run of this script compiles them
        tools=$(mktemp -d)
        trap 'rm -rf "$tools"' EXIT
        get_build_tools "$environment/bin/python" "$tools" 19 && compile_kernels "$environment/bin/python" "$tools" || {
            say "$not_compiled. $online"
            exit 0
        }
        write_stamp "$stamp" "$(sed -n 1p "$stamp")" "$(sed -n 2p "$stamp")" "$made_from"
    ) </dev/null &
}

# get_build_tools PYTHON FOLDER [NICENESS]: install into FOLDER what compiles the kernels of this clone.
get_build_tools() {
    "$1" - "$clone/pyproject.toml" >"$2/requirements" <<'PYTHON'
import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))
print(*project["build-system"]["requires"], *project["tool"]["pi-appliance"]["compile-requires"], sep="\n")
PYTHON
    nice -n "${3:-0}" "$1" -m pip install --quiet --progress-bar off --disable-pip-version-check --no-compile \
        --target "$2/lib" --requirement "$2/requirements"
}

# compile_kernels PYTHON TOOLS: compile the kernels of this clone beside their sources, at low priority.
compile_kernels() {
    done=0
    (cd "$clone" && PYTHONPATH=$2/lib PYTHONWARNINGS=ignore PI_APPLIANCE_KERNELS='' nice -n 19 "$1" setup.py --quiet \
        build_ext --inplace --build-temp "$2/work" --build-lib "$2/built") >"$2/log" 2>&1 || done=$?
    plain=$(sed -n 's/.*\(the puzzle kernels run as plain Python.*\)/\1/p' "$2/log" | head -n 1)
    [ -z "$plain" ] || say "$plain"
    return $done
}
