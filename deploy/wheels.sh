#!/bin/sh
# Builds wheels with compiled puzzle kernels into dist/wheels/, where install.sh and "make archive" find them.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
. "$clone/deploy/lib.sh"

usage() {
    cat <<'TEXT'
Usage: deploy/wheels.sh [--here | --all]
  --here   one wheel for each Python 3.11 to 3.13 of this machine (only $PYTHON, if it is set)
  --all    wheels for x86-64, aarch64 and armv7l, with cibuildwheel in containers; $CIBW_ARCHS names fewer
  Without an option: --all if Docker runs here, else --here.
Exit status: 0 all wheels are in dist/wheels/, 1 some are not, 2 wrong use
TEXT
}

case ${1:-} in
    --here | --all) way=${1#--} ;;
    '') if docker info >/dev/null 2>&1; then way=all; else way=here; fi ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac

out=$clone/dist/wheels
drafts=$(mktemp -d)
trap 'rm -rf "$drafts"' EXIT
copy_sources "$drafts/sources"
find "$drafts/sources" -name '*.so' -delete # another Python of this machine may have compiled them, for this machine
hash=$(hash_of_sources)
[ "$(cat "$out/SOURCES" 2>/dev/null || true)" = "$hash" ] || rm -rf "$out" # wheels of other sources
mkdir -p "$out"

# take FOLDER: move the wheels of FOLDER to dist/wheels/, if they have all kernels. Compiling them is optional in setup.py.
take() {
    for file in "$1"/*.whl; do
        [ -e "$file" ] || die "no wheel was built, see above. $online"
        "$python" - "$file" <<'PYTHON' || die "${file##*/} has plain kernels, see above; install a compiler: sudo apt install $compiler"
import re, sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
compiled = {re.sub(r"_[0-9a-f]{8}\..*", "", name) for name in names if name.endswith(".so")}
sys.exit(compiled != {name[:-4] for name in names if name.endswith(".pxd")} or not compiled)
PYTHON
        mv "$file" "$out"
        say "built dist/wheels/${file##*/}"
    done
}

need_python
if [ "$way" = all ]; then
    "$python" -m venv "$drafts/tools"
    with_pip "$drafts/tools" "cibuildwheel>=2.23" || die "cibuildwheel could not be installed, see above. $online"
    "$drafts/tools/bin/cibuildwheel" --platform linux --output-dir "$drafts/built" "$drafts/sources"
    take "$drafts/built"
else
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13}; do
        usable_python "$candidate" || continue
        rm -rf "$drafts/environment" "$drafts/built"
        "$candidate" -m venv "$drafts/environment"
        "$drafts/environment/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
            --wheel-dir "$drafts/built" "$drafts/sources" || die "no wheel was built, see above. $online"
        rm -rf "$drafts/sources/build"
        take "$drafts/built"
    done
fi
printf '%s\n' "$hash" >"$out/SOURCES"
