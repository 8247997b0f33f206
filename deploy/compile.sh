#!/bin/sh
# Compiles the puzzle kernels of an installed release at low priority, while the page is up. install.sh copies it into
# the release; pi-appliance-kernels.service starts it, also after the next boot if it was interrupted.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
. "$clone/deploy/lib.sh"

compile=$(dirname -- "$clone")
release=$(dirname -- "$compile")
home=$(dirname -- "$(dirname -- "$release")")
puzzles=$(readlink -f "$clone/pi_appliance/puzzles") # of the installed package

# Keep compiled kernels for the next release, and remove those that no release has.
save_kernels() {
    mkdir -p "$home/kernels"
    (cd "$puzzles" && find . -name '*.so' -exec cp --parents --update -t "$home/kernels" {} +)
    (cd "$home/kernels" && find . -name '*.so') | while IFS= read -r name; do
        for file in "$home"/releases/*/lib/python3*/site-packages/pi_appliance/puzzles/"$name"; do
            [ ! -e "$file" ] || continue 2
        done
        rm -f "$home/kernels/$name"
    done
}

main() {
    exec 8<"$puzzles"
    flock -w 10 8 || exit 0 # another run compiles them
    compile_kernels "$release/bin/python" "$compile/tools" || { cat "$compile/tools/log" && say "$not_compiled"; }
    save_kernels
    rm -rf "$compile"
    exit 0
}

main # a function, because the last step removes this file
