#!/bin/sh
# Builds the Debian package for this machine's Debian and architecture: dist/pi-appliance_VERSION_ARCHITECTURE.deb
# Python modules that this Debian has new enough are dependencies. The package carries the others.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
umask 022
. "$clone/deploy/lib.sh"
. "$clone/deploy/places.sh"

case ${1:-} in
    '') ;;
    *)
        say "Usage: deploy/deb.sh, without words. Exit status: 0 the package is built, 1 it is not, 2 wrong use" >&2
        exit 2
        ;;
esac

# What pip finds new enough here becomes a dependency of the package.
modules='python3-anyio python3-certifi python3-cryptography python3-dateutil python3-decorator python3-h11 python3-idna python3-jinja2
    python3-magic python3-markdown python3-oauthlib python3-requests python3-requests-oauthlib python3-sniffio
    python3-yaml python3-zeroconf'
command -v dpkg-deb >/dev/null 2>&1 || die "only Debian and its relatives can build the package"
# shellcheck disable=SC2046,SC2086 # lists of words
set -- $(missing_packages python3-venv binutils $compiler $modules)
if [ $# != 0 ]; then
    can_install || die "packages are missing; run: sudo apt install $*"
    install_packages "$@" || die "$* could not be installed, see above. $online"
fi

python=/usr/bin/python3 # of Debian, as the package uses it
wheel=$(find_wheel $python)
if [ -z "$wheel" ]; then
    PYTHON=$python sh "$clone/deploy/wheels.sh" --here
    wheel=$(find_wheel $python)
    [ -n "$wheel" ] || die "no wheel fits $python"
fi

drafts=$(mktemp -d)
trap 'rm -rf "$drafts"' EXIT
root=$drafts/root
lib=$root/usr/lib/pi-appliance
doc=$root/usr/share/doc/pi-appliance
mkdir -p "$lib" "$doc" "$root/DEBIAN" "$root/usr/bin"

say "collecting the program and its modules"
$python -m venv --without-pip "$lib"
$python -m venv "$drafts/tools"
site=$(echo "$lib"/lib/python3*/site-packages)
# Not all of the machine's modules, as --system-site-packages: those below /usr/local are not Debian's.
echo /usr/lib/python3/dist-packages >"$site/debian.pth"
"$drafts/tools/bin/python" -m pip --python "$lib/bin/python" install --quiet --progress-bar off --no-compile \
    --disable-pip-version-check "$wheel$extras" || die "the modules could not be installed, see above. $online"
describe() {
    # shellcheck disable=SC2046 # a list of words
    PYTHONPATH=$(echo "$drafts"/tools/lib/python3*/site-packages) PYTHONDONTWRITEBYTECODE=1 "$lib/bin/python" \
        "$clone/deploy/debian/describe.py" "$1" $(printf '%s' "$extras" | tr '[],' ' ')
}
modules=$(describe depends)
{
    printf 'pi-appliance\n\n'
    cat "$clone/LICENSE"
    printf '\nThe package carries these modules, each under its own license:\n'
    describe licenses
} >"$doc/copyright"

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$clone/pi_appliance/__init__.py")
# shellcheck disable=SC1091 # of the machine
version=$version+deb$(. /etc/os-release && echo "$VERSION_ID")
say "writing the package $version"
mkdir -p "$root/usr/share/man/man1"
{
    printf '.TH PI-APPLIANCE 1 "" "pi-appliance %s"\n.SH NAME\npi-appliance \\- automation appliance\n' "$version"
    printf '.SH SYNOPSIS\npi-appliance COMMAND\n.SH DESCRIPTION\n.nf\n'
    "$lib/bin/python" -B -m pi_appliance --help | sed 's/\\/\\e/g; s/-/\\-/g; s/^/\\\&/'
    printf '.fi\n.SH SEE ALSO\n/usr/share/doc/pi\\-appliance\n'
} | gzip -9n >"$root/usr/share/man/man1/pi-appliance.1.gz"

# An environment that works in /usr/lib/pi-appliance, with one command.
find "$lib/bin" -type f ! -name pi-appliance -delete
ln -sfn ../../../bin/python3 "$lib/bin/python3"
ln -sfn python3 "$lib/bin/python"
rm -rf "${lib:?}/lib64" "$lib/include" "$lib/share" "$lib"/bin/python3.*
sed -i "s|$root||g" "$lib/bin/pi-appliance" "$lib/pyvenv.cfg"
find "$site" \( -name RECORD -o -name INSTALLER -o -name REQUESTED -o -name direct_url.json \) -delete
find "$root/usr" -name __pycache__ -prune -exec rm -rf {} +
find "$site" -name '*.py' -exec sed -i '1{/^#!/d}' {} + # modules are not commands
find "$site" -name '*.so*' -type f -exec strip --strip-unneeded --remove-section=.comment {} + -exec chmod 644 {} +
ln -s ../lib/pi-appliance/bin/pi-appliance "$root/usr/bin/pi-appliance"

# The units start the program of the package. The doctor compares them with those in the program.
sed -i 's|/opt/pi-appliance/current/|/usr/lib/pi-appliance/|g' "$site"/pi_appliance/units/*
units=$root/usr/lib/systemd/system
mkdir -p "$units" "$root/usr/lib/udev/rules.d" "$root/usr/share/polkit-1/rules.d"
# Not those that compile kernels and update the program: this package and apt do that.
for name in pi-appliance.service pi-appliance-failure@.service $usb_units $sound_units $cluster_units; do
    cp "$site/pi_appliance/units/$name" "$units"
done
cp "$site/pi_appliance/units/${usb_rule##*/}" "$root/usr/lib/udev/rules.d"
cp "$site/pi_appliance/units/${power_rule##*/}" "$site/pi_appliance/units/${network_rule##*/}" \
    "$root/usr/share/polkit-1/rules.d"
mkdir "$lib/deploy"
cp "$clone/deploy/lib.sh" "$clone/deploy/places.sh" "$clone/deploy/steps.sh" "$lib/deploy"
ln -s "${site#"$lib/"}/pi_appliance/starter_config" "$lib/config" # for the steps of the installation

# Documentation, as Debian wants it.
stamp=$(stat -c %Y "$clone/pi_appliance/__init__.py")
{
    printf 'pi-appliance (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n' "$version"
    printf ' -- The pi-appliance authors <pi-appliance@users.noreply.github.com>  %s\n' "$(LC_ALL=C date -R -d "@$stamp")"
} | gzip -9n >"$doc/changelog.gz"
cp "$clone/CHANGELOG.md" "$doc" && gzip -9n "$doc/CHANGELOG.md"
mkdir -p "$root/usr/share/lintian/overrides"
cp "$clone/deploy/debian/lintian-overrides" "$root/usr/share/lintian/overrides/pi-appliance"

architecture=$(dpkg --print-architecture)
minor=$($python -c 'import sys; print(sys.version_info.minor)')
libc=$(dpkg-query -W -f '${Version}' "libc6:$architecture" | sed 's/-[^-]*$//')
depends="python3 (>= 3.$minor), python3 (<< 3.$((minor + 1))), libc6 (>= $libc), passwd, $modules"
sed -e "s|@VERSION@|$version|; s|@ARCHITECTURE@|$architecture|; s|@DEPENDS@|$depends|" \
    -e "s|@SIZE@|$(du -sk --exclude=DEBIAN "$root" | cut -f1)|" \
    "$clone/deploy/debian/control" >"$root/DEBIAN/control"
for name in preinst postinst prerm postrm; do
    install -m 755 "$clone/deploy/debian/$name" "$root/DEBIAN"
done
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
mkdir -p "$clone/dist"
dpkg-deb --root-owner-group --build "$root" "$clone/dist" >/dev/null
say "built dist/pi-appliance_${version}_$architecture.deb"
